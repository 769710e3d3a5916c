//! `cargo xtask bench`: measures the cost of coordination, compared with plain ZooKeeper.

use std::fs;

use crate::steps::{Steps, cargo};
use crate::{Error, interop, workspace, zookeeper};

/// Builds and runs the benchmark with its own arguments.
///
/// Figures and plot are kept in `target/bench`. With `--java` the workers of both languages are
/// built, too.
pub(crate) fn measure(arguments: &[String]) -> Result<(), Error> {
    zookeeper::ensure()?;
    let folder = workspace().join("target").join("bench");
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    let mut steps = Steps::begin();
    steps.command("build", &mut cargo("build --release -p bench"))?;
    if arguments.iter().any(|argument| argument.starts_with("--java")) {
        interop::java_workers(&mut steps)?;
        let worker = "build --release -p interop --bin ejob-interop-worker";
        steps.command("Rust worker", &mut cargo(worker))?;
    }
    let mut program = cargo("run --release --quiet -p bench --");
    program.arg("--json").arg(folder.join("figures.json"));
    program.arg("--svg").arg(folder.join("ratios.svg"));
    steps.command("measurements", program.args(arguments))?;
    println!("figures and plot: {}", folder.display());
    steps.end("cargo xtask bench")
}
