//! `cargo xtask ci`: `cargo xtask lint`, and the tests that need a browser, Prometheus, Java, or
//! other servers than ZooKeeper.

use crate::background::Background;
use crate::program::Programs;
use crate::steps::{Steps, cargo, niced};
use crate::{Error, browser, interop, monitoring, servers};

/// Runs `cargo xtask lint`, and the tests on PostgreSQL, MariaDB and etcd, with Prometheus, and in
/// a browser. With `--interop` also runs the checks with Java.
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
    // Cargo runs once at a time, so that all programs of the tests are built before the lints.
    let names =
        [servers::PROGRAMS, monitoring::PROGRAMS, browser::PROGRAMS, interop::PROGRAMS].join(" ");
    let programs = steps.step("build of programs", || Programs::build_as_tested(&names))?;
    let tests = servers::build(&mut steps)?;
    let node = browser::prepare(&mut steps, &programs)?;
    let java = with_java.then(|| interop::prepare(&mut steps, &programs)).transpose()?;
    // The tests mostly wait, and the lints have a lower priority.
    let lint = niced(&cargo("run --quiet --package xtask -- lint"));
    let lints = Background::start("lints and documents", lint)?;
    let tested = (|| {
        if let Some(mut java) = java {
            // Fires come each second under any load, so that a failing check is run again. The
            // table at the end counts the tries.
            java.args(["--parts", "2", "--tries", "2"]);
            steps.command("checks with Java", &mut java)?;
        }
        servers::test(&mut steps, &tests)?;
        monitoring::run(&mut steps, &programs)?;
        browser::run(&mut steps, &node, &[])
    })();
    // Also after a failed test: cargo would outlive a killed command, and its report is of use.
    let linted = steps.join(lints);
    tested.and(linted)?;
    steps.end("cargo xtask ci")
}
