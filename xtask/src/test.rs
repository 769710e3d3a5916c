//! `cargo xtask test`: the checks that every change has to pass.

use crate::background::Background;
use crate::program::Programs;
use crate::steps::{Steps, cargo, niced};
use crate::{Error, workspace, zookeeper};

/// Arguments of cargo for all tests except doc tests.
///
/// Benchmarks are omitted, because as tests they would run for minutes without a result.
const TESTS: &str = "test --workspace --all-features --lib --bins --tests --examples";

/// The programs that the steps start.
const PROGRAMS: &str = "--bin ejob-sim --bin ejob-verify --bin ejob-worker \
                        --example sharding_vectors --example cron_vectors";

/// Steps that cargo runs after the tests.
const STEPS: [(&str, &str); 2] = [
    ("doc tests", "test --workspace --all-features --doc"),
    ("quick start", "run --example quickstart"),
];

/// Steps that run programs of the workspace, with their arguments.
///
/// The build of an optimized simulation would take longer than it saves.
const RUNS: [(&str, &str, &str); 4] = [
    ("simulation", "ejob-sim", "run --seeds 2000"),
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

/// Tests of the exhaustive model that run each time.
///
/// They keep one processor busy for longer than all other steps take.
pub(crate) const MODEL: [&str; 3] = [
    "exhaustive::tests::exhaustive_two_fires",
    "exhaustive::tests::exhaustive_three_by_three",
    "exhaustive::tests::every_walk_comes_to_rest_and_agrees_with_the_registry",
];

/// Runs all tests, the golden vectors and the quick start.
pub(crate) fn run() -> Result<(), Error> {
    let mut steps = Steps::default();
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let model = || Programs::build("test --release -p model --lib --no-run");
    let mut model = steps.step("build of the model", model)?.library_tests("model")?;
    model.args(["--exact", "--include-ignored", "--nocapture", "--test-threads", "1"]).args(MODEL);
    let model = Background::start("exhaustive model", niced(model.current_dir(workspace())))?;
    steps.command("tests", &mut cargo(TESTS))?;
    let programs = steps.step("build of programs", || Programs::build_as_tested(PROGRAMS))?;
    // In the background, because the scenarios mostly wait for fires and sessions.
    let mut scenarios = programs.command("ejob-verify")?;
    scenarios.current_dir(workspace());
    let scenarios = Background::start("ten scenarios on ZooKeeper", scenarios)?;
    for (name, arguments) in STEPS {
        steps.command(name, &mut cargo(arguments))?;
    }
    for (name, program, arguments) in RUNS {
        let mut command = programs.command(program)?;
        steps.command(name, command.args(arguments.split_whitespace()).current_dir(workspace()))?;
    }
    steps.join(scenarios)?;
    steps.join(model)?;
    steps.end("cargo xtask test")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Without automatic discovery by cargo, a file without a `mod` line would never run.
    #[test]
    fn every_test_file_belongs_to_a_test_program() {
        let mut n_programs = 0;
        for package in fs::read_dir(workspace().join("crates")).unwrap() {
            let package = package.unwrap().path();
            let Ok(whole) = fs::read_to_string(package.join("tests/it.rs")) else { continue };
            let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
            for file in fs::read_dir(package.join("tests")).unwrap() {
                let file = file.unwrap().file_name().into_string().unwrap();
                let Some(name) = file.strip_suffix(".rs") else { continue };
                let is_part = whole.lines().any(|line| line == format!("mod {name};"));
                let is_program = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
                assert!(is_part != is_program, "{}: {file}", package.display());
            }
            n_programs += 1;
        }
        assert!(n_programs > 0, "no package has its tests in one program");
    }
}
