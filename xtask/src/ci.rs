//! `cargo xtask ci`: what a reader should not have to look for. It never writes to the sources.

use crate::Error;
use crate::steps::{Steps, cargo};

/// Checks formatting, lints and documentation.
pub(crate) fn run() -> Result<(), Error> {
    let mut steps = Steps::default();
    steps.command("formatting", &mut cargo("fmt --all --check"))?;
    let lints = "clippy --workspace --all-targets --all-features -- -D warnings";
    steps.command("lints", &mut cargo(lints))?;
    let documentation = "doc --workspace --no-deps --all-features";
    let mut documentation = cargo(documentation);
    steps.command("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"))?;
    steps.end("cargo xtask ci")
}
