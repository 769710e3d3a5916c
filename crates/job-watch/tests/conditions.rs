//! The conditions, for the nodes of Rust and Java jobs in both dialects.

use coordination::{Dialect, Overlap};
use job_watch::{ConditionKind, FailedRuns, HistoryFacts};
use serde_json::json;

use super::support::{Job, Watched, at};

const DIALECTS: [Dialect; 2] = [Dialect::V2, Dialect::V3];
/// Before the fire at noon.
const BEFORE: i64 = -300;

/// A job, the time in seconds after noon, and the beginning of the expected state.
type Row<'a> = (&'a str, Job, i64, &'a str);

/// Observes each job once before noon and then at its time.
fn check(kind: ConditionKind, keys: &str, first: &Job, rows: &[Row<'_>]) {
    for (case, job, seconds, expected) in rows {
        let mut watched = Watched::new(keys);
        watched.see(Some(first), BEFORE);
        let found = watched.state(kind, Some(job), *seconds);
        assert!(found.starts_with(expected), "{case}: {found}, not {expected}");
    }
}

/// Both items have begun and ended for the fire before noon.
fn fresh(job: Job) -> Job {
    job.ended(0, 1, "succeeded", -600, -590).ended(1, 1, "succeeded", -600, -590)
}

#[test]
fn item_is_late_after_its_deadline() {
    for dialect in DIALECTS {
        let job = fresh(Job::rust(dialect));
        let one_begun = job.clone().running(0, 2, 0, Some("succeeded"));
        let began = one_begun.clone().ended(1, 2, "failed", 0, 1);
        let late = "violated since 120: item 0 (owner 10.0.0.1@-@1) has not begun for the fire of \
                    2024-02-29T12:00:00Z; it was due by 2024-02-29T12:02:00Z; and 1 more item";
        let gone = "violated since 120: item 0 (owner 10.0.0.1@-@1, which is gone) has not begun";
        let paused = job.clone().server(1, "PAUSED");
        let half = job.clone().instance(2, true).owner(1, 2).server(2, "DISABLED");
        let noted = json!({
            "v": 1, "state": "idle", "token": 1, "last": at(-600).as_millisecond(),
            "misfire": {"first": at(0).as_millisecond(), "last": at(0).as_millisecond(), "count": 1},
            "outcome": "succeeded", "began": at(-600).as_millisecond(),
            "ended": at(200).as_millisecond(),
        });
        let rows: [Row<'_>; 15] = [
            ("before the fire", job.clone(), -1, "ok"),
            ("after the fire", job.clone(), 0, "pending until 120"),
            ("before the deadline", job.clone(), 119, "pending until 120"),
            ("at the deadline", job.clone(), 120, late),
            ("after a later fire", job.clone(), 700, late),
            ("no instance lives", job.clone().killed(1), 120, gone),
            ("one item has begun", one_begun, 120, "violated since 120: item 1 (owner"),
            ("both have begun", began, 120, "ok"),
            ("the run goes on", job.clone().running(0, 2, 0, None).disabled(1), 5_000, "ok"),
            ("paused", paused, 700, "suspended: all servers are paused, and no item starts"),
            ("disabled", job.clone().server(1, "DISABLED"), 700, "suspended: "),
            ("items disabled", job.clone().disabled(0).disabled(1), 700, "suspended: all items"),
            ("a server disabled", half, 700, "violated since 120: item 0 (owner 10.0.0.1@-@1) "),
            (
                "jitter",
                job.clone().config(|c| c.jitter_ms = Some(60_000)),
                150,
                "pending until 180",
            ),
            (
                "a noted misfire",
                job.clone().record(0, &noted).disabled(1),
                320,
                "violated since 320: item 0",
            ),
        ];
        check(ConditionKind::LateAfter, "late_after = \"2m\"", &job, &rows);
    }
}

#[test]
fn lost_run_delays_fires_until_it_should_be_taken_over() {
    for dialect in DIALECTS {
        let job = fresh(Job::rust(dialect)).disabled(1);
        let of_3 = dialect == Dialect::V3;
        let runs = |job: Job| if of_3 { job.lasting_mark(0, 1) } else { job.mark(0) };
        let runs = runs(job.running(0, 2, 0, None));
        let dead = runs.clone().killed(1);
        // The mark of 2.1.5 ends with its session.
        let dead = if of_3 {
            dead.without("/sharding/0/alive")
        } else {
            dead.without("/sharding/0/running")
        };
        let mut watched = Watched::new("late_after = \"2m\"\nat_most = \"3h\"");
        watched.see(Some(&runs), BEFORE);
        let mut late =
            |job: &Job, seconds| watched.state(ConditionKind::LateAfter, Some(job), seconds);
        assert_eq!(late(&runs, 5_000), "ok", "the run goes on");
        assert_eq!(late(&dead, 5_001), "pending until 5121", "{dialect:?}");
        assert_eq!(late(&dead, 5_120), "pending until 5121");
        let state = late(&dead, 5_121);
        let gone = "violated since 5121: item 0 (owner 10.0.0.1@-@1, which is gone) has not begun";
        assert!(state.starts_with(gone), "{dialect:?}: {state}");
        assert_eq!(late(&runs, 5_200), "ok", "it was taken over");
        assert_eq!(late(&dead, 5_300), "pending until 5420", "and is lost again");
        let mut at_most = |seconds| watched.state(ConditionKind::AtMost, Some(&dead), seconds);
        let state = at_most(3 * 3_600);
        assert!(state.contains("runs on 10.0.0.1@-@1, which is gone, since"), "{state}");
    }
}

#[test]
fn state_of_an_idle_item_is_due_at_its_fire_and_then_at_its_deadline() {
    let job = fresh(Job::rust(Dialect::V3));
    let mut watched = Watched::new("late_after = \"2m\"");
    watched.see(Some(&job), BEFORE);
    for (seconds, due) in [(-1, Some(0)), (0, Some(120)), (119, Some(120)), (120, None)] {
        let all = watched.see(Some(&job), seconds);
        let late = all.iter().find(|one| one.expectation == ConditionKind::LateAfter).unwrap();
        assert_eq!(late.due, due.map(at), "at {seconds}: {late:?}");
    }
}

#[test]
fn lateness_of_java_jobs_is_unknown() {
    for dialect in DIALECTS {
        let java = Job::java(dialect);
        let on_request = fresh(Job::rust(dialect)).config(|config| config.cron = None);
        let unmonitored = fresh(Job::rust(dialect)).config(|c| c.monitor_execution = false);
        let rows: [Row<'_>; 4] = [
            ("no records", java.clone(), 700, "unknown: item 0 has no record; Java"),
            ("records of earlier", fresh(java.clone()), 700, "unknown: item 0 (owner"),
            ("no schedule", on_request, 700, "suspended: the job has no schedule"),
            ("not monitored", unmonitored, 700, "unknown: runs are not recorded"),
        ];
        check(ConditionKind::LateAfter, "late_after = \"2m\"", &java, &rows);
        let mut watched = Watched::new("late_after = \"2m\"");
        watched.see(Some(&fresh(java.clone())), BEFORE);
        let killed = fresh(java).killed(1);
        let state = watched.state(ConditionKind::LateAfter, Some(&killed), 700);
        assert!(state.contains("a Java instance was alive after the last record"), "{state}");
    }
}

#[test]
fn fires_during_a_suspension_or_another_schedule_are_not_late() {
    let job = fresh(Job::rust(Dialect::V2));
    let rows = [
        ("the job was paused", job.clone().server(1, "PAUSED")),
        ("an item was disabled", job.clone().disabled(0).disabled(1)),
        ("another schedule", job.clone().config(|c| c.cron = Some("0 0 0 1 1 ? *".to_owned()))),
    ];
    for (case, before) in rows {
        let mut watched = Watched::new("late_after = \"2m\"");
        watched.see(Some(&before), BEFORE);
        let late = |watched: &mut Watched, seconds| {
            watched.state(ConditionKind::LateAfter, Some(&job), seconds)
        };
        assert_eq!(late(&mut watched, 300), "ok", "{case}: the fire at noon is not owed");
        assert_eq!(late(&mut watched, 719), "pending until 720", "{case}");
        assert!(late(&mut watched, 720).starts_with("violated since 720"), "{case}");
    }
}

#[test]
fn every_item_must_succeed_within_the_period() {
    for dialect in DIALECTS {
        let job = fresh(Job::rust(dialect));
        let failing = job.clone().ended(0, 2, "failed", 0, 5);
        let retried = failing.clone().ended(0, 3, "succeeded", 600, 605);
        let runs = job.clone().running(0, 2, 0, Some("succeeded"));
        let old = "violated since 1210: item 0 (owner 10.0.0.1@-@1) last succeeded at \
                   2024-02-29T11:50:10Z, over 1800s ago";
        let rows: [Row<'_>; 7] = [
            ("recent", job.clone(), 1_209, "ok"),
            ("too old", job.clone(), 1_210, old),
            ("failed since", failing, 1_210, old),
            ("succeeded again", retried.ended(1, 2, "succeeded", 600, 605), 1_210, "ok"),
            ("runs for long", runs, 1_210, "violated since 1210: item 0"),
            ("paused", job.clone().server(1, "PAUSED"), 9_000, "suspended"),
            ("no instance", job.clone().killed(1), 1_210, "violated since 1210: item 0"),
        ];
        check(ConditionKind::MustSucceedWithin, "must_succeed_within = \"30m\"", &job, &rows);
        let java = Job::java(dialect);
        let rows: [Row<'_>; 1] = [("Java", java.clone(), 9_000, "unknown: item 0 has no record")];
        check(ConditionKind::MustSucceedWithin, "must_succeed_within = \"30m\"", &java, &rows);
    }
}

/// The facts are at most a minute old: a success may have followed the reading, so that a deadline
/// after it violates nothing yet.
#[test]
fn success_of_a_java_item_is_judged_by_the_time_of_the_reading() {
    let kind = ConditionKind::MustSucceedWithin;
    // Successes of the items, the time of the reading, and of the judgement, in seconds.
    let rows = [
        (&[0, 0][..], 1_790, 1_799, "ok"),
        (&[0, 0], 1_790, 1_830, "ok"),
        (&[0, 0], 1_800, 1_830, "violated since 1800: item 0"),
        (&[900, 0], 1_850, 1_860, "violated since 1800: item 1"),
        (&[900, 900], 1_850, 1_860, "ok"),
        (&[900], 1_850, 1_860, "unknown: item 1 has no record"),
    ];
    for dialect in DIALECTS {
        for (successes, read, now, expected) in rows {
            let mut watched = Watched::new("must_succeed_within = \"30m\"");
            let successes = successes.iter().map(|time| at(*time).as_millisecond());
            let last_success = (0..).zip(successes).collect();
            watched.history = Some(HistoryFacts::new(last_success, at(read).as_millisecond()));
            let found = watched.state(kind, Some(&Job::java(dialect)), now);
            assert!(found.starts_with(expected), "{read} {now}: {found}, not {expected}");
        }
    }
}

#[test]
fn unknown_success_is_judged_from_the_first_observation() {
    let kind = ConditionKind::MustSucceedWithin;
    let failing = Job::rust(Dialect::V2).ended(0, 4, "failed", -600, -590).disabled(1);
    let mut watched = Watched::new("must_succeed_within = \"30m\"");
    assert_eq!(watched.state(kind, Some(&failing), 0), "pending until 1200");
    let again = failing.ended(0, 5, "failed", 1_000, 1_001);
    assert_eq!(watched.state(kind, Some(&again), 1_199), "pending until 1800");
    let state = watched.state(kind, Some(&again), 1_800);
    assert!(state.contains("has no known success within 1800s"), "{state}");
}

#[test]
fn run_must_not_take_longer() {
    for dialect in DIALECTS {
        let job = fresh(Job::rust(dialect));
        let runs = job.clone().running(1, 2, 0, Some("succeeded"));
        let rows: [Row<'_>; 4] = [
            ("idle", job.clone(), 9_000, "ok"),
            ("runs", runs.clone(), 119, "ok"),
            (
                "runs for long",
                runs.clone(),
                120,
                "violated since 120: item 1 runs on 10.0.0.1@-@1 since 2024-02-29T12:00:00Z, \
                 longer than 120s",
            ),
            ("paused", runs.server(1, "PAUSED"), 120, "violated since 120"),
        ];
        check(ConditionKind::AtMost, "at_most = \"2m\"", &job, &rows);
    }
}

#[test]
fn run_of_a_java_instance_is_judged_from_its_first_observation() {
    for dialect in DIALECTS {
        // The records are those of a Rust instance that owned the items earlier.
        for idle in [Job::java(dialect), fresh(Job::java(dialect))] {
            let runs = idle.clone().mark(0);
            let mut watched = Watched::new("at_most = \"2m\"");
            let mut state = |job, seconds| watched.state(ConditionKind::AtMost, Some(job), seconds);
            assert_eq!(state(&idle, 0), "ok");
            assert_eq!(state(&runs, 10), "ok");
            assert_eq!(state(&runs, 129), "ok");
            assert!(state(&runs, 130).starts_with("violated since 130: item 0 runs"));
            assert_eq!(state(&idle, 131), "ok");
            assert_eq!(state(&runs, 132), "ok", "another run");
            let unmonitored = runs.clone().config(|config| config.monitor_execution = false);
            assert!(state(&unmonitored, 500).starts_with("unknown: runs are not recorded"));
        }
    }
}

#[test]
fn failed_runs_count_in_a_row_and_at_once() {
    let job = fresh(Job::rust(Dialect::V2));
    let kind = ConditionKind::Failures;
    let mut watched = Watched::new("failures = 3");
    let mut state = |job: &Job, seconds| watched.state(kind, Some(job), seconds);
    assert_eq!(state(&job, 0), "ok");
    let once = job.clone().ended(0, 2, "failed", 0, 1);
    assert_eq!(state(&once, 1), "ok");
    assert_eq!(state(&once, 2), "ok", "the same run counts once");
    let twice = job.clone().ended(0, 3, "timed_out", 10, 11);
    assert_eq!(state(&job.clone().running(0, 3, 10, Some("failed")), 10), "ok");
    assert_eq!(state(&twice, 11), "ok");
    let thrice = job.clone().ended(0, 4, "panicked", 20, 21);
    let expected = "violated since 1: the last 3 runs of item 0 (owner 10.0.0.1@-@1) failed: \
                    disk full";
    assert_eq!(state(&thrice, 21), expected);
    let interrupted = job.clone().ended(0, 5, "interrupted", 30, 31);
    assert_eq!(state(&interrupted, 31), expected, "an interruption changes nothing");
    assert_eq!(state(&job.clone().ended(0, 6, "succeeded", 40, 41), 41), "ok");

    let mut watched = Watched::new("failures = 1");
    let expected = "violated since 1: the last run of item 0 (owner 10.0.0.1@-@1) failed: \
                    disk full";
    assert_eq!(watched.state(kind, Some(&once), 1), expected);

    let mut watched = Watched::new("failures = 2");
    let both = once.ended(1, 2, "failed", 0, 7);
    assert_eq!(watched.state(kind, Some(&job), 0), "ok");
    let expected = "violated since 7: the last runs of items 0, 1 failed: disk full";
    assert_eq!(watched.state(kind, Some(&both), 8), expected);
    let java = Watched::new("failures = 2").state(kind, Some(&Job::java(Dialect::V3)), 8);
    assert!(java.starts_with("unknown: item 0 has no record"), "{java}");
}

#[test]
fn failed_runs_of_java_items_are_judged_by_the_history() {
    let ms = |seconds: i64| at(seconds).as_millisecond();
    let failed = |count, since, last| {
        FailedRuns::new(count, ms(since), ms(last), Some("no route".to_owned()))
    };
    let in_row =
        "violated since 5: the last 3 runs of item 0 (owner 10.0.0.1@-@1) failed: no route";
    for dialect in DIALECTS {
        let java = Job::java(dialect);
        let rust = fresh(Job::rust(dialect));
        let unmonitored = java.clone().config(|config| config.monitor_execution = false);
        let record_failed = java.clone().ended(0, 1, "failed", 1, 2);
        let record_newer = java.clone().ended(0, 1, "failed", 20, 25);
        // The job, successes and failed runs of items by the history, and the expected state.
        let rows = [
            ("successes", &java, &[(0, 9), (1, 9)][..], vec![], "ok"),
            ("in a row", &java, &[(0, 1), (1, 9)], vec![(0, failed(3, 5, 9))], in_row),
            ("never succeeded", &java, &[(1, 9)], vec![(0, failed(3, 5, 9))], in_row),
            ("too few", &java, &[(0, 1), (1, 9)], vec![(0, failed(1, 5, 5))], "ok"),
            (
                "two items at once",
                &java,
                &[],
                vec![(0, failed(1, 5, 5)), (1, failed(1, 7, 7))],
                "violated since 7: the last runs of items 0, 1 failed: no route",
            ),
            ("item without a run", &java, &[(0, 9)], vec![], "unknown: item 1 has no record"),
            ("no run", &java, &[], vec![], "unknown: item 0 has no record"),
            ("not monitored", &unmonitored, &[(1, 9)], vec![(0, failed(3, 5, 9))], in_row),
            ("Rust owns the items", &rust, &[(1, 9)], vec![(0, failed(3, 5, 9))], "ok"),
            (
                "the record failed before",
                &record_failed,
                &[(1, 9)],
                vec![(0, failed(1, 5, 5))],
                "violated since 2: the last 2 runs of item 0",
            ),
            ("succeeded after the record", &record_failed, &[(0, 9), (1, 9)], vec![], "ok"),
            (
                "the record failed after",
                &record_newer,
                &[(0, 9), (1, 9)],
                vec![(1, failed(1, 11, 11))],
                "violated since 25: the last runs of items 0, 1 failed",
            ),
        ];
        for (case, job, successes, failed, expected) in rows {
            let mut watched = Watched::new("failures = 2");
            let successes = successes.iter().map(|(item, time)| (*item, ms(*time))).collect();
            let facts = HistoryFacts::new(successes, ms(30)).failed(failed.into_iter().collect());
            watched.history = Some(facts);
            let found = watched.state(ConditionKind::Failures, Some(job), 30);
            assert!(found.starts_with(expected), "{case}: {found}, not {expected}");
        }
    }
}

/// A job with `overlap = parallel 2`, both items fresh.
fn parallel() -> Job {
    fresh(Job::rust(Dialect::V2)).config(|config| config.overlap = Some(Overlap::Parallel(2)))
}

/// The record of a further slot of an item, which is running or has ended.
fn in_slot(job: Job, slot: &str, (token, fire): (u64, i64), ended: Option<(&str, i64)>) -> Job {
    let mut record = json!({
        "v": 1, "token": token, "last": at(fire).as_millisecond(), "config": 0,
        "began": at(fire).as_millisecond(),
    });
    match ended {
        Some((outcome, ended)) => {
            record["state"] = "idle".into();
            record["outcome"] = outcome.into();
            record["ended"] = at(ended).as_millisecond().into();
            if outcome != "succeeded" {
                record["failure"] = "no space".into();
            }
        }
        None => {
            record["state"] = "running".into();
            record["holder"] = "10.0.0.1@-@1".into();
            record["fire"] = at(fire).as_millisecond().into();
            record["source"] = "NORMAL".into();
        }
    }
    job.slot_record(slot, &record)
}

#[test]
fn item_with_a_free_slot_is_late_although_it_runs() {
    let job = parallel().disabled(1);
    let one = job.clone().running(0, 2, -600, Some("succeeded"));
    let both = in_slot(one.clone(), "0.1", (1, -600), None);
    let rows: [Row<'_>; 2] = [
        ("a slot is free", one, 120, "violated since 120: item 0"),
        ("both slots run", both, 120, "ok"),
    ];
    check(ConditionKind::LateAfter, "late_after = \"2m\"", &job, &rows);
}

#[test]
fn oldest_run_of_an_item_must_not_take_longer() {
    let job = in_slot(parallel().running(1, 2, 60, None), "1.1", (1, 0), None);
    let rows: [Row<'_>; 2] = [
        ("both run", job.clone(), 119, "ok"),
        (
            "the run in slot 1 is older",
            job,
            120,
            "violated since 120: item 1.1 runs on 10.0.0.1@-@1 since 2024-02-29T12:00:00Z",
        ),
    ];
    check(ConditionKind::AtMost, "at_most = \"2m\"", &parallel(), &rows);
}

#[test]
fn failed_runs_in_all_slots_of_an_item_count_in_a_row() {
    let job = parallel();
    let mut watched = Watched::new("failures = 3");
    let mut state = |job: &Job, at| watched.state(ConditionKind::Failures, Some(job), at);
    assert_eq!(state(&job, 0), "ok");
    let once = in_slot(job, "0.1", (1, 0), Some(("failed", 1)));
    assert_eq!(state(&once, 1), "ok");
    let twice = once.ended(0, 2, "failed", 10, 11);
    assert_eq!(state(&twice, 11), "ok");
    assert_eq!(state(&twice, 12), "ok", "each run counts once");
    let thrice = in_slot(twice, "0.1", (2, 20), Some(("failed", 21)));
    let expected = "violated since 1: the last 3 runs of item 0 (owner 10.0.0.1@-@1) failed: \
                    no space";
    assert_eq!(state(&thrice, 21), expected);
    assert_eq!(state(&thrice.clone(), 22), expected);
    let succeeded = in_slot(thrice, "0.1", (3, 30), Some(("succeeded", 31)));
    assert_eq!(state(&succeeded, 31), "ok");
}

/// The history has no success of a Rust instance, so the row of failed runs that it shows may be
/// too long.
#[test]
fn success_of_a_rust_instance_ends_a_row_of_java_failures() {
    let ms = |seconds: i64| at(seconds).as_millisecond();
    let rows = [
        (5, 9, "ok"),
        (5, 30, "ok"),
        (25, 30, "violated since 25: the last 2 runs of item 0 (owner 10.0.0.1@-@1) failed"),
    ];
    for (since, last, expected) in rows {
        let mut watched = Watched::new("failures = 2");
        let rust = Job::rust(Dialect::V3).ended(0, 1, "succeeded", 10, 20);
        watched.see(Some(&rust), 20);
        let failed = [(0, FailedRuns::new(2, ms(since), ms(last), None))].into();
        let successes = [(1, ms(20))].into();
        watched.history = Some(HistoryFacts::new(successes, ms(40)).failed(failed));
        let java = Job::java(Dialect::V3).ended(0, 1, "succeeded", 10, 20);
        let found = watched.state(ConditionKind::Failures, Some(&java), 40);
        assert!(found.starts_with(expected), "{since} {last}: {found}, not {expected}");
    }
}

#[test]
fn takeover_is_no_second_failed_run() {
    let failed = Job::rust(Dialect::V2).ended(0, 1, "failed", 0, 1).disabled(1);
    let taken_over = json!({
        "v": 1, "state": "running", "holder": "10.0.0.1@-@1", "fire": 60_000, "outcome": "failed",
        "source": "FAILOVER", "token": 3, "last": 60_000, "began": at(90).as_millisecond(),
    });
    let mut watched = Watched::new("failures = 2");
    let mut state = |job: &Job, seconds| {
        let state = watched.state(ConditionKind::Failures, Some(job), seconds);
        state.starts_with("violated")
    };
    assert!(!state(&failed, 1));
    assert!(!state(&failed.clone().running(0, 2, 60, Some("failed")), 60));
    assert!(!state(&failed.clone().record(0, &taken_over), 90), "the run continues");
    assert!(state(&failed.ended(0, 3, "failed", 60, 95), 95));
}

#[test]
fn instances_must_live_and_a_short_gap_is_tolerated() {
    for job in [Job::rust(Dialect::V2), Job::java(Dialect::V3)] {
        let two = job.clone().instance(2, true);
        let mut watched = Watched::new("instances_at_least = 2\nfor = \"1m\"");
        let mut state = |job: &Job, s| watched.state(ConditionKind::InstancesAtLeast, Some(job), s);
        assert_eq!(state(&two, 0), "ok");
        assert_eq!(state(&job, 10), "pending until 70");
        assert_eq!(state(&two, 60), "ok");
        assert_eq!(state(&job, 65), "pending until 125");
        assert_eq!(state(&job.clone().killed(1), 100), "pending until 125");
        let expected = "violated since 65: 0 of at least 2 instances are alive";
        assert_eq!(state(&job.clone().killed(1), 125), expected);
    }
}

#[test]
fn absent_job_is_a_violation_of_its_own() {
    let mut watched = Watched::new("late_after = \"2m\"");
    let mut states = |job: Option<&Job>, seconds| {
        let found = watched.see(job, seconds).into_iter();
        found
            .map(|one| (one.expectation.as_str(), super::support::shown(&one.state)))
            .collect::<Vec<_>>()
    };
    let absent = "violated since 0: the namespace has no job of this name";
    let unknown = "unknown: the job does not exist";
    let expected = vec![("exists", absent.to_owned()), ("late_after", unknown.to_owned())];
    assert_eq!(states(None, 0), expected);
    assert_eq!(states(None, 500), expected);
    let job = fresh(Job::rust(Dialect::V2));
    assert_eq!(states(Some(&job), 550)[0], ("exists", "ok".to_owned()));
    assert_eq!(states(None, 600)[0].1, absent.replace("since 0", "since 600"));
}

#[test]
fn unreadable_configuration_is_unknown() {
    let job = fresh(Job::rust(Dialect::V2)).config(|config| config.cron = Some("x".to_owned()));
    for keys in ["late_after = \"2m\"", "failures = 1", "at_most = \"1m\""] {
        let found = Watched::new(keys).see(Some(&job), 700);
        let states: Vec<_> = found.iter().map(|one| one.state.as_str()).collect();
        assert_eq!(states, ["ok", "unknown"], "{keys}: {found:?}");
    }
}
