//! The suite that runs Rust and Java in one namespace. `cargo xtask interop` starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    interop::suite::main()
}
