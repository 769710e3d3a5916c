//! Chaos from fixed seeds, and the search for smaller runs.

use checker::Property;
use simulation::chaos::{ChaosPlan, Outcome, replay, run_seed, shrink};
use testkit::harness::Fault;

/// More of them run in `cargo xtask sim --system`. Seeds that once failed stay here, with what they have found.
const SEEDS: [u64; 12] = [
    0, 2, 3, // jobs paused and resumed between two fires
    4, 5,    // a run completed by its process in a later session
    44,   // a clock that is ahead passes fires over, and the item moves on
    76,   // catches up, and calls back once per cluster
    413,  // a request was lost, and what was to happen after it did not
    66,   // an item that moved was not caught up with
    958,  // a leave whose ends of runs were not recorded was told as clean
    1019, // a callback said completed while a run for earlier fires went on
    2728, // an assignment was decided by a view that showed the last one in part
];

#[test]
fn no_promise_is_broken_by_what_these_seeds_do() {
    let failed: Vec<String> = SEEDS
        .into_iter()
        .map(run_seed)
        .filter(|run| !run.is_valid())
        .map(|run| run.to_string())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Callbacks that come once per cluster and runs that catch up take part in the chaos, and are judged.
#[test]
fn callbacks_and_catching_up_are_reached_and_judged() {
    let outcome = run_seed(76);
    let Outcome { plan, report, .. } = &outcome;
    assert!(plan.job.once && plan.job.catch_up.is_some(), "{plan:?}");
    let judged = report.properties.iter().find(|row| row.property == Property::S13);
    assert!(judged.is_some_and(|row| row.checked > 20), "{report}");
    let calls = report.coverage.get("once").map_or(0, |row| row.reached);
    let caught_up = report.coverage.get("misfire").map_or(0, |row| row.reached);
    assert!(calls > 20 && caught_up > 2, "{report}");
}

/// What the seeds of a night shall reach must be reachable: each kind of fault comes up.
#[test]
fn every_kind_of_fault_is_drawn() {
    let kind = |fault: &Fault| {
        let json = serde_json::to_value(fault).unwrap();
        json["kind"].as_str().unwrap().to_owned()
    };
    let plans = (0..300).map(ChaosPlan::draw);
    let mut drawn: Vec<String> = plans
        .flat_map(|plan| plan.faults.iter().map(|s| kind(&s.fault)).collect::<Vec<_>>())
        .collect();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 23, "{drawn:?}");
}

/// There is nothing to look for in it.
#[test]
fn a_valid_run_is_not_made_smaller() {
    let outcome = replay(&ChaosPlan { faults: Vec::new(), chaos_ms: 20_000, ..ChaosPlan::draw(1) });
    assert!(outcome.is_valid(), "{outcome}");
    let plan = outcome.plan.clone();
    let same: Outcome = shrink(outcome, 5);
    assert_eq!(same.plan, plan);
}
