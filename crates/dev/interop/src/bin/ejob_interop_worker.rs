//! A worker process. Only the suite starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    interop::worker::main()
}
