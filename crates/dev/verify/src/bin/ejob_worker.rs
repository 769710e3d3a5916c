//! Worker process of the fault scenarios, started by the harness only.

use std::process::ExitCode;

fn main() -> ExitCode {
    verify::worker::main()
}
