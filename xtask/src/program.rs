//! Builds programs of the workspace and tools of crates.io, and returns their paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::steps::{Steps, cargo, line, stdout};
use crate::{Error, workspace};

/// Fields of cargo's message about a build artifact that are used here.
#[derive(Deserialize)]
struct Artifact {
    executable: Option<PathBuf>,
    manifest_path: PathBuf,
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
    tests: Vec<TestProgram>,
}

/// A test program of a package.
#[derive(Debug)]
struct TestProgram {
    /// Folder of the package, which has its name.
    folder: PathBuf,
    /// Name of the library, or of another target.
    target: String,
    is_library: bool,
    path: PathBuf,
}

impl TestProgram {
    /// Returns a command that runs the tests as cargo would, in the folder of their package.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", self.folder.file_name().unwrap_or_default());
        command
    }
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
        let mut built = Self { line, programs: BTreeMap::new(), tests: Vec::new() };
        let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
        for Artifact { executable, manifest_path, target, profile } in artifacts {
            let Some(path) = executable else { continue };
            if profile.test {
                built.tests.push(TestProgram {
                    folder: manifest_path.parent().unwrap_or(Path::new("")).to_owned(),
                    target: target.name,
                    is_library: target.kind.iter().any(|kind| kind == "lib"),
                    path,
                });
            } else {
                built.programs.insert(target.name, path);
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
        let mut tests = self.tests.iter().filter(|test| test.is_library);
        let found = tests.find(|test| test.target == library);
        found.map(TestProgram::command).ok_or_else(|| self.lacks(library))
    }

    /// Returns commands that run all tests: those of `first`, a package and a target each, and then
    /// the others in the order of the packages' folders.
    pub(crate) fn all_tests(&self, first: &[(&str, &str)]) -> Result<Vec<Command>, Error> {
        let is_of = |test: &TestProgram, (package, target): (&str, &str)| {
            test.folder.ends_with(package) && test.target == target
        };
        if let Some(none) =
            first.iter().find(|one| !self.tests.iter().any(|test| is_of(test, **one)))
        {
            return Err(self.lacks(none.0));
        }
        let place = |test: &TestProgram| {
            first.iter().position(|one| is_of(test, *one)).unwrap_or(first.len())
        };
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by(|a, b| {
            (place(a), &a.folder, &a.target).cmp(&(place(b), &b.folder, &b.target))
        });
        Ok(tests.into_iter().map(TestProgram::command).collect())
    }

    /// Returns commands that run the tests of a package, whose folder has its name.
    pub(crate) fn package_tests(&self, package: &str) -> Result<Vec<Command>, Error> {
        let tests = self.tests.iter().filter(|test| test.folder.ends_with(package));
        let tests: Vec<_> = tests.map(TestProgram::command).collect();
        if tests.is_empty() { Err(self.lacks(package)) } else { Ok(tests) }
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
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/{name}/Cargo.toml","target":{{"name":"{name}","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":{executable}}}"#
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
        let all = built.all_tests(&[("stories", "stories")]).unwrap();
        let programs: Vec<_> = all.iter().map(Command::get_program).collect();
        assert_eq!(programs, ["/t/stories-1", "/t/coordination-1", "/t/ejob_sim-1"]);
        let missing = with_causes(&built.all_tests(&[("stories", "it")]).unwrap_err());
        assert_eq!(missing, "`cargo build` has built no program `stories`");
        let name = Some("coordination".as_ref());
        assert!(all[1].get_envs().any(|it| it == ("CARGO_PKG_NAME".as_ref(), name)));
        let tests = built.package_tests("ejob-sim").unwrap();
        let tests: Vec<_> =
            tests.iter().map(|test| (test.get_program(), test.get_current_dir())).collect();
        let folder = Path::new("/w/crates/ejob-sim");
        assert_eq!(tests, [("/t/ejob_sim-1".as_ref(), Some(folder))]);
        assert!(built.package_tests("sim").is_err() && built.package_tests("quickstart").is_err());
        let missing = with_causes(&program("coordination").unwrap_err());
        assert_eq!(missing, "`cargo build` has built no program `coordination`");
    }
}
