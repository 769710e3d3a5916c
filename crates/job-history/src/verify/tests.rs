//! The judge, with handmade histories: each rule decides a row.

use std::sync::Arc;

use coordination::{
    FencingToken, FireRange, FireTime, Gap, GroupName, JobConfig, JobName, Ledger, RunSource,
    StartRate,
};
use operations::ConfigPeriod;
use reg_center::{Node, NodePath, Revision, Stat, Version};
use sharding::InstanceId;

use super::evidence::{Carried, RecordedGap};
use super::*;
use crate::{CompletedRun, DropRecord, FireOutcome, FireRecord};

/// 2024-02-29 12:00 UTC, in milliseconds.
const NOON: i64 = 1_709_208_000_000;
/// Period of the fires of the job, in milliseconds.
const MINUTE: i64 = 60_000;

fn at(minute: i64) -> Timestamp {
    evidence::time(NOON + minute * MINUTE)
}

fn id(name: &str) -> InstanceId {
    InstanceId::new(format!("10.0.0.1@-@{name}"))
}

/// A fire of item 0 that succeeded.
fn record(minute: i64) -> FireRecord {
    FireRecord {
        job: "report".to_owned(),
        item: sharding::ShardingItem::new(0),
        fire: at(minute),
        outcome: FireOutcome::new("succeeded"),
        reason: None,
        source: Some(RunSource::Normal),
        token: Some(FencingToken(1)),
        instance: Some(id("a")),
        began: Some(at(minute)),
        ended: Some(at(minute)),
        former_holder: None,
        gap_until: None,
        gap_count: None,
        failover: false,
        first_completed: Some(completed(1, "a")),
        last_completed: Some(completed(1, "a")),
        past_fire: None,
    }
}

fn completed(token: u64, instance: &str) -> CompletedRun {
    CompletedRun { token: FencingToken(token), instance: id(instance) }
}

/// A fire that was not run, or whose run has no end.
fn without_run(minute: i64, outcome: &str, reason: &str) -> FireRecord {
    FireRecord {
        outcome: FireOutcome::new(outcome),
        reason: Some(reason.to_owned()),
        source: None,
        token: None,
        instance: None,
        began: None,
        ended: None,
        first_completed: None,
        last_completed: None,
        ..record(minute)
    }
}

fn began(minute: i64, outcome: &str) -> FireRecord {
    FireRecord {
        outcome: FireOutcome::new(outcome),
        ended: None,
        first_completed: None,
        last_completed: None,
        ..record(minute)
    }
}

/// A job with one item and a fire each minute, since ever.
fn period(change: impl FnOnce(&mut JobConfig)) -> ConfigPeriod {
    let mut config = JobConfig::new(JobName::new("report").unwrap(), 1);
    config.cron = Some("0 * * * * ?".to_owned());
    change(&mut config);
    ConfigPeriod::new(None, None, Ok(Arc::new(config)))
}

/// Facts of a history and a registry.
struct Facts {
    configs: Vec<ConfigPeriod>,
    registry: RegistryFacts,
    background: Background,
    evidence: evidence::Evidence,
}

