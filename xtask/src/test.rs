//! `cargo xtask test`: what has to pass before anything else is looked at.

use std::process::Command;

use crate::beside::Beside;
use crate::steps::{Steps, cargo, niced};
use crate::{Error, program, workspace, zookeeper};

/// The steps after a ZooKeeper server has been found.
///
/// Benchmarks are left out of the first: as tests they would run for minutes and say nothing. The vectors and the scenarios are
/// played with its features, which saves building everything again.
pub(crate) const STEPS: [(&str, &str); 8] = [
    ("tests", "test --workspace --all-features --lib --bins --tests --examples"),
    ("doc tests", "test --workspace --all-features --doc"),
    (
        "sharding vectors",
        "run --all-features --example sharding_vectors -- \
         crates/sharding/testdata/sharding-vectors.jsonl \
         crates/sharding/testdata/sharding-vectors-single-balance.jsonl \
         crates/sharding/testdata/children-sort-vectors.jsonl",
    ),
    (
        "cron vectors",
        "run --all-features --example cron_vectors -- crates/trigger/testdata/quartz-cron-vectors.jsonl",
    ),
    ("quick start", "run --example quickstart"),
    ("simulation", "run --release -p testkit --bin ejob-sim -- run --seeds 2000"),
    ("crash points", "run --release -p testkit --bin ejob-sim -- points"),
    ("ten scenarios on ZooKeeper", "run --all-features --bin ejob-verify"),
];

/// What of the exhaustive model is searched each time. It keeps one processor busy for longer than all other steps take.
pub(crate) const MODEL: [&str; 3] = [
    "exhaustive::tests::exhaustive_two_fires",
    "exhaustive::tests::exhaustive_three_by_three",
    "exhaustive::tests::every_walk_comes_to_rest_and_agrees_with_the_registry",
];

/// Runs all tests, the golden vectors and the quick start.
pub(crate) fn run() -> Result<(), Error> {
    let mut steps = Steps::default();
    steps.step("ZooKeeper", zookeeper::ensure)?;
    let mut model = Command::new(program::build("test --release -p coordination --lib --no-run")?);
    model.args(["--exact", "--nocapture", "--test-threads", "1"]).args(MODEL);
    let model = Beside::start("exhaustive model", niced(model.current_dir(workspace())))?;
    for (name, arguments) in STEPS {
        steps.command(name, &mut cargo(arguments))?;
    }
    steps.join(model)?;
    steps.end("cargo xtask test")
}
