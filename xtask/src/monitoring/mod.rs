//! `cargo xtask monitoring`: the metrics of `ejob watch`, the dashboard and the alert rules, with
//! Debian's Prometheus.

mod files;
mod live;
mod tools;

use std::process::Command;

use crate::Error;
use crate::program::Programs;
use crate::steps::Steps;
use files::Files;
use tools::Tools;

/// Tests the rules and the metrics.
pub(crate) fn test() -> Result<(), Error> {
    let mut steps = Steps::begin();
    run(&mut steps)?;
    steps.end("cargo xtask monitoring")
}

/// Installs Prometheus if it is missing, runs the tests of the alert rules, and lets Prometheus
/// scrape a real watcher of a job that becomes late.
pub(crate) fn run(steps: &mut Steps) -> Result<(), Error> {
    let tools = steps.step("Prometheus", Tools::ensure)?;
    let files = Files::read()?;
    let promtool = |arguments: [&str; 2]| {
        let mut command = Command::new(tools.promtool());
        command.args(arguments).current_dir(files.folder());
        command
    };
    steps.command("settings", promtool(["check", "config"]).arg(files::SETTINGS))?;
    steps.command("alert rules", promtool(["check", "rules"]).arg(files::RULES))?;
    steps.command("tests of the alert rules", promtool(["test", "rules"]).arg(files::TESTS))?;
    let programs = steps.step("build", || Programs::build_as_tested("--bin ejob"))?;
    let ejob = programs.path("ejob")?;
    steps.step("metrics in Prometheus", || live::check(&tools, &files, ejob))
}
