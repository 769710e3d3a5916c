//! Command line of the suite.

use std::fmt;
use std::path::PathBuf;

use crate::checks::CHECKS;

/// A release of the Java ElasticJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JavaVersion {
    /// 2.1.5, the last release of Dangdang.
    V2_1_5,
    /// 3.0.4, the last release of Apache on Maven Central.
    V3_0_4,
}

impl JavaVersion {
    const ALL: [Self; 2] = [Self::V2_1_5, Self::V3_0_4];

    /// Returns the name of the release's Maven module.
    pub(crate) fn folder(self) -> String {
        format!("java-{self}")
    }
}

impl fmt::Display for JavaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V2_1_5 => "2.1.5",
            Self::V3_0_4 => "3.0.4",
        })
    }
}

/// Invalid option or value on the command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{option}` takes {valid}, not {value}")]
pub(crate) struct UsageError {
    option: String,
    value: String,
    valid: String,
}

fn refuse(option: &str, value: Option<&str>, valid: impl Into<String>) -> UsageError {
    let value = value.map_or_else(|| "nothing".to_owned(), |value| format!("`{value}`"));
    UsageError { option: option.to_owned(), value, valid: valid.into() }
}

/// Parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Folder in which Maven has built the workers.
    pub(crate) java_folder: PathBuf,
    pub(crate) versions: Vec<JavaVersion>,
    checks: Vec<u32>,
    pub(crate) rounds: u32,
    /// Number of parts of a release's checks that run at the same time.
    pub(crate) parts: u32,
    /// Maximum number of runs of a check until it passes.
    pub(crate) tries: u32,
    /// If set, Java workers replace the Rust workers. A failure is then not caused by Rust.
    pub(crate) control: bool,
    /// Folder to which the logs of all workers are copied.
    pub(crate) keep: Option<PathBuf>,
}

impl CommandLine {
    /// Parses `--java-folder FOLDER [--java VERSION]… [--check N]… [--rounds N] [--parts N]
    /// [--tries N] [--control] [--keep FOLDER]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut folder = None;
        let mut line = Self {
            java_folder: PathBuf::new(),
            versions: Vec::new(),
            checks: Vec::new(),
            rounds: 1,
            parts: 1,
            tries: 1,
            control: false,
            keep: None,
        };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(option) = words.next() {
            if option == "--control" {
                line.control = true;
                continue;
            }
            let value = words.next();
            match option {
                "--java-folder" => folder = value.map(PathBuf::from),
                "--java" => {
                    let version = version(option, value)?;
                    if !line.versions.contains(&version) {
                        line.versions.push(version);
                    }
                }
                "--check" => line.checks.push(check(option, value)?),
                "--rounds" => line.rounds = positive(option, value)?,
                "--parts" => line.parts = positive(option, value)?,
                "--tries" => line.tries = positive(option, value)?,
                "--keep" => line.keep = value.map(PathBuf::from),
                other => {
                    let valid = "--java VERSION, --check N, --rounds N, --parts N, --tries N, \
                                 --control and --keep FOLDER";
                    return Err(refuse("interop", Some(other), valid));
                }
            }
        }
        let missing = || refuse("--java-folder", None, "the folder of the Maven project");
        line.java_folder = folder.ok_or_else(missing)?;
        if line.versions.is_empty() {
            line.versions = JavaVersion::ALL.to_vec();
        }
        Ok(line)
    }

    pub(crate) fn wants(&self, check: u32) -> bool {
        self.checks.is_empty() || self.checks.contains(&check)
    }

    /// Returns the parts that run at the same time: checks of one release each, spread evenly.
    pub(crate) fn parts(&self) -> Vec<(JavaVersion, Vec<u32>)> {
        let mut parts = Vec::new();
        for java in &self.versions {
            let n_parts = usize::try_from(self.parts).map_or(CHECKS.len(), |n| n.min(CHECKS.len()));
            let mut of_release = vec![Vec::new(); n_parts];
            let wanted = CHECKS.iter().map(|check| check.number).filter(|n| self.wants(*n));
            for (n, check) in wanted.enumerate() {
                of_release[n % n_parts].push(check);
            }
            of_release.retain(|checks| !checks.is_empty());
            parts.extend(of_release.into_iter().map(|checks| (*java, checks)));
        }
        parts
    }
}

fn version(option: &str, value: Option<&str>) -> Result<JavaVersion, UsageError> {
    let found = JavaVersion::ALL.into_iter().find(|version| Some(&*version.to_string()) == value);
    found.ok_or_else(|| refuse(option, value, JavaVersion::ALL.map(|v| v.to_string()).join(" or ")))
}

fn positive(option: &str, value: Option<&str>) -> Result<u32, UsageError> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| refuse(option, value, "a number from 1"))
}

fn check(option: &str, value: Option<&str>) -> Result<u32, UsageError> {
    let number = positive(option, value)?;
    let last = CHECKS.last().map_or(0, |check| check.number);
    match CHECKS.iter().any(|check| check.number == number) {
        true => Ok(number),
        false => Err(refuse(option, value, format!("a number from 1 to {last}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, UsageError> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::parse(&arguments)
    }

    #[test]
    fn invalid_command_line_names_the_valid_values() {
        let rows = [
            ("", "`--java-folder` takes the folder of the Maven project, not nothing"),
            ("--java-folder x --java 3.0.5", "`--java` takes 2.1.5 or 3.0.4, not `3.0.5`"),
            ("--java-folder x --check 0", "`--check` takes a number from 1, not `0`"),
            ("--java-folder x --check 99", "`--check` takes a number from 1 to "),
            ("--java-folder x --rounds", "`--rounds` takes a number from 1, not nothing"),
            ("--java-folder x --tries 0", "`--tries` takes a number from 1, not `0`"),
            ("--fast", "`interop` takes --java VERSION"),
        ];
        for (line, expected) in rows {
            let message = parse(line).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{line}: {message}");
        }
    }

    #[test]
    fn checks_of_each_release_are_split_into_the_requested_parts() {
        let (old, new) = (JavaVersion::V2_1_5, JavaVersion::V3_0_4);
        let all: Vec<u32> = CHECKS.iter().map(|check| check.number).collect();
        let rows = [
            ("", vec![(old, all.clone()), (new, all)]),
            ("--java 3.0.4 --check 2 --check 5 --check 8", vec![(new, vec![2, 5, 8])]),
            (
                "--java 3.0.4 --check 2 --check 5 --check 8 --parts 2",
                vec![(new, vec![2, 8]), (new, vec![5])],
            ),
            ("--java 2.1.5 --check 4 --parts 3", vec![(old, vec![4])]),
        ];
        for (line, expected) in rows {
            let line = parse(&format!("--java-folder x {line}")).unwrap();
            assert_eq!(line.parts(), expected);
        }
    }

    #[test]
    fn all_checks_run_once_without_options() {
        let all = parse("--java-folder x").unwrap();
        assert_eq!((all.versions.len(), all.rounds, all.tries), (JavaVersion::ALL.len(), 1, 1));
        assert!(CHECKS.iter().all(|check| all.wants(check.number)));
        let some = parse("--java-folder x --java 2.1.5 --check 1 --rounds 3").unwrap();
        assert_eq!((some.versions, some.rounds), (vec![JavaVersion::V2_1_5], 3));
        assert!(some.checks == [1]);
    }
}
