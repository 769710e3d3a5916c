//! `cargo xtask ci`: what a reader should not have to look for. It never writes to the sources.

use crate::beside::Beside;
use crate::steps::{Steps, cargo, niced};
use crate::{Error, interop};

/// Checks formatting, lints and documentation; with `--interop` Rust and Java in one namespace, too.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::default();
    let suite = match arguments {
        [] => None,
        [only] if only == "--interop" => {
            // It waits for fires far more than it computes; the lints compute, and let it go first. Its fires come each second whatever else
            // the machine does, so that a check that fails is played once more; the table at its end tells.
            let mut suite = interop::prepare(&mut steps)?;
            suite.args(["--parts", "2", "--tries", "2"]);
            Some(Beside::start("checks with Java", suite)?)
        }
        _ => {
            let found = arguments.join(" ");
            return Err(Error::Usage(format!("`ci` takes `--interop`, not `{found}`")));
        }
    };
    let lints = "clippy --workspace --all-targets --all-features -- -D warnings";
    let mut documentation = cargo("doc --workspace --no-deps --all-features");
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    steps.command("formatting", &mut cargo("fmt --all --check"))?;
    steps.command("lints", &mut niced(&cargo(lints)))?;
    steps.command("documentation", &mut niced(&documentation))?;
    if let Some(suite) = suite {
        steps.join(suite)?;
    }
    steps.end("cargo xtask ci")
}
