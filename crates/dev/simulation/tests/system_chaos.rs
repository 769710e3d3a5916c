//! Chaos from fixed seeds, and the search for smaller plans.

use checker::Property;
use simulation::chaos::{ChaosPlan, JobPlan, Outcome, replay, run_seed, shrink};
use testkit::harness::{Fault, Scheduled};

/// Fixed seeds; each once found the fault that its comment names. `cargo xtask sim --system` plays
/// more.
const SEEDS: [u64; 12] = [
    0, 2, 3, // jobs are paused and resumed between two fires
    4, 5,    // a process completes a run in a later session
    44,   // a clock that is ahead skips fires, and the item gets another owner
    76,   // catch-up and once-per-cluster callbacks
    413,  // a request is lost, so the action armed for after it does not happen
    66,   // no catch-up after a change of the owner
    958,  // a shutdown was reported as clean, although completions were not recorded
    1019, // the completed callback came while a run for earlier fires was running
    2728, // a leader assigned items by a view that contained the last assignment in part
];

#[test]
fn fixed_seeds_break_no_promise() {
    let failed: Vec<String> = SEEDS
        .into_iter()
        .map(run_seed)
        .filter(|run| !run.is_valid())
        .map(|run| run.to_string())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Once-per-cluster callbacks and catch-up take part in the chaos, and the checker judges them.
#[test]
fn callbacks_and_catch_up_are_reached_and_judged() {
    let outcome = run_seed(76);
    let Outcome { plan, report, .. } = &outcome;
    assert!(plan.job.once && plan.job.catch_up.is_some(), "{plan:?}");
    let judged = report.properties.iter().find(|row| row.property == Property::S13);
    assert!(judged.is_some_and(|row| row.checked > 20), "{report}");
    let calls = report.coverage.get("once").map_or(0, |row| row.reached);
    let caught_up = report.coverage.get("misfire").map_or(0, |row| row.reached);
    assert!(calls > 20 && caught_up > 2, "{report}");
}

/// Seeds whose jobs combine schedules, overlaps and limits. `cargo xtask sim --system --features`
/// plays more.
#[test]
fn seeds_with_features_break_no_promise() {
    let plans: Vec<_> = (0..6).map(ChaosPlan::draw_with_features).collect();
    let runs = plans.iter().map(replay).filter(|run| !run.is_valid());
    let failed: Vec<String> = runs.map(|run| run.to_string()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// A clock that is set back, and forward again, while intervals run.
#[test]
fn clock_set_back_during_an_interval_breaks_no_promise() {
    let plan = ChaosPlan::draw(1);
    let skew =
        |at_ms, node, ms| Scheduled { at_ms, fault: Fault::Skew { node, ms, for_ms: 17_000 } };
    let faults = vec![
        skew(15_000, 0, -12_000),
        skew(48_500, 1, -25_000),
        skew(63_000, 0, -4_000),
        skew(90_000, 1, 6_000),
        skew(121_000, 0, -9_500),
    ];
    let job = JobPlan {
        items: 4,
        schedule: "@every 7s".to_owned(),
        periods: 0.2,
        monitor: true,
        slow: Vec::new(),
        hang: Vec::new(),
        catch_up: None,
        ..plan.job
    };
    let outcome = replay(&ChaosPlan { nodes: 2, job, faults, chaos_ms: 150_000, ..plan });
    assert!(outcome.is_valid(), "{outcome}");
    let fired = |id| outcome.report.properties.iter().find(|row| row.property == id);
    assert!(fired(Property::S3).is_some_and(|row| row.checked > 50), "{}", outcome.report);
}

/// Each kind of fault is drawn, so the seeds of a nightly run can reach it.
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

/// A valid plan offers no failure to search for.
#[test]
fn valid_plan_is_not_shrunk() {
    let outcome = replay(&ChaosPlan { faults: Vec::new(), chaos_ms: 20_000, ..ChaosPlan::draw(1) });
    assert!(outcome.is_valid(), "{outcome}");
    let plan = outcome.plan.clone();
    let same: Outcome = shrink(outcome, 5);
    assert_eq!(same.plan, plan);
}