impl Facts {
    /// A registry that has settled all fires, an hour later.
    fn of(records: Vec<FireRecord>) -> Self {
        let mut evidence = evidence::Evidence::default();
        evidence.extend(records);
        let settled = Ledger::new(Some(FireTime(NOON + 90 * MINUTE)));
        let registry = RegistryFacts {
            records: [(0, settled)].into(),
            now_ms: NOON + 60 * MINUTE,
            grace_ms: 10_000,
            ..RegistryFacts::default()
        };
        let configs = vec![period(|_| ())];
        Self { configs, registry, background: Background::default(), evidence }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn with_record(self, change: impl FnOnce(Ledger) -> Ledger) -> Self {
        self.with(|it| {
            it.registry.records.insert(0, change(Ledger::new(Some(FireTime(NOON - MINUTE)))));
        })
    }

    /// Returns the verdicts of the fires from noon to before the minute.
    fn judged(&self, minutes: i64) -> Vec<JudgedFire> {
        let period = (NOON, NOON + minutes * MINUTE);
        let expected = Expected::of(&self.configs, period, Some(NOON - 10 * MINUTE)).unwrap();
        let Self { registry, background, evidence, .. } = self;
        Judge { expected: &expected, registry, background, evidence }.fires(period).unwrap()
    }

    /// Returns the verdict of the fire at noon, and its reason.
    fn ruling(&self) -> (Verdict, String) {
        let judged = self.judged(1);
        let fire = judged.iter().find(|fire| fire.fire == at(0)).expect("the fire is judged");
        (fire.verdict, fire.reason.clone().unwrap_or_default())
    }
}

fn check(rows: impl IntoIterator<Item = (Facts, Verdict, &'static str)>) {
    for (facts, verdict, reason) in rows {
        let found = facts.ruling();
        assert_eq!(found, (verdict, reason.to_owned()), "{:?}", facts.evidence.records);
    }
}

#[test]
fn ended_run_is_run_with_its_notes() {
    let failed = FireRecord {
        outcome: FireOutcome::new("failed"),
        reason: Some("the disk is full".to_owned()),
        former_holder: Some(id("b")),
        ..record(0)
    };
    check([
        (Facts::of(vec![record(0)]), Verdict::Run, ""),
        (Facts::of(vec![failed]), Verdict::Run, "taken over from 10.0.0.1@-@b; the disk is full"),
        (
            Facts::of(vec![FireRecord { outcome: FireOutcome::running(), ..record(0) }]),
            Verdict::Run,
            "the code has ended; the history has no proof that the registry recorded it",
        ),
    ]);
}

#[test]
fn each_outcome_of_this_version_has_a_verdict() {
    for word in FireOutcome::words() {
        let (_, reason) = Facts::of(vec![began(0, word)]).ruling();
        assert!(!reason.contains("later version"), "{word}: {reason}");
    }
    let (verdict, reason) = Facts::of(vec![began(0, "sung")]).ruling();
    let later = "sung is an outcome of a later version";
    assert_eq!((verdict, reason.as_str()), (Verdict::Unexplained, later));
    assert_eq!(Facts::of(vec![began(0, "cancelled")]).ruling().0, Verdict::Run);
}

#[test]
fn two_completed_runs_are_run_twice_whatever_the_outcome() {
    let twice = |outcome| FireRecord {
        outcome: FireOutcome::new(outcome),
        last_completed: Some(completed(2, "b")),
        ..record(0)
    };
    let reason = "completed by 10.0.0.1@-@a with token 1 and by 10.0.0.1@-@b with token 2";
    check([
        (Facts::of(vec![twice("succeeded")]), Verdict::RunTwice, reason),
        (Facts::of(vec![twice("running")]), Verdict::RunTwice, reason),
    ]);
}

#[test]
fn recorded_reasons_of_missed_fires_are_kept() {
    let gap = |minute, until| FireRecord {
        gap_until: Some(at(until)),
        ..without_run(minute, "gap", "no instance lived")
    };
    let carried = RecordedGap::of(&gap(-5, 1)).unwrap();
    let over = RecordedGap::of(&gap(-5, 0)).unwrap();
    let unknown = "the history has no record of it; the registry shows later fires of the item";
    let lost = "the holder 10.0.0.1@-@b is gone; the run is not taken over";
    check([
        (
            Facts::of(vec![without_run(0, "missed", "the item is disabled")]),
            Verdict::Missed,
            "the item is disabled",
        ),
        (Facts::of(vec![gap(0, 9)]), Verdict::Missed, "no instance lived"),
        (
            Facts::of(vec![]).with(|it| {
                it.evidence = after([(0, vec![carried])]);
            }),
            Verdict::Missed,
            "no instance lived",
        ),
        (
            Facts::of(vec![]).with(|it| {
                it.evidence = after([(0, vec![over])]);
            }),
            Verdict::Unexplained,
            unknown,
        ),
        (Facts::of(vec![without_run(0, "orphaned", lost)]), Verdict::Run, lost),
    ]);
}

fn after<const N: usize>(gaps: [(u32, Vec<RecordedGap>); N]) -> evidence::Evidence {
    evidence::Evidence::after(Carried::of_gaps(gaps.into()))
}

#[test]
fn instance_that_missed_all_its_items_explains_only_items_that_it_ran() {
    let report = |it: &mut Facts| {
        let of_fire = [(id("a"), "the instance is paused".to_owned())];
        it.evidence.reports.insert(NOON, of_fire.into());
    };
    let run_by = |minute, instance| FireRecord { instance: Some(id(instance)), ..record(minute) };
    let taken = |minute| FireRecord { source: Some(RunSource::Failover), ..run_by(minute, "a") };
    let other_item =
        |minute| FireRecord { item: sharding::ShardingItem::new(7), ..run_by(minute, "a") };
    let missed = "an instance missed it: the instance is paused";
    let unknown = "the history has no record of it; no run shows that the item was of an instance \
                   that missed it; the registry shows later fires of the item";
    let rows = [
        (vec![run_by(-1, "a"), run_by(1, "b")], Verdict::Missed, missed),
        (vec![run_by(-1, "b"), run_by(1, "a")], Verdict::Missed, missed),
        (vec![run_by(-2, "a"), run_by(-1, "b"), run_by(1, "b")], Verdict::Unexplained, unknown),
        (vec![run_by(-2, "a"), taken(-1), run_by(1, "b")], Verdict::Missed, missed),
        (vec![run_by(-2, "b"), taken(-1), run_by(1, "b")], Verdict::Unexplained, unknown),
        (vec![other_item(-1), other_item(1)], Verdict::Unexplained, unknown),
    ];
    check(rows.map(|(records, verdict, text)| (Facts::of(records).with(report), verdict, text)));
}

#[test]
fn misfired_fire_needs_a_later_run_of_the_item() {
    let misfired = || without_run(0, "misfired", "the item was still running");
    let earlier_run = FireRecord { began: Some(at(-1)), ..record(2) };
    let other_item = FireRecord { item: sharding::ShardingItem::new(7), ..record(2) };
    let manual = FireRecord { source: Some(RunSource::Manual), ..record(2) };
    let backfill = FireRecord { source: Some(RunSource::Backfill), ..record(2) };
    let taken_over = FireRecord {
        source: Some(RunSource::Failover),
        fire: evidence::time(NOON + MINUTE + 1),
        ..record(2)
    };
    let noted = |it: Ledger| Ledger {
        misfire: Some(FireRange { first: FireTime(NOON), last: FireTime(NOON), count: 1 }),
        ..it
    };
    let queued = |it: Ledger| Ledger { queued: vec![FireTime(NOON)], ..noted(it) };
    let stands = "the item was still running; its run of 2024-02-29T12:02:00Z stands for this fire";
    let nothing = "the item was still running, and no later run of the item is recorded";
    check([
        (Facts::of(vec![misfired(), record(2)]), Verdict::Missed, stands),
        (
            Facts::of(vec![misfired()]).with(|it| {
                it.evidence.later_runs.insert(0, record(2));
            }),
            Verdict::Missed,
            stands,
        ),
        (Facts::of(vec![misfired(), earlier_run]), Verdict::Unexplained, nothing),
        (Facts::of(vec![misfired(), other_item]), Verdict::Unexplained, nothing),
        (Facts::of(vec![misfired(), manual]), Verdict::Unexplained, nothing),
        (Facts::of(vec![misfired(), backfill]), Verdict::Unexplained, nothing),
        (Facts::of(vec![misfired(), taken_over.clone()]), Verdict::Unexplained, nothing),
        (Facts::of(vec![misfired(), taken_over, record(2)]), Verdict::Missed, stands),
        (
            Facts::of(vec![misfired(), record(2)]).with_record(queued),
            Verdict::Open,
            "the item was still running; the fire waits for the end of that run",
        ),
        (
            Facts::of(vec![misfired()]).with_record(noted),
            Verdict::Open,
            "the item was still running; the fire waits for the end of that run",
        ),
    ]);
}

#[test]
fn queued_fire_needs_a_run_of_its_own() {
    let misfired = || without_run(0, "misfired", "the item was still running");
    let queue = |from: Option<i64>, until: Option<i64>| {
        let mut period = period(|config| config.overlap = coordination::Overlap::parse("queue 3"));
        (period.from, period.until) = (from.map(at), until.map(at));
        period
    };
    let merge = |from: i64| {
        let mut period = period(|_| ());
        period.from = Some(at(from));
        period
    };
    let with = |configs: Vec<ConfigPeriod>| {
        Facts::of(vec![misfired(), record(2)]).with(|it| it.configs = configs)
    };
    let own = "the item was still running; the fire waited for a run of its own, and none is \
               recorded";
    let stands = "the item was still running; its run of 2024-02-29T12:02:00Z stands for this fire";
    let later_queued = |it: Ledger| Ledger {
        misfire: Some(FireRange {
            first: FireTime(NOON - MINUTE),
            last: FireTime(NOON + MINUTE),
            count: 2,
        }),
        queued: vec![FireTime(NOON - MINUTE), FireTime(NOON + MINUTE)],
        ..it
    };
    check([
        (with(vec![queue(None, None)]), Verdict::Unexplained, own),
        (with(vec![queue(None, Some(1)), queue(Some(1), None)]), Verdict::Unexplained, own),
        (with(vec![queue(None, None)]).with_record(later_queued), Verdict::Unexplained, own),
        // One run stands for all waiting fires once the job has no queue any more.
        (with(vec![queue(None, Some(1)), merge(1)]), Verdict::Missed, stands),
    ]);
}

#[test]
fn fire_that_a_backfill_ran_later_is_run_with_the_reason_of_its_miss() {
    let of_noon = |record: FireRecord| FireRecord {
        fire: evidence::time(NOON + 30 * MINUTE + 1),
        source: Some(RunSource::Backfill),
        past_fire: Some(at(0)),
        ..record
    };
    let missed = || vec![without_run(0, "missed", "the item is disabled")];
    let with = |records: Vec<FireRecord>, backfills: Vec<FireRecord>| {
        Facts::of(records).with(|it| it.evidence.extend_backfills(backfills))
    };
    let failed = FireRecord {
        outcome: FireOutcome::new("failed"),
        reason: Some("the disk is full".to_owned()),
        ..record(0)
    };
    let other_item = FireRecord { item: sharding::ShardingItem::new(7), ..of_noon(record(0)) };
    let unknown = "a backfill ran it later, at 2024-02-29T12:30:00.001Z; the history has no record \
                   of it; the registry shows later fires of the item";
    check([
        (
            with(missed(), vec![of_noon(record(0))]),
            Verdict::Run,
            "a backfill ran it later, at 2024-02-29T12:30:00.001Z; the item is disabled",
        ),
        (
            with(missed(), vec![of_noon(failed.clone()), of_noon(began(0, "running"))]),
            Verdict::Run,
            "a backfill ran it later, at 2024-02-29T12:30:00.001Z; the disk is full; the item is \
             disabled",
        ),
        (with(vec![], vec![of_noon(record(0))]), Verdict::Run, unknown),
        // A run of its own needs no backfill, and a lost run of a backfill explains nothing.
        (with(vec![record(0)], vec![of_noon(failed)]), Verdict::Run, ""),
        (
            with(missed(), vec![of_noon(began(0, "running"))]),
            Verdict::Missed,
            "the item is disabled",
        ),
        (with(missed(), vec![other_item]), Verdict::Missed, "the item is disabled"),
    ]);
}

#[test]
fn run_without_an_end_is_open_only_while_the_registry_shows_it() {
    let claimed = |fire: i64| {
        move |it: Ledger| {
            let by = coordination::Claimant { holder: id("a"), config: Version(0), now_ms: NOON };
            it.claim(&by, FireTime(fire), None).unwrap()
        }
    };
    let orphaned = |it: Ledger| claimed(NOON)(it).orphan().unwrap();
    let waits = FireRecord {
        failover: true,
        former_holder: Some(id("b")),
        ..without_run(0, "orphaned", "the holder is gone")
    };
    check([
        (
            Facts::of(vec![began(0, "running")]).with_record(claimed(NOON)),
            Verdict::Open,
            "it is running on 10.0.0.1@-@a",
        ),
        (
            Facts::of(vec![began(0, "running")]).with_record(claimed(NOON + MINUTE)),
            Verdict::Unexplained,
            "no end of the run on 10.0.0.1@-@a is recorded: the registry does not show the run any more",
        ),
        (
            Facts::of(vec![began(0, "running")]).with_record(claimed(NOON + MINUTE)).with(|it| {
                let of_slot = claimed(NOON)(Ledger::new(None));
                it.registry.further_slots.insert(0, vec![of_slot]);
            }),
            Verdict::Open,
            "it is running on 10.0.0.1@-@a",
        ),
        (
            Facts::of(vec![waits.clone()]).with_record(orphaned),
            Verdict::Open,
            "10.0.0.1@-@a is gone; its run waits for a takeover",
        ),
        (
            Facts::of(vec![waits]),
            Verdict::Unexplained,
            "no end of the run on 10.0.0.1@-@b is recorded: the holder is gone",
        ),
    ]);
}

#[test]
fn registry_explains_fires_that_no_instance_has_claimed() {
    let paused = |it: &mut Facts| it.registry.why = Some("all servers are paused".to_owned());
    let since = "the last fire that the registry has settled is 2024-02-29T11:59:00Z";
    let gap = |it: Ledger| Ledger {
        last_fire: Some(FireTime(NOON + 9 * MINUTE)),
        gaps: vec![Gap {
            first: FireTime(NOON),
            until: FireTime(NOON + MINUTE),
            count: None,
            config: None,
            changed_to: None,
        }],
        ..it
    };
    let rows = [
        (
            Facts::of(vec![]).with_record(gap),
            Verdict::Missed,
            "no instance ran it, as the record of the item in the registry shows".to_owned(),
        ),
        (
            Facts::of(vec![]).with_record(|it| it).with(paused),
            Verdict::Missed,
            format!("{since}; now all servers are paused"),
        ),
        (
            Facts::of(vec![]).with_record(|it| Ledger { disabled: true, ..it }),
            Verdict::Missed,
            format!("{since}; now the item is disabled"),
        ),
        (
            Facts::of(vec![]).with_record(|it| it),
            Verdict::Unexplained,
            format!("{since}, and no reason is on record"),
        ),
        (
            Facts::of(vec![]).with_record(|it| it).with(|it| it.registry.now_ms = NOON + 9_000),
            Verdict::Open,
            "it is due now".to_owned(),
        ),
    ];
    for (facts, verdict, reason) in rows {
        assert_eq!(facts.ruling(), (verdict, reason));
    }
}

#[test]
fn fire_that_waits_for_a_limit_is_open_until_the_next_fire() {
    let waits = |last: i64| {
        Facts::of(vec![]).with_record(|it| it).with(|it| {
            it.registry.limit = Some("waits for a permit of the job".to_owned());
            it.registry.last_fire_ms = Some(NOON + last * MINUTE);
        })
    };
    let paused = |it: &mut Facts| it.registry.why = Some("all servers are paused".to_owned());
    check([
        (
            waits(0),
            Verdict::Open,
            "the last fire that the registry has settled is 2024-02-29T11:59:00Z; waits for a \
             permit of the job",
        ),
        (
            waits(1),
            Verdict::Unexplained,
            "the last fire that the registry has settled is 2024-02-29T11:59:00Z, and no reason \
             is on record",
        ),
        (
            waits(0).with(paused),
            Verdict::Missed,
            "the last fire that the registry has settled is 2024-02-29T11:59:00Z; now all servers \
             are paused",
        ),
    ]);
}

/// Returns the facts of a job with a fire each minute, 30 s after noon.
fn facts_with(change: impl FnOnce(&mut JobConfig), nodes: &[(&str, &str)]) -> RegistryFacts {
    let name = JobName::new("report").unwrap();
    let mut config = JobConfig::new(name.clone(), 1);
    config.cron = Some("0 * * * * ?".to_owned());
    change(&mut config);
    let config = coordination::encode_config(&config);
    let node = |(path, data): (&str, &str)| Node {
        path: NodePath::parse(path).unwrap(),
        data: data.to_owned().into(),
        stat: Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            modified_at: None,
            owner: None,
        },
    };
    let nodes = nodes.iter().copied().chain([("/report/config", config.as_str())]);
    let nodes: Vec<_> = nodes.map(node).collect();
    let job = JobSnapshot::of_nodes(&name, nodes.clone());
    let group = GroupSnapshot::of_nodes(GroupName::new("db").unwrap(), &nodes);
    RegistryFacts::of(&job, Some(&group), evidence::time(NOON + 30_000))
}

#[test]
fn limits_of_the_job_and_its_group_are_facts() {
    let rate = StartRate { max: 1, period_seconds: 60 };
    let one_start = format!(r#"{{"v":1,"starts":[[{NOON},1]]}}"#);
    let one_run = r#"{"v":1,"job":"other","item":1,"by":"10.0.0.9@-@9","token":4}"#;
    let in_group = |it: &mut JobConfig| it.group = GroupName::new("db").ok();
    let limits = "/job@-@groups/db/limits";
    let runs = (limits, r#"{"v":1,"cluster_concurrency":1}"#);
    let rows = [
        (
            facts_with(
                |it| it.cluster_concurrency = Some(1),
                &[("/report/coordination/permits/0", "0 10.0.0.1@-@1")],
            ),
            "waits for a permit of the job (1 of 1 are taken, cluster_concurrency): item 0 on \
             10.0.0.1@-@1",
        ),
        (
            facts_with(
                |it| it.start_rate = Some(rate),
                &[("/report/coordination/starts", &one_start)],
            ),
            "the job has reached its start rate (1 in 1m, start_rate); the next run may begin at \
             2024-02-29T12:01:00Z",
        ),
        (
            facts_with(in_group, &[runs, ("/job@-@groups/db/permits/0", one_run)]),
            "waits for a permit of the group db (1 of 1 are taken): other item 1 on 10.0.0.9@-@9",
        ),
        (
            facts_with(
                in_group,
                &[
                    (limits, r#"{"v":1,"start_rate":"1 in 1m"}"#),
                    ("/job@-@groups/db/starts", &one_start),
                ],
            ),
            "the group db has reached its start rate (1 in 1m); the next run may begin at \
             2024-02-29T12:01:00Z",
        ),
        (
            facts_with(
                in_group,
                &[runs, ("/job@-@groups/db/waiting/other", r#"{"v":1,"by":"10.0.0.9@-@9"}"#)],
            ),
            "waits in the line of the group db, behind other",
        ),
    ];
    for (facts, limit) in rows {
        assert_eq!((facts.limit.as_deref(), facts.last_fire_ms), (Some(limit), Some(NOON)));
    }
    let none = facts_with(|it| it.cluster_concurrency = Some(1), &[]);
    assert_eq!(none.limit, None);
    let yearly = |it: &mut JobConfig| {
        (it.cron, it.cluster_concurrency) = (Some("0 0 6 29 2 ?".to_owned()), Some(1));
    };
    let permit = [("/report/coordination/permits/0", "0 10.0.0.1@-@1")];
    assert_eq!(facts_with(yearly, &permit).last_fire_ms, Some(NOON - 360 * MINUTE));
}

#[test]
fn missing_record_is_unexplained_with_what_is_unknown() {
    let lost = |first, last| {
        move |it: &mut Facts| {
            let writer = "w".to_owned();
            let drop = DropRecord { writer, first: at(first), last: at(last), dropped: 7 };
            it.background.drops.push(drop);
        }
    };
    let unknown = "the history has no record of it; the registry shows later fires of the item";
    check([
        (Facts::of(vec![record(1)]), Verdict::Unexplained, unknown),
        (
            Facts::of(vec![]).with(lost(0, 3)),
            Verdict::Unexplained,
            "the history has no record of it; 7 records of that time were lost; \
             the registry shows later fires of the item",
        ),
        (Facts::of(vec![]).with(lost(5, 8)), Verdict::Unexplained, unknown),
        (
            Facts::of(vec![])
                .with(|it| it.configs = vec![period(|it| it.monitor_execution = false)]),
            Verdict::Unexplained,
            "the history has no record of it; the job is not monitored, so missed fires are not recorded",
        ),
        (
            Facts::of(vec![]).with(|it| it.registry.may_have_java = true),
            Verdict::Unexplained,
            "the history has no record of it; the registry shows later fires of the item; \
             Java instances record their runs in other tables",
        ),
    ]);
}

/// Monitored items show by their records that the fire is not settled.
#[test]
fn fire_of_an_unmonitored_job_is_open_until_its_jitter_is_over() {
    let after = |seconds: i64| {
        Facts::of(vec![]).with(|it| {
            it.configs = vec![period(|it| it.monitor_execution = false)];
            it.registry.grace_ms = 310_000;
            it.registry.now_ms = NOON + seconds * 1_000;
        })
    };
    check([
        (after(309), Verdict::Open, "it is due now"),
        (
            after(310),
            Verdict::Unexplained,
            "the history has no record of it; the job is not monitored, so missed fires are not \
             recorded",
        ),
    ]);
}

#[test]
fn young_fire_is_open_unless_a_later_record_exists() {
    let young = || Facts::of(vec![]).with(|it| it.registry.now_ms = NOON + 30_000);
    let later = |it: &mut Facts| {
        it.background.latest.insert(0, NOON + 1);
    };
    check([
        (young(), Verdict::Open, "it is younger than a minute: its record may be on its way"),
        (
            young().with(later),
            Verdict::Unexplained,
            "the history has no record of it; the registry shows later fires of the item",
        ),
    ]);
}

#[test]
fn run_that_the_schedule_lacks_is_unexplained_but_a_request_is_not() {
    let seconds = |ms: i64| FireRecord { fire: evidence::time(NOON + ms), ..record(0) };
    let item = |n| FireRecord { item: sharding::ShardingItem::new(n), ..record(0) };
    let rows = [
        (
            seconds(30_000),
            Verdict::Unexplained,
            "it was run, but the schedule has no fire at this time",
        ),
        (seconds(30_001), Verdict::Run, ""),
        (item(3), Verdict::Unexplained, "it was run, but the job had 1 item then"),
    ];
    for (extra, verdict, reason) in rows {
        let judged = Facts::of(vec![record(0), extra]).judged(1);
        let found = (judged[1].verdict, judged[1].reason.as_deref().unwrap_or_default());
        assert_eq!((judged.len(), found), (2, (verdict, reason)));
    }
}

#[test]
fn all_items_owe_a_fire_with_a_fixed_delay_that_one_has_run() {
    let item = |n, minute| FireRecord { item: sharding::ShardingItem::new(n), ..record(minute) };
    let request = FireRecord { fire: evidence::time(NOON + 90_001), ..record(0) };
    let records = vec![record(0), item(1, 0), item(2, 0), item(3, 0), request, item(1, 3)];
    let config = period(|config| {
        config.cron = Some("@after 70s".to_owned());
        config.sharding_total_count = 3;
    });
    let facts = Facts::of(records).with(|it| it.configs = vec![config]);
    let judged = facts.judged(5);
    let rows: Vec<_> = judged.iter().map(|it| (it.fire, it.item.index(), it.verdict)).collect();
    let expected = [
        (at(0), 0, Verdict::Run),
        (at(0), 1, Verdict::Run),
        (at(0), 2, Verdict::Run),
        (at(0), 3, Verdict::Unexplained),
        (evidence::time(NOON + 90_001), 0, Verdict::Run),
        (at(3), 0, Verdict::Unexplained),
        (at(3), 1, Verdict::Run),
        (at(3), 2, Verdict::Unexplained),
    ];
    assert_eq!(rows, expected);
    assert_eq!(judged[3].reason.as_deref(), Some("it was run, but the job had 3 items then"));

    // The fire is not over before all items have run it.
    let waits = facts.with(|it| {
        it.registry.records.insert(0, Ledger::new(Some(FireTime(NOON + 2 * MINUTE))));
    });
    let last = |facts: &Facts, item: u32| {
        let found = facts.judged(5).into_iter().rfind(|it| it.item.index() == item);
        found.map(|it| (it.fire, it.verdict))
    };
    assert_eq!(last(&waits, 0), Some((at(3), Verdict::Open)));
    // Neither around a change, nor by a run that began after it.
    let replaced_after = |seconds: i64| {
        let mut period = waits.configs[0].clone();
        period.until = Some(evidence::time(NOON + 3 * MINUTE + seconds * 1_000));
        period
    };
    for (seconds, expected) in [(4, None), (30, Some((at(3), Verdict::Unexplained)))] {
        let mut facts = Facts::of(vec![record(0), item(1, 3)]);
        facts.configs = vec![replaced_after(seconds)];
        assert_eq!(last(&facts, 2).filter(|(fire, _)| *fire == at(3)), expected, "{seconds}");
    }
    let late = FireRecord { began: Some(at(4)), ..item(1, 3) };
    let mut facts = Facts::of(vec![record(0), late]);
    facts.configs = vec![replaced_after(30)];
    assert_eq!(last(&facts, 2).filter(|(fire, _)| *fire == at(3)), None);
}

#[test]
fn unknown_configurations_leave_records_to_speak_for_themselves() {
    let mut before = period(|_| ());
    before.until = Some(at(5));
    before.config = Err("the configuration of that time is not on record".to_owned());
    let mut present = period(|_| ());
    (present.from, present.doubt) =
        (Some(at(5)), Some("2 replacements are not on record".to_owned()));
    let configs = vec![before, present];
    let facts = Facts::of(vec![record(1), record(5)]).with(|it| it.configs = configs.clone());
    let rows: Vec<_> = facts.judged(8).into_iter().map(|it| (it.fire, it.verdict)).collect();
    let expected = [
        (at(1), Verdict::Run),
        (at(5), Verdict::Run),
        (at(6), Verdict::Unexplained),
        (at(7), Verdict::Unexplained),
    ];
    assert_eq!(rows, expected);
    let reason = facts.judged(8).pop().unwrap().reason.unwrap();
    assert!(reason.ends_with("2 replacements are not on record"), "{reason}");
    let expected = Expected::of(&configs, (NOON, NOON + 8 * MINUTE), Some(NOON)).unwrap();
    let unjudged = &expected.unjudged[0];
    assert_eq!((unjudged.from, unjudged.until), (at(0), at(5)));
}

#[test]
fn fires_around_a_change_and_before_the_first_record_are_not_owed() {
    let mut first = period(|_| ());
    first.until = Some(evidence::time(NOON + 2 * MINUTE + 4_000));
    let mut second = period(|config| config.sharding_total_count = 2);
    second.from = first.until;
    let configs = [first, second];
    let owed = |first_record| {
        let end = NOON + 4 * MINUTE;
        let expected = Expected::of(&configs, (NOON, end), Some(first_record)).unwrap();
        let owed: Vec<_> = expected
            .fires
            .iter()
            .map(|it| ((it.fire_ms - NOON) / MINUTE, it.items, it.is_owed))
            .collect();
        (owed, expected.unjudged.len())
    };
    let all = vec![(0, 1, true), (1, 1, true), (2, 1, false), (3, 2, true)];
    assert_eq!(owed(NOON - 1), (all, 0));
    let late = vec![(1, 1, false), (2, 1, false), (3, 2, true)];
    assert_eq!(owed(NOON + MINUTE - 2_000), (late, 1));
}

#[test]
fn period_with_too_many_fires_is_refused_with_the_time_of_the_last() {
    let config = period(|config| {
        config.sharding_total_count = 100_000;
    });
    let error = Expected::of(&[config], (NOON, NOON + 60 * MINUTE), Some(0)).unwrap_err();
    assert_eq!(error, TooManyFires { until_ms: NOON + 10 * MINUTE });
}
