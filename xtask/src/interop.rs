//! `cargo xtask interop`: Rust processes and the released Java ElasticJob in one namespace.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::Programs;
use crate::steps::{Steps, line, run, succeeds};
use crate::{Error, workspace, zookeeper};

/// A program that is needed, how to find out whether it is there, and Debian's package of it.
struct Need {
    command: &'static [&'static str],
    package: &'static str,
    /// Behind which words it says its version of Java, if that matters.
    java: Option<&'static str>,
}

/// The oldest Java that the workers are compiled for.
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
    /// Tells whether the program is there.
    fn is_met(&self) -> bool {
        succeeds(Command::new(self.command[0]).args(&self.command[1..]))
    }

    /// Fails if the program is of an older Java than the workers need, or runs in one.
    fn check(&self) -> Result<(), Error> {
        let Some(before) = self.java else { return Ok(()) };
        let found = said(Command::new(self.command[0]).args(&self.command[1..]))?;
        match major_version(&found, before) {
            Some(version) if version >= JAVA => Ok(()),
            _ => {
                let (command, needed) = (self.command.join(" "), format!("Java {JAVA}"));
                Err(Error::Version { command, found: found.trim().to_owned(), needed })
            }
        }
    }
}

/// Runs a command that is only a question, and returns what it says, on whichever stream.
fn said(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output();
    let Output { stdout, stderr, .. } =
        output.map_err(|source| Error::Start { line: line(command), source })?;
    Ok(String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// Reads the number behind the words; 8 and older call themselves 1.8.
fn major_version(text: &str, before: &str) -> Option<u32> {
    let (_, version) = text.split_once(before)?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Plays what the arguments say; they are the suite's own.
pub(crate) fn run_suite(arguments: &[String]) -> Result<(), Error> {
    let mut steps = Steps::default();
    let mut suite = prepare(&mut steps)?;
    steps.command("checks", suite.args(arguments))?;
    steps.end("cargo xtask interop")
}

/// Builds the workers of both languages, and returns the suite, which needs cargo no more.
///
/// Maven takes what it has fetched before from its own folder, and asks nobody about it again.
pub(crate) fn prepare(steps: &mut Steps) -> Result<Command, Error> {
    steps.step("ZooKeeper", zookeeper::ensure)?;
    java_workers(steps)?;
    let built = Programs::build_as_tested("--bin ejob-interop --bin ejob-interop-worker")?;
    let mut suite = built.command("ejob-interop")?;
    suite.arg("--java-folder").arg(workspace().join("target").join("interop"));
    suite.current_dir(workspace());
    Ok(suite)
}

/// Builds the Java workers into `target/interop`, and installs what that needs.
pub(crate) fn java_workers(steps: &mut Steps) -> Result<(), Error> {
    steps.step("tools", install_missing)?;
    steps.command("Java workers", &mut maven())
}

fn install_missing() -> Result<(), Error> {
    let missing = NEEDS.iter().filter(|need| !need.is_met());
    let packages: BTreeSet<&str> = missing.map(|need| need.package).collect();
    if !packages.is_empty() {
        run(zookeeper::apt_get().arg("update"))?;
        run(zookeeper::install().args(packages))?;
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
    fn the_version_of_java_is_read_from_what_each_program_says() {
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
    fn an_older_java_is_an_error_that_says_what_is_needed() {
        let need =
            Need { command: &["echo", "javac 11.0.2"], package: "none", java: Some("javac ") };
        let message = need.check().unwrap_err().to_string();
        assert_eq!(
            message,
            "`echo javac 11.0.2` says \"javac 11.0.2\"; at least Java 17 is needed"
        );
    }
}
