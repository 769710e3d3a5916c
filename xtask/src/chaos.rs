//! `cargo xtask chaos`: minutes of random faults on real workers, and a judge of every fire.

use crate::program::Programs;
use crate::steps::run;
use crate::{Error, workspace, zookeeper};

/// Carries out a run, or judges a kept one again with `--judge DIR`; all other arguments are the
/// program's own.
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
