//! The program `ejob`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
