//! `cargo xtask interop`: Rust processes and the released Java ElasticJob in one namespace.

use std::path::Path;
use std::process::Command;

use crate::steps::{Steps, cargo, run, succeeds};
use crate::{Error, workspace, zookeeper};

/// A program that is needed, how to find out whether it is there, and Debian's package of it.
struct Need {
    command: &'static [&'static str],
    package: &'static str,
}

const NEEDS: [Need; 4] = [
    Need { command: &["javac", "-version"], package: "default-jdk-headless" },
    Need { command: &["mvn", "-version"], package: "maven" },
    Need { command: &["ip", "-Version"], package: "iproute2" },
    Need { command: &["nsenter", "--version"], package: "util-linux" },
];

/// Builds the workers of both languages and plays what the arguments say; they are the suite's own.
///
/// Maven takes what it has fetched before from its own folder, and asks nobody about it again.
pub(crate) fn run_suite(arguments: &[String]) -> Result<(), Error> {
    zookeeper::ensure()?;
    let mut steps = Steps::default();
    steps.step("tools", install_missing)?;
    steps.command("Java workers", &mut maven())?;
    steps.command("Rust workers", &mut cargo("build -p interop --bins"))?;
    let folder = workspace().join("target").join("interop");
    let mut suite = cargo("run --quiet -p interop --bin ejob-interop --");
    suite.arg("--java-folder").arg(folder).args(arguments);
    steps.command("checks", &mut suite)?;
    steps.end("cargo xtask interop")
}

fn install_missing() -> Result<(), Error> {
    let is_missing =
        |need: &&Need| !succeeds(Command::new(need.command[0]).args(&need.command[1..]));
    let packages: Vec<&str> = NEEDS.iter().filter(is_missing).map(|need| need.package).collect();
    match packages.as_slice() {
        [] => Ok(()),
        _ => {
            run(zookeeper::apt_get().arg("update"))?;
            run(zookeeper::install().args(packages))
        }
    }
}

fn maven() -> Command {
    let project = Path::new("xtask").join("interop");
    let mut command = Command::new("mvn");
    command.args(["--batch-mode", "--quiet", "--file"]).arg(project).arg("package");
    command.current_dir(workspace());
    command
}
