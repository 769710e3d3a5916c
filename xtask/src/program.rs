//! Builds programs of the workspace and tools of crates.io, and returns their paths.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::steps::{Steps, cargo, line, stdout};
use crate::{Error, workspace};

/// Fields of cargo's message about a build artifact that are used here.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
    target: Target,
    profile: Profile,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// The programs that one command of cargo has built.
#[derive(Debug)]
pub(crate) struct Programs {
    line: String,
    /// Paths by the name of the program.
    programs: BTreeMap<String, PathBuf>,
    /// Test programs of libraries, by the library's name.
    library_tests: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Builds the programs that `targets` name, with the dependencies' features of a test build.
    ///
    /// Cargo chooses those features if a target may use dev-dependencies, as an example does.
    /// Artifacts of the tests are then used again.
    pub(crate) fn build_as_tested(targets: &str) -> Result<Self, Error> {
        Self::build(&format!("build --workspace --all-features --example quickstart {targets}"))
    }

    /// Builds the targets that the arguments of cargo name.
    pub(crate) fn build(arguments: &str) -> Result<Self, Error> {
        // After the subcommand: words after `--` are for another program.
        let (subcommand, rest) = arguments.split_once(' ').unwrap_or((arguments, ""));
        let format = "--message-format=json-render-diagnostics";
        let mut command = cargo(&format!("{subcommand} {format} {rest}"));
        let line = line(&command);
        println!("$ {line}");
        let messages = stdout(&mut command)?;
        Ok(Self::read(line, &messages))
    }

    fn read(line: String, messages: &str) -> Self {
        let mut built = Self { line, programs: BTreeMap::new(), library_tests: BTreeMap::new() };
        let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        for Artifact { executable, target, profile } in artifacts {
            let Some(executable) = executable else { continue };
            let is_library = target.kind.iter().any(|kind| kind == "lib");
            if !profile.test {
                built.programs.insert(target.name, executable);
            } else if is_library {
                built.library_tests.insert(target.name, executable);
            }
        }
        built
    }

    /// Returns a command that starts a program.
    pub(crate) fn command(&self, name: &str) -> Result<Command, Error> {
        self.path(name).map(Command::new)
    }

    /// Returns the path of a program.
    pub(crate) fn path(&self, name: &str) -> Result<&PathBuf, Error> {
        self.programs.get(name).ok_or_else(|| self.lacks(name))
    }

    /// Returns a command that runs the tests of a library.
    pub(crate) fn library_tests(&self, library: &str) -> Result<Command, Error> {
        self.library_tests.get(library).map(Command::new).ok_or_else(|| self.lacks(library))
    }

    fn lacks(&self, name: &str) -> Error {
        Error::NoProgram { line: self.line.clone(), name: name.to_owned() }
    }
}

/// Builds a tool of crates.io below the target folder, and returns the path of its program.
///
/// `version` is exact, such as `=1.2.3`. The lock file that the tool was published with pins its
/// dependencies. The build takes minutes without optimization, and the tool runs for seconds.
pub(crate) fn install(
    steps: &mut Steps,
    name: &str,
    version: &str,
    arguments: &[&str],
) -> Result<PathBuf, Error> {
    let tools = workspace().join("target/tools");
    let mut install = cargo("install --locked --debug");
    install.args([name, "--version", version]).args(arguments).arg("--root").arg(&tools);
    steps.command(name, &mut install)?;
    Ok(tools.join("bin").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::with_causes;

    #[test]
    fn programs_are_distinguished_from_tests_and_libraries() {
        let artifact = |name: &str, kind: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let messages = [
            artifact("coordination", "lib", false, "null"),
            artifact("coordination", "lib", true, "\"/t/coordination-1\""),
            artifact("ejob-sim", "bin", true, "\"/t/ejob_sim-1\""),
            artifact("ejob-sim", "bin", false, "\"/t/ejob-sim\""),
            artifact("quickstart", "example", false, "\"/t/quickstart\""),
            artifact("stories", "test", true, "\"/t/stories-1\""),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let built = Programs::read("cargo build".to_owned(), &messages.join("\n"));
        let program = |name| built.command(name).map(|found| found.get_program().to_owned());
        assert_eq!(program("ejob-sim").unwrap(), "/t/ejob-sim");
        assert_eq!(program("quickstart").unwrap(), "/t/quickstart");
        let tests = built.library_tests("coordination").unwrap();
        assert_eq!(tests.get_program(), "/t/coordination-1");
        let missing = with_causes(&program("coordination").unwrap_err());
        assert_eq!(missing, "`cargo build` has built no program `coordination`");
    }
}
