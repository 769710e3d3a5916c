//! When a job needs attention, and when an item is late.

use std::time::{Duration, SystemTime};

use coordination::{Dialect, JavaSettings, JobConfig, encode_config};
use operations::{
    Attention, JobSnapshot, attention, due_fire, first_due_fire, job_brief, job_brief_since,
    late_fires, lateness_ms, why_item_not_running, why_not_running,
};
use reg_center::{Node, Revision};
use sharding::ShardingItem;

use crate::support::{job, nodes_of};

/// Scheduled fire of the records, in milliseconds since 1970 UTC. The job fires each minute.
const FIRE: i64 = 600_000;
const MINUTE: i64 = 60_000;

/// A job with two items and an instance on each of two servers. Item 0 is idle until [`FIRE`].
struct Case {
    nodes: Vec<Node>,
}

/// Nodes that decide whether the owner of item 0 was ready for a fire.
const OWNER: [&str; 3] =
    ["/job/instances/10.0.0.1@-@7", "/job/servers/10.0.0.1", "/job/sharding/0/instance"];

fn record(more: &str) -> String {
    format!(r#"{{"v":1,"token":1,"last":{},"next":{FIRE},"config":0,{more}}}"#, FIRE - MINUTE)
}

impl Case {
    /// Returns the job, whose record was written after everything else, with a record in this
    /// state.
    fn with(record: &str) -> Self {
        let mut config = JobConfig::new(job(), 2);
        (config.cron, config.jitter_ms) = (Some("0 * * * * ?".to_owned()), Some(2_000));
        config.java = JavaSettings::of(Dialect::V3);
        let java = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n# RUST\n";
        let other = java.replace("10.0.0.1@-@7", "10.0.0.2@-@7").replace("10.0.0.1", "10.0.0.2");
        let nodes = nodes_of(&[
            ("/job/config", &encode_config(&config)),
            (OWNER[0], java),
            ("/job/instances/10.0.0.2@-@7", &other),
            (OWNER[1], "ENABLED"),
            ("/job/servers/10.0.0.2", "ENABLED"),
            (OWNER[2], "10.0.0.1@-@7"),
            ("/job/sharding/1/instance", "10.0.0.2@-@7"),
            ("/job/ledger/0", record),
        ]);
        Self { nodes }
    }

    fn idle() -> Self {
        Self::with(&record(r#""state":"idle""#))
    }

    /// Replaces the data of a node, or adds it.
    fn set(mut self, path: &str, data: &str) -> Self {
        self.nodes.retain(|node| node.path.as_str() != path);
        self.nodes.extend(nodes_of(&[(path, data)]));
        self
    }

    fn without(mut self, path: &str) -> Self {
        self.nodes.retain(|node| node.path.as_str() != path);
        self
    }

    /// Marks a node as written after the record, at a time if the registry has times.
    fn later(mut self, path: &str, at_ms: Option<i64>) -> Self {
        let node = self.nodes.iter_mut().find(|node| node.path.as_str() == path).unwrap();
        node.stat.modified = Revision(2);
        // The other nodes were written long before.
        let at = |ms: i64| SystemTime::UNIX_EPOCH + Duration::from_millis(ms.unsigned_abs());
        if let Some(ms) = at_ms {
            self.nodes.iter_mut().for_each(|node| {
                node.stat.modified_at.get_or_insert(at(1));
            });
            let node = self.nodes.iter_mut().find(|node| node.path.as_str() == path).unwrap();
            node.stat.modified_at = Some(at(ms));
        }
        self
    }

    fn snapshot(&self) -> JobSnapshot {
        JobSnapshot::of_nodes(&job(), self.nodes.clone())
    }
}

fn of_a_run(fire: i64) -> String {
    let run = format!(r#""holder":"10.0.0.1@-@7","fire":{fire},"source":"NORMAL""#);
    record(&format!(r#""state":"running",{run},"began":{fire}"#))
}

#[test]
fn item_is_late_only_if_its_owner_could_start_the_fire() {
    let (fire, later) = (Some(FIRE), Some(FIRE + MINUTE));
    let late_owner = |path: &str, at_ms| Case::idle().later(path, at_ms);
    let java = "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n";
    let orphan = of_a_run(FIRE).replace("\"running\"", "\"orphan\"");
    let mut rows = vec![
        ("idle", Case::idle(), fire),
        ("other schedule", Case::with(&record(r#""state":"idle","next_config":7"#)), None),
        ("disabled item", Case::idle().set("/job/sharding/0/disabled", ""), None),
        (
            "item that the job no longer has",
            Case::idle().set("/job/ledger/5", &record(r#""state":"idle""#)),
            fire,
        ),
        ("run past its next fire", Case::with(&of_a_run(FIRE)), later),
        ("orphaned run", Case::with(&orphan), None),
        ("paused server", Case::idle().set(OWNER[1], "PAUSED"), None),
        ("disabled server", Case::idle().set(OWNER[1], "DISABLED"), None),
        ("server without a record", Case::idle().without(OWNER[1]), None),
        ("lost owner", Case::idle().without(OWNER[0]), None),
        ("no owner", Case::idle().without(OWNER[2]), None),
        ("Java owner", Case::idle().set(OWNER[0], java), None),
        ("leaving owner", Case::idle().set("/job/coordination/draining/10.0.0.1@-@7", ""), None),
        ("damaged record", Case::with("{"), None),
        ("other server paused", Case::idle().set("/job/servers/10.0.0.2", "PAUSED"), fire),
    ];
    for path in OWNER {
        rows.push(("ready after the record, before the fire", late_owner(path, Some(FIRE)), fire));
        rows.push(("ready after the fire", late_owner(path, Some(FIRE + 1)), later));
        rows.push(("ready at an unknown time", late_owner(path, None), None));
    }
    for (case, of, expected) in rows {
        let snapshot = of.snapshot();
        let due = first_due_fire(&snapshot, None);
        let expected = expected.map(|fire| fire + 2_000);
        assert_eq!(due.map(|due| due.late_after_ms), expected, "{case}");
        assert_eq!(job_brief(&snapshot).late_after_ms, expected, "{case}");
        assert_eq!(due, due_fire(&snapshot, ShardingItem::new(0), None), "{case}");
        assert_eq!(due.is_some_and(|due| due.runs), case.contains("run past"), "{case}");
    }
}

#[test]
fn first_sight_of_the_instances_counts_without_a_proof() {
    for (ready, expected) in [(FIRE - 1, FIRE), (FIRE, FIRE), (FIRE + 1, FIRE + MINUTE)] {
        let unknown = Case::idle().later(OWNER[0], None).snapshot();
        let brief = job_brief_since(&unknown, Some(ready));
        assert_eq!(brief.late_after_ms, Some(expected + 2_000), "{ready}");
        let proven = job_brief_since(&Case::idle().snapshot(), Some(ready));
        assert_eq!(proven.late_after_ms, Some(FIRE + 2_000), "{ready}");
    }
}

#[test]
fn lateness_begins_after_the_start_delay_and_the_grace() {
    let brief = job_brief(&Case::idle().snapshot());
    let from = FIRE + 2_000 + operations::LATE_GRACE_MS;
    let due = first_due_fire(&Case::idle().snapshot(), None).unwrap();
    assert_eq!(due.late_from_ms(), from);
    for (now, expected) in [(from - 1, None), (from, Some(10_000)), (from + 500, Some(10_500))] {
        assert_eq!(lateness_ms(&brief, now), expected, "{now}");
        assert_eq!(due.is_late(now), expected.is_some(), "{now}");
        let late = late_fires(&Case::idle().snapshot(), None, now);
        assert_eq!(late, expected.map(|_| due).into_iter().collect::<Vec<_>>(), "{now}");
    }
}

#[test]
fn lateness_is_a_reason_of_the_job_and_of_its_item() {
    let rows = [
        (Case::idle(), FIRE, "item 0 is late: its fire due at 1970-01-01T00:10:02Z has not begun"),
        (
            Case::with(&of_a_run(FIRE)),
            FIRE + MINUTE,
            "item 0 still runs, so that its fire due at 1970-01-01T00:11:02Z has not begun",
        ),
    ];
    for (case, fire, expected) in rows {
        let snapshot = case.snapshot();
        let reasons = |now_ms| {
            let now = jiff::Timestamp::from_millisecond(now_ms).unwrap();
            let of_job = why_not_running(&snapshot, now).into_iter();
            let of_item = why_item_not_running(&snapshot, ShardingItem::new(0), now).into_iter();
            [
                of_job.map(|why| why.to_string()).collect(),
                of_item.map(|why| why.to_string()).collect(),
            ]
        };
        let from = fire + 2_000 + operations::LATE_GRACE_MS;
        for (now, is_late) in [(from - 1, false), (from, true)] {
            for found in reasons(now) {
                let found: Vec<String> = found;
                assert_eq!(found.iter().any(|why| why == expected), is_late, "{found:?}");
            }
        }
    }
}

#[test]
fn jobs_need_attention_for_the_most_urgent_reason() {
    let owned = |case: Case| case.set("/job/sharding/1/instance", "10.0.0.1@-@7");
    let failed = record(r#""state":"idle","outcome":"failed""#);
    let none = |case: Case| case.without(OWNER[0]).without("/job/instances/10.0.0.2@-@7");
    let (in_time, late) = (FIRE, FIRE + MINUTE);
    let all = |state| Case::idle().set(OWNER[1], state).set("/job/servers/10.0.0.2", state);
    let unowned = || Case::idle().without("/job/sharding/1/instance");
    let rows = [
        ("in time", Case::idle(), in_time, None),
        ("late", Case::idle(), late, Some(Attention::Late)),
        ("failed and late", Case::with(&failed), late, Some(Attention::Failing)),
        ("resharding, late", unowned(), late, Some(Attention::Late)),
        ("no instance", none(Case::idle()), late, Some(Attention::NoInstance)),
        ("crashed", none(Case::with(&of_a_run(FIRE))), late, Some(Attention::Crashed)),
        ("paused", all("PAUSED"), late, Some(Attention::Paused)),
        ("disabled", all("DISABLED"), late, None),
        (
            "one paused",
            owned(Case::idle()).set("/job/servers/10.0.0.2", "PAUSED"),
            in_time,
            Some(Attention::PartlyPaused),
        ),
        (
            "unreadable",
            Case::idle().set("/job/config", "jobName"),
            late,
            Some(Attention::InvalidConfig),
        ),
    ];
    for (case, of, now_ms, expected) in rows {
        let brief = job_brief(&of.snapshot());
        assert_eq!(attention(&brief, now_ms, now_ms), expected, "{case}: {brief:?}");
    }
    let resharding = job_brief(&unowned().snapshot());
    for (now, expected) in [(9_999, None), (10_000, Some(Attention::Resharding))] {
        assert_eq!(attention(&resharding, 0, now), expected, "{now}");
    }
    assert!(Attention::Crashed < Attention::Failing && Attention::Late < Attention::Paused);
}
