//! The pure simulation, as far as every test run takes it. `ejob-sim run` goes on from there.

use std::process::Command;

use simulation::sim::{
    FAULTS, Judge, Keep, OPERATORS, Script, Source, parse_corpus, points, run, run_calm,
    run_points, run_seeds,
};

const THREADS: usize = 2;

/// Words a failure with everything that is needed to see it again.
fn assert_holds(script: &Script, judge: Judge, what: &str) {
    let report = run(script, judge, Keep { story: true, history: false });
    let violation = report.violation;
    let script = script.to_json();
    assert!(violation.is_none(), "{what}: {violation:?}\n{}\n{script}", report.story);
}

#[test]
fn without_faults_every_fire_of_every_item_runs_exactly_once() {
    for seed in 0..60 {
        let report = run_calm(seed, 10, Judge::Online, Keep { story: true, history: false });
        assert_eq!(report.violation, None, "seed {seed}\n{}", report.story);
        assert!(report.coverage.runs >= 10, "seed {seed} ran {}", report.coverage.runs);
    }
}

#[test]
fn under_faults_no_property_breaks_and_everything_heals() {
    let totals = run_seeds(0, 150, THREADS, Judge::Online);
    let again = totals.failures.first().map(|(seed, _)| {
        format!("cargo run --release -p simulation --bin ejob-sim -- replay {seed}")
    });
    assert!(totals.failures.is_empty(), "{:?}\n{}", totals.failures, again.unwrap_or_default());
}

/// What has found something once finds nothing any more.
#[test]
fn what_was_found_once_stays_mended() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let read = |file: &str| std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    let corpus = parse_corpus(&read("sim.txt")).unwrap();
    let files = std::fs::read_dir(folder).unwrap().filter(|file| {
        let path = file.as_ref().unwrap().path();
        path.extension().is_some_and(|extension| extension == "json")
    });
    let scripts = corpus.iter().filter(|entry| matches!(entry.source, Source::File(_)));
    assert_eq!(scripts.count(), files.count(), "scripts in the list, and in the folder");
    for entry in corpus {
        let script = entry.script(read).unwrap();
        assert_holds(&script, Judge::Full, &entry.found);
    }
}

/// A fault at some writes of the scripted run; `ejob-sim points` takes all of them.
#[test]
fn a_fault_at_any_write_loses_nothing() {
    for like_zookeeper in [false, true] {
        let points = points(like_zookeeper, 20);
        assert!(points.len() >= 50, "{} points", points.len());
        let failures = run_points(&points, like_zookeeper, Judge::Online);
        let worded: Vec<_> = failures.iter().map(|(place, v)| (points[*place], v)).collect();
        assert!(failures.is_empty(), "like ZooKeeper {like_zookeeper}: {worded:?}");
    }
}

/// Runs a seed in a process of its own and returns what it prints.
fn replay_elsewhere(seed: u64) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob-sim"));
    let output = command.args(["replay", "--quiet", &seed.to_string()]).output();
    let output = output.expect("the program is built with the tests");
    String::from_utf8(output.stdout).expect("it prints text")
}

#[test]
fn the_same_seed_gives_the_same_run_in_every_process() {
    for seed in [3, 8, 21, 34] {
        let once = replay_elsewhere(seed);
        assert!(once.starts_with("digest "), "seed {seed}: {once}");
        assert_eq!(once, replay_elsewhere(seed), "seed {seed}");
    }
    assert_ne!(replay_elsewhere(3), replay_elsewhere(8));
}

/// What the product must have done in 200 seeds, and how often at least.
const PRODUCT: [(&str, u64); 35] = [
    ("claimed", 5_000),
    ("settled", 3_000),
    ("failover", 60),
    ("misfire", 200),
    ("misfire_noted", 100),
    ("missed", 500),
    ("gap", 50),
    ("resharded", 500),
    ("deferred_move", 50),
    ("became_leader", 300),
    ("lost_leadership", 100),
    ("orphaned", 60),
    ("taken_at_once", 10),
    ("fenced", 15),
    ("fenced_effect", 3),
    ("interrupted_run", 20),
    ("abandoned", 10),
    ("graceful_leave", 60),
    ("lingering_session", 15),
    ("lease_expired", 100),
    ("expiry_while_running", 20),
    ("crash_while_running", 15),
    ("unknown_outcome", 300),
    ("late_write", 50),
    ("conflict", 1_000),
    ("config_rejected", 50),
    ("strategy_failed", 5),
    // What some seeds have beside the rest.
    ("told_run", 150),
    ("request_dropped", 4),
    ("delayed_fire", 200),
    ("fires_of_a_day_left_out", 100),
    ("config_jitter", 50),
    ("config_excluded_days", 20),
    ("narrowed", 100),
    ("widened", 30),
];

#[test]
fn the_runs_reach_what_they_are_for() {
    let seen = run_seeds(1_000, 200, THREADS, Judge::Online).coverage;
    let least = |kind| if kind == "enable_item" { 3 } else { 8 };
    let acts = FAULTS.iter().chain(&OPERATORS).map(|(kind, _)| (*kind, least(*kind)));
    let rows = acts.chain(PRODUCT).chain([("once_call", 100), ("refire", 30)]);
    let rare: Vec<_> = rows
        .map(|(what, least)| (what, seen.of(what), least))
        .filter(|(_, count, least)| count < least)
        .collect();
    assert!(rare.is_empty(), "too rare (what, how often, at least): {rare:?}");
}
