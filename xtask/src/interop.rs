//! `cargo xtask interop`: Rust processes and the released Java ElasticJob in one namespace.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use crate::program::Programs;
use crate::steps::{Steps, output, succeeds};
use crate::{Error, workspace, zookeeper};

/// A required program: a command that shows whether it exists, and its Debian package.
struct Need {
    command: &'static [&'static str],
    package: &'static str,
    /// The text before the version of Java in the command's output, if the version matters.
    java: Option<&'static str>,
}

/// The oldest Java version for the workers.
const JAVA: u32 = 17;

const NEEDS: [Need; 5] = [
    Need { command: &["javac", "-version"], package: "default-jdk-headless", java: Some("javac ") },
    Need {
        command: &["java", "-version"],
        package: "default-jdk-headless",
        java: Some("version \""),
    },
    Need { command: &["mvn", "-version"], package: "maven", java: Some("Java version: ") },
    Need { command: &["ip", "-Version"], package: "iproute2", java: None },
    Need { command: &["nsenter", "--version"], package: "util-linux", java: None },
];

impl Need {
    /// Returns whether the program exists.
    fn is_met(&self) -> bool {
        succeeds(Command::new(self.command[0]).args(&self.command[1..]))
    }

    /// Fails if the program belongs to, or runs in, an older Java than the workers need.
    fn check(&self) -> Result<(), Error> {
        let Some(before) = self.java else { return Ok(()) };
        let found = output_of(Command::new(self.command[0]).args(&self.command[1..]))?;
        match major_version(&found, before) {
            Some(version) if version >= JAVA => Ok(()),
            _ => {
                let (command, needed) = (self.command.join(" "), format!("Java {JAVA}"));
                Err(Error::Version { command, found: found.trim().to_owned(), needed })
            }
        }
    }
}

/// Runs a command and returns its output of both streams.
fn output_of(command: &mut Command) -> Result<String, Error> {
    let Output { stdout, stderr, .. } = output(command)?;
    Ok(String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// Parses the major version after `before`. Java 8 and older report 1, as in 1.8.
fn major_version(text: &str, before: &str) -> Option<u32> {
    let (_, version) = text.split_once(before)?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Builds and runs the suite with its own arguments.
pub(crate) fn run_suite(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::begin();
    let mut suite = prepare(&mut steps)?;
    steps.command("checks", suite.args(arguments))?;
    steps.end("cargo xtask interop")
}

/// Builds the workers of both languages, and returns a command that runs the suite without cargo.
///
/// Maven reads earlier downloads from its own folder, without access to the network.
pub(crate) fn prepare(steps: &mut Steps) -> Result<Command, Error> {
    steps.step("ZooKeeper", zookeeper::ensure)?;
    java_workers(steps)?;
    let built = Programs::build_as_tested("--bin ejob-interop --bin ejob-interop-worker")?;
    let mut suite = built.command("ejob-interop")?;
    suite.arg("--java-folder").arg(workspace().join("target").join("interop"));
    suite.current_dir(workspace());
    Ok(suite)
}

/// Installs missing tools and builds the Java workers into `target/interop`.
pub(crate) fn java_workers(steps: &mut Steps) -> Result<(), Error> {
    steps.step("tools", install_missing)?;
    steps.command("Java workers", &mut maven())
}

fn install_missing() -> Result<(), Error> {
    let missing = NEEDS.iter().filter(|need| !need.is_met());
    let packages: BTreeSet<&str> = missing.map(|need| need.package).collect();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        println!("installing {}", packages.join(" "));
        server_fixture::install_tools(&packages)?;
    }
    NEEDS.iter().try_for_each(Need::check)
}

fn maven() -> Command {
    let project = Path::new("xtask").join("interop");
    let mut command = Command::new("mvn");
    command.args(["--batch-mode", "--quiet", "--file"]).arg(project).arg("package");
    command.current_dir(workspace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_version_is_parsed_from_the_output_of_each_program() {
        let rows = [
            ("javac 17.0.15\n", "javac ", Some(17)),
            ("javac 1.8.0_392\n", "javac ", Some(1)),
            ("openjdk version \"21\" 2023-09-19\nOpenJDK Runtime\n", "version \"", Some(21)),
            ("java version \"9-ea\"\n", "version \"", Some(9)),
            (
                "Apache Maven 3.8.7\nJava version: 11.0.2, vendor: Debian\n",
                "Java version: ",
                Some(11),
            ),
            ("command not found\n", "javac ", None),
        ];
        for (text, before, expected) in rows {
            assert_eq!(major_version(text, before), expected, "{text}");
        }
    }

    #[test]
    fn older_java_is_rejected_with_the_needed_version() {
        let need =
            Need { command: &["echo", "javac 11.0.2"], package: "none", java: Some("javac ") };
        let message = need.check().unwrap_err().to_string();
        assert_eq!(
            message,
            "`echo javac 11.0.2` reports \"javac 11.0.2\"; at least Java 17 is needed"
        );
    }
}
