//! Plays fault scenarios: `ejob-verify [--backend memory|zk] [--scenario ID]… [--seed N]
//! [--nightly]`.

use std::process::ExitCode;

fn main() -> ExitCode {
    verify::run::main()
}
