//! `cargo xtask fuzz`: libFuzzer on the targets of `crates/dev/fuzz`, one after the other.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::steps::{Steps, succeeds};
use crate::{Error, workspace};

/// Default duration of each target, in seconds.
const SECONDS: u32 = 60;
/// Longest duration of one input, in seconds. A longer one is a failure.
const TIMEOUT: u32 = 10;
/// Memory limit of the program, in MiB. Exceeding it is a failure.
const MEMORY: u32 = 2_048;
/// Folder of the fuzzer's findings. The seeds are in the repository.
const FOUND: &str = "target/fuzz";

/// Selected targets and their duration.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    seconds: u32,
    targets: Vec<String>,
}

/// Runs the selected targets, or all.
pub(crate) fn run(arguments: &[String]) -> Result<(), Error> {
    let plan = Plan::read(arguments, &targets()?)?;
    require_tools()?;
    let mut steps = Steps::begin();
    for target in &plan.targets {
        let found = workspace().join(FOUND).join(target);
        fs::create_dir_all(&found).map_err(Error::file("create", &found))?;
        steps.command(target, &mut fuzzer(target, plan.seconds))?;
    }
    steps.end("cargo xtask fuzz")
}

/// Returns the names of the targets, which are the names of the seed folders.
fn targets() -> Result<Vec<String>, Error> {
    let folder = workspace().join("crates/dev/fuzz/corpus");
    let entries = fs::read_dir(&folder).map_err(Error::file("list", &folder))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::file("list", &folder))?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

impl Plan {
    fn read(arguments: &[String], known: &[String]) -> Result<Self, Error> {
        let mut plan = Self { seconds: SECONDS, targets: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seconds" => plan.seconds = seconds(arguments.next())?,
                target if known.iter().any(|name| name == target) => {
                    plan.targets.push(target.to_owned());
                }
                other => {
                    let known = known.join(", ");
                    let message = format!("there is no target `{other}`; valid are {known}");
                    return Err(Error::Usage(message));
                }
            }
        }
        if plan.targets.is_empty() {
            plan.targets = known.to_vec();
        }
        Ok(plan)
    }
}

fn seconds(value: Option<&String>) -> Result<u32, Error> {
    let number = value.and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    number.ok_or_else(|| {
        let found = value.map_or("nothing".to_owned(), |text| format!("`{text}`"));
        Error::Usage(format!("`--seconds` takes a number from 1, not {found}"))
    })
}

fn require_tools() -> Result<(), Error> {
    let tools = [
        ("the nightly toolchain", "rustup toolchain install nightly", &["--version"][..]),
        ("cargo-fuzz", "cargo install cargo-fuzz", &["fuzz", "--version"]),
    ];
    for (tool, remedy, arguments) in tools {
        if !succeeds(nightly().args(arguments)) {
            let message = format!("fuzzing needs {tool}: `{remedy}`");
            return Err(Error::Usage(message));
        }
    }
    Ok(())
}

/// Returns cargo of the nightly toolchain, as found by rustup.
///
/// The cargo that runs this program belongs to another toolchain.
fn nightly() -> Command {
    let mut command = Command::new("cargo");
    command.arg("+nightly").current_dir(workspace().join("crates/dev/fuzz"));
    for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR"] {
        command.env_remove(inherited);
    }
    command
}

fn fuzzer(target: &str, seconds: u32) -> Command {
    let folder = |path: PathBuf| path.display().to_string();
    let mut command = nightly();
    command.args(["fuzz", "run", target]);
    command.arg(folder(workspace().join(FOUND).join(target)));
    command.arg(folder(workspace().join("crates/dev/fuzz/corpus").join(target)));
    command.arg("--");
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={TIMEOUT}"));
    command.arg(format!("-rss_limit_mb={MEMORY}"));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Plan, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Plan::read(&arguments, &targets().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn command_line_selects_targets_and_duration() {
        let all = read("").unwrap();
        assert_eq!((all.seconds, all.targets), (SECONDS, targets().unwrap()));
        let one = read("cron --seconds 5").unwrap();
        assert_eq!(one, Plan { seconds: 5, targets: vec!["cron".to_owned()] });
        let rows = [
            ("no such target", "crom", "there is no target `crom`; valid are cron, "),
            ("no time", "--seconds", "`--seconds` takes a number from 1, not nothing"),
            ("no number", "--seconds x cron", "`--seconds` takes a number from 1, not `x`"),
            ("zero", "--seconds 0", "`--seconds` takes a number from 1, not `0`"),
        ];
        for (case, line, expected) in rows {
            assert!(read(line).unwrap_err().starts_with(expected), "{case}: {:?}", read(line));
        }
    }

    #[test]
    fn every_target_has_a_program() {
        let manifest = include_str!("../../crates/dev/fuzz/fuzz/Cargo.toml");
        for target in targets().unwrap() {
            let program = format!("path = \"fuzz_targets/{target}.rs\"");
            assert!(manifest.contains(&program), "{target} has no program");
            let source = workspace().join(format!("crates/dev/fuzz/fuzz/fuzz_targets/{target}.rs"));
            let source = fs::read_to_string(source).unwrap();
            assert!(source.contains(&format!("fuzz::{target}::run(bytes)")), "{target}");
        }
    }

    #[test]
    fn fuzzer_gets_its_seeds_and_limits() {
        let line = crate::steps::line(&fuzzer("cron", 5));
        for wanted in
            ["fuzz run cron", "/crates/dev/fuzz/corpus/cron", "-max_total_time=5", "-timeout=10"]
        {
            assert!(line.contains(wanted), "{line}");
        }
    }
}
