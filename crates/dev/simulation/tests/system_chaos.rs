//! Chaos from fixed seeds, and the search for smaller plans.

use checker::history::{ExecEvent, Fact, MAX_CONCURRENCY, Record, RegOp};
use checker::{History, Options, Property, check};
use simulation::chaos::{ChaosPlan, GroupPlan, JobPlan, Outcome, replay, run_seed, shrink};
use testkit::harness::{Fault, Scheduled, Weather};

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

/// A job in a group with limits and with a period, in processes with a limit. A crash gives all of
/// its items to one process.
fn limited() -> ChaosPlan {
    let plan = ChaosPlan::draw(1);
    let crash = Fault::Crash { node: 0, down_ms: 45_000 };
    let group = GroupPlan { cluster_concurrency: Some(3), start_rate: "8 in 20s".to_owned() };
    let job = JobPlan {
        items: 4,
        failover: true,
        monitor: true,
        periods: 0.3,
        slow: Vec::new(),
        fail: Vec::new(),
        panic: Vec::new(),
        hang: Vec::new(),
        catch_up: None,
        group: Some(group),
        not_before: "2024-02-29T12:00:20Z".to_owned(),
        not_after: "2024-02-29T12:02:00Z".to_owned(),
        ..plan.job
    };
    ChaosPlan {
        nodes: 2,
        weather: Weather::CALM,
        max_concurrency: Some(2),
        job,
        faults: vec![Scheduled { at_ms: 36_000, fault: crash }],
        chaos_ms: 90_000,
        calm_ms: 60_000,
        ..plan
    }
}

/// The limits of a group and of processes, and a period, take part in the chaos, and the checker
/// judges them.
#[test]
fn limits_and_period_are_reached_and_judged() {
    let outcome = replay(&limited());
    assert!(outcome.is_valid(), "{outcome}");
    let row = |id| outcome.report.properties.iter().find(|row| row.property == id);
    for id in [Property::S17, Property::S23] {
        assert!(row(id).is_some_and(|row| row.checked > 20), "{}", outcome.report);
    }
    let fires = outcome.history.records().iter().filter_map(|record| {
        let Fact::Exec { ev: ExecEvent::Start, run, .. } = &record.fact else { return None };
        Some(run.fire)
    });
    let seconds = |fire: i64| (fire - 1_709_208_000_000) / 1_000;
    assert_eq!(fires.clone().min().map(seconds), Some(20));
    assert_eq!(fires.max().map(seconds), Some(120));
}

/// Changes the data of all writes of nodes whose path contains `node`.
fn rewrite(records: &mut [Record], node: &str, from: &str, to: &str) {
    let mut found = false;
    for record in records {
        let Fact::Reg { ops, .. } = &mut record.fact else { continue };
        for op in ops {
            if let RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. } = op
                && path.contains(node)
            {
                found |= data.contains(from);
                *data = data.replace(from, to);
            }
        }
    }
    assert!(found, "no write of {node} contains {from}");
}

/// A history with stricter limits than those that the processes had is not accepted.
#[test]
fn broken_limits_and_periods_are_found() {
    type Tamper = fn(&mut [Record]);
    let rows: [(&str, Tamper, Property); 5] = [
        (
            "runs of a process",
            |records| {
                let Fact::RunMeta { params, .. } = &mut records[0].fact else { return };
                params.insert(MAX_CONCURRENCY.to_owned(), 1.into());
            },
            Property::S17,
        ),
        (
            "runs of the group",
            |records| {
                rewrite(
                    records,
                    "/limits",
                    r#""cluster_concurrency":3"#,
                    r#""cluster_concurrency":2"#,
                )
            },
            Property::S23,
        ),
        (
            "starts of the group",
            |records| rewrite(records, "/limits", "8 in 20s", "3 in 20s"),
            Property::S23,
        ),
        (
            "the begin of the period",
            |records| rewrite(records, "/config", "12:00:20Z", "12:00:30Z"),
            Property::S3,
        ),
        (
            "the end of the period",
            |records| rewrite(records, "/config", "12:02:00Z", "12:01:50Z"),
            Property::S3,
        ),
    ];
    let records = replay(&limited()).history.records().to_vec();
    for (case, tamper, property) in rows {
        let mut records = records.clone();
        tamper(&mut records);
        let report = check(&History::from_records(records), &Options::default());
        assert!(report.violations_of(property).next().is_some(), "{case}: {report}");
    }
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

/// Each feature is drawn, so the seeds of a nightly run can reach it.
#[test]
fn every_feature_is_drawn() {
    let plans: Vec<_> = (0..100).map(ChaosPlan::draw_with_features).collect();
    let drawn = |has: fn(&ChaosPlan) -> bool| plans.iter().filter(|plan| has(plan)).count();
    let counts = [
        drawn(|plan| !plan.job.schedule.is_empty()),
        drawn(|plan| !plan.job.overlap.is_empty()),
        drawn(|plan| plan.job.cluster_concurrency.is_some()),
        drawn(|plan| !plan.job.start_rate.is_empty()),
        drawn(|plan| plan.job.group.is_some()),
        drawn(|plan| !plan.job.not_before.is_empty()),
        drawn(|plan| !plan.job.not_after.is_empty()),
        drawn(|plan| plan.max_concurrency.is_some()),
    ];
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
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
