//! The judge on constructed evidence: each explanation is accepted, and each broken rule is found.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use chaos::evidence::{
    ConfigSpan, EventRow, Evidence, Fault, FaultKind, FireRow, JobFacts, Line, Phase,
};
use chaos::judge::{Judgement, judge};
use chaos::report::Report;

/// A whole minute, in milliseconds since 1970 UTC.
const T: i64 = 1_700_000_040_000;
const HOLDER: &str = "10.0.0.1@-@1-a";
const OTHER: &str = "10.0.0.2@-@2-b";

fn span(from_ms: i64, settled_ms: i64, cron: &str, total: u32) -> ConfigSpan {
    ConfigSpan { from_ms, settled_ms, cron: cron.to_owned(), total }
}

/// Returns begin and end of a run. By default, tokens increase with the fires.
fn run(item: u32, fire_ms: i64, token: u64, began_ms: i64, ended_ms: i64) -> [Line; 2] {
    let line = |phase, at_ms| Line {
        phase,
        at_ms,
        pid: u32::try_from(token).unwrap() * 10 + item,
        job: "a".to_owned(),
        item,
        fire_ms,
        token,
        source: "NORMAL".to_owned(),
        instance: HOLDER.to_owned(),
    };
    [line(Phase::Begin, began_ms), line(Phase::End, ended_ms)]
}

/// Returns the evidence of job `a` with two items and a fire each second, from T to T + 9 s; all
/// fires ran.
fn all_ran() -> Evidence {
    let fires = (0..10).flat_map(|n| (0..2).map(move |item| (n, item)));
    let lines = fires.flat_map(|(n, item)| {
        let fire_ms = T + n * 1_000;
        run(item, fire_ms, u64::try_from(n).unwrap() + 1, fire_ms + 10, fire_ms + 200)
    });
    Evidence {
        seed: 1,
        first_ms: T,
        last_ms: T + 9_000,
        jobs: vec![JobFacts {
            name: "a".to_owned(),
            monitored: true,
            failover: false,
            configs: vec![span(i64::MIN, i64::MIN, "* * * * * ?", 2)],
        }],
        lines: lines.collect(),
        ..Evidence::default()
    }
}

/// Returns [`all_ran`] without the run of item 1 at T + 4 s.
fn one_did_not_run() -> Evidence {
    let mut evidence = all_ran();
    evidence.lines.retain(|line| (line.item, line.fire_ms) != (1, T + 4_000));
    evidence
}

fn row(fire_ms: i64, outcome: &str) -> FireRow {
    FireRow {
        worker: "10.0.0.2".to_owned(),
        job: "a".to_owned(),
        item: 1,
        fire_ms,
        outcome: outcome.to_owned(),
        reason: None,
        source: None,
        token: None,
        instance: None,
        began_ms: None,
        gap_until_ms: None,
    }
}

fn event(kind: &str, item: Option<u32>, fire_ms: i64, instance: &str) -> EventRow {
    EventRow {
        worker: "10.0.0.2".to_owned(),
        at_ms: fire_ms,
        job: "a".to_owned(),
        instance: Some(instance.to_owned()),
        kind: kind.to_owned(),
        item,
        fire_ms: Some(fire_ms),
        text: kind.to_owned(),
    }
}

fn verdict(evidence: &Evidence) -> Judgement {
    judge(evidence).unwrap()
}

#[test]
fn fires_that_all_ran_are_clean() {
    let judgement = verdict(&all_ran());
    assert!(judgement.is_clean(), "{judgement:#?}");
    let tally = &judgement.tallies[0];
    assert_eq!((tally.due, tally.ran, tally.recorded), (20, 20, 0));
}

