//! `cargo xtask test`: the checks that every change has to pass.

use crate::background::{Background, run_all};
use crate::program::Programs;
use crate::steps::{Steps, cargo, niced};
use crate::{Error, servers, workspace, zookeeper};

/// Arguments of cargo for all tests except doc tests.
///
/// Benchmarks are omitted, because as tests they would run for minutes without a result.
pub(crate) const TESTS: &str = "test --workspace --all-features --tests --examples";

/// The programs that the tests and the other steps start.
const PROGRAMS: &str = "--bin ejob-sim --bin ejob-verify --bin ejob-worker \
                        --example any_registry --example sharding_vectors --example cron_vectors";

/// Arguments of cargo for the doc tests. None needs a server, so that all packages have theirs.
const DOC_TESTS: &str = "test --workspace --all-features --doc";

/// Number of test programs that run at the same time. Many of them mostly wait for fires, sessions
/// and servers.
pub(crate) const TEST_PROGRAMS_AT_ONCE: usize = 3;

/// Test programs that take minutes, the longest first: the package and the target. They start
/// before the others, so that none of them runs alone at the end.
const LONG_TESTS: [(&str, &str); 4] =
    [("simulation", "it"), ("cli", "it"), ("job-console", "it"), ("verify", "it")];

const QUICK_START: &str = "run --example quickstart";

/// Steps that run programs of the workspace, with their arguments.
///
/// The build of an optimized simulation would take longer than it saves.
const RUNS: [(&str, &str, &str); 5] = [
    ("simulation", "ejob-sim", "run --seeds 1600"),
    ("simulation of combined features", "ejob-sim", "run --seeds 400 --features"),
    ("crash points", "ejob-sim", "points"),
    (
        "sharding vectors",
        "sharding_vectors",
        "crates/sharding/testdata/sharding-vectors.jsonl \
         crates/sharding/testdata/sharding-vectors-single-balance.jsonl \
         crates/sharding/testdata/children-sort-vectors.jsonl",
    ),
    ("cron vectors", "cron_vectors", "crates/trigger/testdata/quartz-cron-vectors.jsonl"),
];

/// Tests of the exhaustive model that run each time: all small systems.
///
/// The two large ones are left to `cargo xtask nightly`. They need an optimized build, and then
/// take a processor for a quarter of an hour, which a slow machine of two does not have.
pub(crate) const MODEL: [&str; 2] = [
    "exhaustive::tests::exhaustive_grounds",
    "exhaustive::tests::every_walk_comes_to_rest_and_agrees_with_the_registry",
];

/// Runs all tests, the golden vectors and the quick start.
pub(crate) fn run() -> Result<(), Error> {
    let mut steps = Steps::begin();
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let programs = steps.step("build of programs", || Programs::build_as_tested(PROGRAMS))?;
    let tests = steps
        .step("build of tests", || Programs::build(&format!("{} --no-run", without_servers())))?;
    let all_tests = tests.all_tests(&LONG_TESTS)?;
    steps.step("tests", || run_all(all_tests, TEST_PROGRAMS_AT_ONCE))?;
    // In the background, because the scenarios mostly wait for fires and sessions.
    let mut scenarios = programs.command("ejob-verify")?;
    scenarios.current_dir(workspace());
    let scenarios = Background::start("ten scenarios on ZooKeeper", scenarios)?;
    let mut model = tests.library_tests("model")?;
    model.args(["--exact", "--include-ignored", "--nocapture", "--test-threads", "1"]).args(MODEL);
    let model = Background::start("exhaustive model", niced(&model))?;
    steps.command("doc tests", &mut cargo(DOC_TESTS))?;
    steps.command("quick start", &mut cargo(QUICK_START))?;
    for (name, program, arguments) in RUNS {
        let mut command = programs.command(program)?;
        steps.command(name, command.args(arguments.split_whitespace()).current_dir(workspace()))?;
    }
    steps.join(scenarios)?;
    steps.join(model)?;
    steps.end("cargo xtask test")
}

/// Returns the command of cargo that tests all packages but those that need other servers than
/// ZooKeeper.
fn without_servers() -> String {
    let packages = servers::PACKAGES.iter().map(|package| format!(" --exclude {package}"));
    format!("{TESTS}{}", packages.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// Returns the folders of all packages.
    fn packages() -> Vec<PathBuf> {
        let folders = ["crates", "crates/dev", "."].map(|folder| workspace().join(folder));
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let packages = entries.map(|entry| entry.unwrap().path());
        packages.filter(|package| package.join("Cargo.toml").is_file()).collect()
    }

    /// Without automatic discovery by cargo, a file without a `mod` line would never run.
    #[test]
    fn every_test_file_belongs_to_a_test_program() {
        let mut n_programs = 0;
        for package in packages() {
            let Ok(whole) = fs::read_to_string(package.join("tests/it.rs")) else { continue };
            let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
            for file in fs::read_dir(package.join("tests")).unwrap() {
                let file = file.unwrap().path();
                let is_folder = file.join("main.rs").exists() || file.join("mod.rs").exists();
                if !is_folder && file.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let name = file.file_stem().unwrap().to_str().unwrap();
                let is_part = whole.lines().any(|line| line == format!("mod {name};"));
                let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
                assert!(is_part != is_program, "{}", file.display());
            }
            n_programs += 1;
        }
        assert!(n_programs > 12, "few packages have their tests in one program: {n_programs}");
    }

    /// Tests of a target that is not built for them would never be run.
    #[test]
    fn targets_that_are_not_tested_have_no_tests() {
        let mut n_targets = 0;
        for package in packages() {
            let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
            let sections = manifest.split("\n\n");
            for section in sections.filter(|section| section.contains("\ntest = false")) {
                let path = section.lines().find_map(|line| line.strip_prefix("path = \""));
                let path = path.map(|path| package.join(path.trim_end_matches('"')));
                // A target without a path is a library; its modules are all files of the package.
                let files =
                    path.map_or_else(|| rust_files(&package.join("src")), |path| vec![path]);
                for file in files {
                    let text = fs::read_to_string(&file).unwrap();
                    let is_tested = text.lines().any(|line| {
                        line.trim().starts_with("#[test]") || line.contains("#[tokio::test")
                    });
                    assert!(!is_tested, "{} has tests that are not run", file.display());
                }
                n_targets += 1;
            }
        }
        assert!(n_targets > 10, "few targets are not tested: {n_targets}");
    }

    fn rust_files(folder: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files =
            paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
        files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect()
    }
}
