//! Scenario tests of damage: overwritten nodes, and sessions that share an instance id.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{FencingToken, JobEvent, RunSource};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

#[test]
fn overwritten_node_is_repaired_by_its_writer() {
    let rows = [
        ("an unreadable assignment", "coordination/assignment", "{"),
        ("an assignment with too many items", "coordination/assignment", MANY_ITEMS),
        ("an unreadable term", "coordination/term", "?"),
        ("an unknown owner", "sharding/0/instance", "unknown"),
        ("an empty owner", "sharding/0/instance", ""),
        ("an unreadable request", "coordination/triggers/broken", "{"),
        ("an unreadable callback record", "coordination/once", "{"),
    ];
    for (case, node, data) in rows {
        let mut cluster = Cluster::settled(2, &job_of(4));
        cluster.create_or_write(node, data);
        cluster.run_for(A_WHILE);
        let before = cluster.traffic();
        cluster.run_for(A_WHILE);
        let spent = cluster.traffic().since(before).commits;
        assert_eq!(spent, 0, "{case}: the cluster is not idle\n{}", cluster.trace());
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3], "{case}\n{}", cluster.trace());
    }
}

const MANY_ITEMS: &str = r#"{"members":[],"total":4294967295,"strategy":"","handled":0}"#;

#[test]
fn unreadable_assignment_is_reported() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.write("coordination/assignment", MANY_ITEMS);
    cluster.run_for(A_WHILE);
    let is_report = |event: &JobEvent| match event {
        JobEvent::Anomaly { path, reason } => {
            path.ends_with("assignment") && reason.contains("total 4294967295 is above 100000")
        }
        _ => false,
    };
    assert!(cluster.events(FIRST).iter().any(is_report), "{}", cluster.trace());
}

/// A container restarts with its address and process id before its former session has expired.
#[test]
fn instance_waits_while_another_session_holds_its_id() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_runs(SECOND);
    cluster.run_for(A_WHILE);
    assert!(cluster.is_executing(FIRST), "{}", cluster.trace());

    let restarted = cluster.restart_with_same_id(FIRST);
    cluster.run_for(A_WHILE);
    assert!(
        !cluster.is_executing(restarted),
        "it runs beside its former self\n{}",
        cluster.trace()
    );
    let waits_for = cluster.waits_for(restarted);
    assert!(waits_for.is_some_and(|text| text.contains("another session")), "{waits_for:?}");

    cluster.end_session(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let item = (0..2).map(ShardingItem::new).find(|item| cluster.ledger(*item).token.0 == 2);
    let item = item.unwrap_or_else(|| panic!("no run was taken over\n{}", cluster.trace()));
    let runs = cluster.runs_for(fire).filter(|(_, start)| start.item == item);
    let runs: Vec<_> = runs.map(|(_, start)| (start.source, start.token)).collect();
    let expected = [(RunSource::Normal, FencingToken(1)), (RunSource::Failover, FencingToken(2))];
    assert_eq!(runs, expected, "{}", cluster.trace());
    assert!(cluster.is_registered(restarted), "{}", cluster.trace());

    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.trace());
}

/// The former session ends before its run is swept, and the restarted instance is the only one.
#[test]
fn run_of_former_session_with_same_id_is_taken_over() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let restarted = cluster.restart_with_same_id(FIRST);
    cluster.end_session(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let runs: Vec<_> =
        cluster.runs_for(fire).map(|(by, start)| (by, start.source, start.token.0)).collect();
    let expected = [(FIRST, RunSource::Normal, 1), (restarted, RunSource::Failover, 2)];
    assert_eq!(runs, expected, "{}", cluster.trace());
}