#[test]
fn unexplained_fire_is_found_and_shown_with_its_neighbourhood() {
    let mut evidence = one_did_not_run();
    evidence.faults.push(Fault {
        kind: FaultKind::Stop,
        target: "10.0.0.1".to_owned(),
        from_ms: T + 3_500,
        until_ms: T + 4_500,
    });
    let judgement = verdict(&evidence);
    assert!(!judgement.is_clean());
    let found: Vec<_> =
        judgement.unexplained.iter().map(|fire| (fire.item, fire.fire_ms)).collect();
    assert_eq!(found, [(1, T + 4_000)]);
    assert_eq!(judgement.tallies[0].unexplained, 1);
    let text = Report { evidence: &evidence, judgement: &judgement, in_full: true }.to_string();
    for part in ["| a | 20 | 19 | 0 | 0 | 1 |", "unexplained: a item 1", "SIGSTOP 10.0.0.1"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn each_record_explains_a_fire_that_did_not_run() {
    let fire = T + 4_000;
    let outcomes = ["missed", "misfired", "gap", "orphaned", "interrupted", "failed", "succeeded"];
    for outcome in outcomes {
        let mut evidence = one_did_not_run();
        evidence.rows.push(row(fire, outcome));
        let judgement = verdict(&evidence);
        assert!(judgement.is_clean(), "{outcome}: {judgement:#?}");
        assert_eq!(judgement.tallies[0].recorded, 1, "{outcome}");
    }
    for kind in ["missed", "misfire_noted", "orphaned"] {
        let mut evidence = one_did_not_run();
        evidence.events.push(event(kind, Some(1), fire, OTHER));
        assert!(verdict(&evidence).is_clean(), "{kind}");
    }
}

#[test]
fn orphaned_run_of_a_job_with_failover_must_be_taken_over_or_ended() {
    let fire = T + 4_000;
    for is_row in [true, false] {
        let with_failover = || {
            let mut evidence = one_did_not_run();
            evidence.jobs[0].failover = true;
            if is_row {
                evidence.rows.push(row(fire, "orphaned"));
            } else {
                evidence.events.push(event("orphaned", Some(1), fire, OTHER));
            }
            evidence
        };
        assert_eq!(verdict(&with_failover()).unexplained.len(), 1);
        let mut without_failover = with_failover();
        without_failover.jobs[0].failover = false;
        assert!(verdict(&without_failover).is_clean());
        let mut ended = with_failover();
        ended.rows.push(row(fire, "interrupted"));
        assert!(verdict(&ended).is_clean());
        let mut taken_over = with_failover();
        taken_over.lines.extend(run(1, fire, 5, fire + 100, fire + 200));
        assert!(verdict(&taken_over).is_clean());
        let mut removed = with_failover();
        removed.jobs[0].configs.push(span(T + 4_500, T + 5_000, "* * * * * ?", 1));
        assert!(verdict(&removed).is_clean());
        let mut removed_before = with_failover();
        let configs = &mut removed_before.jobs[0].configs;
        configs.insert(0, span(T - 9_000, T - 8_000, "* * * * * ?", 1));
        configs[1] = span(T - 5_000, T - 4_000, "* * * * * ?", 2);
        assert_eq!(verdict(&removed_before).unexplained.len(), 1);
    }
}

#[test]
fn gap_explains_its_fires_up_to_its_exclusive_end() {
    let rows = [
        ("gap around the fire", T + 3_000, T + 5_000, true),
        ("gap from the fire on", T + 4_000, T + 5_000, true),
        ("gap up to the fire", T + 3_000, T + 4_000, false),
        ("gap after the fire", T + 5_000, T + 6_000, false),
    ];
    for (case, first, until, expected) in rows {
        let mut evidence = one_did_not_run();
        evidence.rows.push(FireRow { gap_until_ms: Some(until), ..row(first, "gap") });
        assert_eq!(verdict(&evidence).is_clean(), expected, "{case}");
    }
}

#[test]
fn records_of_other_items_jobs_and_fires_explain_nothing() {
    let fire = T + 4_000;
    let mut evidence = one_did_not_run();
    evidence.rows = vec![
        row(T + 5_000, "missed"),
        FireRow { item: 0, ..row(fire, "missed") },
        FireRow { job: "b".to_owned(), ..row(fire, "missed") },
        // The claimed run was lost, and no instance noticed.
        row(fire, "running"),
    ];
    evidence.events = vec![
        event("missed", Some(0), fire, HOLDER),
        event("missed", Some(1), T + 5_000, HOLDER),
        event("joined", Some(1), fire, HOLDER),
    ];
    assert_eq!(verdict(&evidence).unexplained.len(), 1);
}

#[test]
fn miss_without_an_item_concerns_the_items_of_its_server() {
    let fire = T + 4_000;
    for (instance, expected) in [(HOLDER, true), ("10.0.0.1@-@9-z", true), (OTHER, false)] {
        let mut evidence = one_did_not_run();
        evidence.events.push(event("missed", None, fire, instance));
        assert_eq!(verdict(&evidence).is_clean(), expected, "{instance}");
    }
}

#[test]
fn instance_that_reported_on_an_item_counts_as_its_owner() {
    let fire = T + 4_000;
    let mut evidence = one_did_not_run();
    evidence.events.push(event("missed", None, fire, OTHER));
    // The leader, not the owner, writes that a run is orphaned.
    evidence
        .events
        .push(EventRow { at_ms: T + 3_600, ..event("orphaned", Some(1), T + 3_000, OTHER) });
    assert_eq!(verdict(&evidence).unexplained.len(), 1);
    evidence
        .events
        .push(EventRow { at_ms: T + 3_700, ..event("misfire_noted", Some(1), T + 3_000, OTHER) });
    assert!(verdict(&evidence).is_clean());
}

#[test]
fn owner_is_found_by_the_starts_of_runs_not_by_their_fires() {
    let fire = T + 4_000;
    let mut evidence = one_did_not_run();
    evidence.events.push(event("missed", None, fire, OTHER));
    assert_eq!(verdict(&evidence).unexplained.len(), 1);
    // The other instance runs the misfire of an earlier fire right after it.
    let mut misfire = run(1, T + 3_000, 30, fire + 100, fire + 200);
    for line in &mut misfire {
        (line.source, line.instance) = ("MISFIRE".to_owned(), OTHER.to_owned());
    }
    evidence.lines.extend(misfire);
    assert_eq!(verdict(&evidence).unexplained, []);
    // A takeover proves nothing about the owner.
    for line in evidence.lines.iter_mut().filter(|line| line.source == "MISFIRE") {
        line.source = "FAILOVER".to_owned();
    }
    assert_eq!(verdict(&evidence).unexplained.len(), 1);
}

#[test]
fn item_that_may_not_have_existed_needs_no_explanation() {
    let mut evidence = all_ran();
    // A command adds item 1 from T + 3.5 s on; it certainly exists at T + 5.5 s.
    evidence.jobs[0].configs = vec![
        span(i64::MIN, i64::MIN, "* * * * * ?", 1),
        span(T + 3_500, T + 5_500, "* * * * * ?", 2),
    ];
    evidence.lines.retain(|line| line.item == 0 || line.fire_ms > T + 5_000);
    let judgement = verdict(&evidence);
    assert!(judgement.is_clean(), "{judgement:#?}");
    assert_eq!((judgement.tallies[0].due, judgement.tallies[0].not_there), (16, 2));
    evidence.lines.retain(|line| line.item == 0 || line.fire_ms > T + 6_000);
    assert_eq!(verdict(&evidence).unexplained.len(), 1, "item 1 existed at T + 6 s");
}

#[test]
fn fires_of_both_schedules_are_possible_during_a_change() {
    let mut evidence = all_ran();
    evidence.jobs[0].configs = vec![
        span(i64::MIN, i64::MIN, "* * * * * ?", 2),
        span(T + 3_500, T + 5_500, "0/2 * * * * ?", 2),
    ];
    // Odd seconds are due before the change, and may be due while it takes effect.
    evidence.lines.retain(|line| (line.fire_ms - T) % 2_000 == 0 || line.fire_ms < T + 4_000);
    let judgement = verdict(&evidence);
    assert!(judgement.is_clean(), "{judgement:#?}");
    assert_eq!(judgement.tallies[0].not_there, 2, "T + 5 s, two items");
    evidence.lines.retain(|line| line.fire_ms != T + 3_000);
    assert_eq!(verdict(&evidence).unexplained.len(), 2, "T + 3 s was due by both schedules");
}

#[test]
fn fires_without_monitoring_are_counted_and_not_judged() {
    let mut evidence = one_did_not_run();
    evidence.jobs[0].monitored = false;
    let judgement = verdict(&evidence);
    assert!(judgement.is_clean());
    assert_eq!(judgement.tallies[0].unexplained, 1);
}

#[test]
fn evidence_without_a_due_fire_has_no_verdict() {
    let mut evidence = all_ran();
    (evidence.first_ms, evidence.last_ms) = (T + 100, T + 200);
    assert!(judge(&evidence).unwrap_err().contains("nothing to judge"));
}

fn violations(evidence: &Evidence) -> Vec<String> {
    verdict(evidence).violations
}

#[test]
fn second_claim_of_a_fire_from_the_schedule_is_a_violation() {
    let mut evidence = all_ran();
    evidence.lines.extend(run(1, T + 4_000, 50, T + 9_500, T + 9_600));
    let found = violations(&evidence);
    assert!(found.iter().any(|text| text.contains("was claimed from the schedule")), "{found:?}");
    // A takeover is another source.
    for line in evidence.lines.iter_mut().filter(|line| line.token == 50) {
        line.source = "FAILOVER".to_owned();
    }
    assert_eq!(violations(&evidence), Vec::<String>::new());
}

#[test]
fn two_recorded_successes_of_a_fire_are_a_violation() {
    let mut evidence = all_ran();
    let success = |token| FireRow {
        source: Some("FAILOVER".to_owned()),
        token: Some(token),
        ..row(T + 4_000, "succeeded")
    };
    evidence.rows = vec![success(5), success(5)];
    assert_eq!(violations(&evidence), Vec::<String>::new(), "one run in two histories");
    evidence.rows = vec![success(5), success(6)];
    let found = violations(&evidence);
    assert!(found.iter().any(|text| text.contains("recorded as succeeded")), "{found:?}");
}

/// Returns a fault of the server that ran item 1, from T + 2 s to T + 5 s.
fn fault(kind: FaultKind, target: &str) -> Fault {
    Fault { kind, target: target.to_owned(), from_ms: T + 2_000, until_ms: T + 5_000 }
}

#[test]
fn token_that_does_not_increase_is_a_violation_unless_its_holder_was_stopped() {
    let mut evidence = all_ran();
    // The run with token 4 starts after the one with token 5.
    for line in &mut evidence.lines {
        if (line.item, line.fire_ms) == (1, T + 3_000) {
            line.at_ms += 1_500;
        }
    }
    let found = violations(&evidence);
    assert!(found.iter().any(|text| text.contains("the token did not increase")), "{found:?}");
    evidence.faults.push(fault(FaultKind::Stop, "10.0.0.1"));
    assert_eq!(violations(&evidence), Vec::<String>::new());
}

#[test]
fn token_that_starts_twice_is_always_a_violation() {
    let mut evidence = all_ran();
    let mut again = run(1, T + 4_000, 5, T + 4_600, T + 4_700);
    again.iter_mut().for_each(|line| line.pid = 9_999);
    evidence.lines.extend(again);
    evidence.faults.push(fault(FaultKind::Kill, "10.0.0.1"));
    let found = violations(&evidence);
    assert!(found.iter().any(|text| text.contains("the token did not increase")), "{found:?}");
}

#[test]
fn runs_overlap_only_after_a_fault_of_the_first_holder_and_for_a_bounded_time() {
    let rows = [
        ("no fault", 500, None, false),
        ("killed", 500, Some(fault(FaultKind::Kill, "10.0.0.1")), true),
        ("stopped", 500, Some(fault(FaultKind::Stop, "10.0.0.1")), true),
        ("outage", 500, Some(fault(FaultKind::Outage, "all")), true),
        ("another worker", 500, Some(fault(FaultKind::Kill, "10.0.0.2")), false),
        ("terminated", 500, Some(fault(FaultKind::Terminate, "10.0.0.1")), false),
        ("one server down", 500, Some(fault(FaultKind::ServerDown, "1")), false),
        ("too long an overlap", 60_000, Some(fault(FaultKind::Stop, "10.0.0.1")), false),
    ];
    for (case, overlap, fault, expected) in rows {
        let mut evidence = all_ran();
        evidence.lines.retain(|line| line.item == 0 || line.fire_ms <= T + 4_000);
        evidence.jobs[0].configs[0].total = 1;
        // The run of T + 4 s of item 1 goes on while a takeover of it starts.
        for line in &mut evidence.lines {
            if (line.item, line.fire_ms, line.phase) == (1, T + 4_000, Phase::End) {
                line.at_ms = T + 8_000 + overlap;
            }
        }
        let mut takeover = run(1, T + 4_000, 6, T + 8_000, T + 100_000);
        for line in &mut takeover {
            (line.source, line.instance) = ("FAILOVER".to_owned(), OTHER.to_owned());
        }
        evidence.lines.extend(takeover);
        evidence.faults.extend(fault);
        let judgement = verdict(&evidence);
        assert_eq!(judgement.is_clean(), expected, "{case}: {:#?}", judgement.violations);
        assert_eq!(judgement.overlaps, usize::from(expected), "{case}");
    }
}

#[test]
fn close_unexplained_fires_of_an_item_are_one_group() {
    let mut evidence = all_ran();
    evidence.last_ms = T + 40_000;
    evidence.jobs[0].configs = vec![span(i64::MIN, i64::MIN, "0/5 * * * * ?", 2)];
    // Item 0 ran at T and T + 5 s only, item 1 also from T + 10 s to T + 25 s.
    for (token, seconds) in [(20, 10), (21, 15), (22, 20), (23, 25)] {
        let fire_ms = T + seconds * 1_000;
        evidence.lines.extend(run(1, fire_ms, token, fire_ms + 10, fire_ms + 20));
    }
    evidence.lines.retain(|line| (line.item, line.fire_ms) != (1, T));
    let groups = verdict(&evidence).groups();
    let found: Vec<_> = groups
        .iter()
        .map(|group| {
            let seconds = group.fires_ms.iter().map(|ms| (ms - T) / 1_000);
            (group.item, seconds.collect::<Vec<_>>())
        })
        .collect();
    let item_0 = (0, vec![10, 15, 20, 25, 30, 35, 40]);
    assert_eq!(found, [item_0, (1, vec![0]), (1, vec![30, 35, 40])]);
}

#[test]
fn incident_of_the_harness_is_a_violation() {
    let mut evidence = all_ran();
    evidence.incidents.push("10.0.0.1 panicked".to_owned());
    assert_eq!(violations(&evidence), ["10.0.0.1 panicked"]);
}
