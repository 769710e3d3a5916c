//! A worker process of the suite; only the suite starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    interop::worker::main()
}
