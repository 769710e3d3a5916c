//! `cargo xtask chaos`: minutes of random faults on real workers, and a verdict on every fire.

use crate::program::Programs;
use crate::steps::run;
use crate::{Error, workspace, zookeeper};

/// Runs the faults, or verifies a kept run again with `--judge DIR`. All other arguments are passed
/// on.
pub(crate) fn run_faults(arguments: &[String]) -> Result<(), Error> {
    if let [option, folder] = arguments
        && option == "--judge"
    {
        let built = Programs::build("build -p chaos --bin ejob-chaos")?;
        return run(built.command("ejob-chaos")?.arg("judge").arg(folder));
    }
    zookeeper::ensure()?;
    let built = Programs::build("build -p cli --bin ejob -p chaos --bin ejob-chaos")?;
    let mut program = built.command("ejob-chaos")?;
    program.arg("run").arg("--ejob").arg(built.path("ejob")?);
    program.arg("--runs").arg(workspace().join("target").join("chaos"));
    run(program.args(arguments))
}
