//! A worker process of the fault scenarios; only the harness starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    verify::worker::main()
}
