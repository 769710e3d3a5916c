//! `cargo xtask ci`: `cargo xtask lint`, and the tests and scenarios that need a browser,
//! Prometheus, Java, or other servers than ZooKeeper.

use crate::background::Background;
use crate::steps::Steps;
use crate::{Error, browser, interop, lint, monitoring, servers, verify};

/// Runs `cargo xtask lint`, some scenarios on SQLite, PostgreSQL and etcd, and the tests on
/// PostgreSQL, MariaDB and etcd, with Prometheus, and in a browser. With `--interop` also runs the
/// checks with Java.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let with_java = match arguments {
        [] => false,
        [only] if only == "--interop" => true,
        _ => {
            let found = arguments.join(" ");
            return Err(Error::Usage(format!("`ci` takes `--interop`, not `{found}`")));
        }
    };
    let mut steps = Steps::begin();
    verify::run_some(&mut steps)?;
    let mut suite = None;
    if with_java {
        // The suite mostly waits for fires, and the lints run at a lower priority. Fires come each
        // second under any load, so that a failing check is run again. The table at the end counts
        // the tries.
        let mut command = interop::prepare(&mut steps)?;
        command.args(["--parts", "2", "--tries", "2"]);
        suite = Some(Background::start("checks with Java", command)?);
    }
    lint::run_steps(&mut steps)?;
    if let Some(suite) = suite {
        steps.join(suite)?;
    }
    // Not beside the suite with Java, which waits for fires.
    servers::test(&mut steps)?;
    monitoring::run(&mut steps)?;
    browser::run(&mut steps, &[])?;
    steps.end("cargo xtask ci")
}
