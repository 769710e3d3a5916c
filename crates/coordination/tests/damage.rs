//! Stories of what should never happen: nodes that somebody has overwritten, and lives that share an id.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{FencingToken, JobEvent, RunSource};
use script::{Cluster, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);

#[test]
fn whoever_is_responsible_writes_an_overwritten_node_again() {
    let rows = [
        ("no record of an assignment", "coordination/assignment", "{"),
        ("more items than any job has", "coordination/assignment", MANY_ITEMS),
        ("a term of nobody", "coordination/term", "?"),
        ("an item of nobody", "sharding/0/instance", "nobody"),
        ("an item without an owner", "sharding/0/instance", ""),
        ("no request to run", "coordination/triggers/broken", "{"),
        ("no calls", "coordination/once", "{"),
    ];
    for (case, node, data) in rows {
        let mut cluster = Cluster::settled(2, &job_of(4));
        cluster.damage(node, data);
        cluster.run_for(A_WHILE);
        let before = cluster.traffic();
        cluster.run_for(A_WHILE);
        let spent = cluster.traffic().since(before).commits;
        assert_eq!(spent, 0, "{case}: it does not come to rest\n{}", cluster.story());
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1, 2, 3], "{case}\n{}", cluster.story());
    }
}

const MANY_ITEMS: &str = r#"{"members":[],"total":4294967295,"strategy":"","handled":0}"#;

#[test]
fn what_cannot_be_read_is_reported() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.write("coordination/assignment", MANY_ITEMS);
    cluster.run_for(A_WHILE);
    let told = |event: &JobEvent| match event {
        JobEvent::Anomaly { path, reason } => {
            path.ends_with("assignment") && reason.contains("total 4294967295 is above 100000")
        }
        _ => false,
    };
    assert!(cluster.events(FIRST).iter().any(told), "{}", cluster.story());
}

/// A container that comes back with its address and process id before the registry has noticed that it was gone.
#[test]
fn a_life_with_the_id_of_one_that_is_not_over_waits_for_its_end() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_runs(SECOND);
    cluster.run_for(A_WHILE);
    assert!(cluster.is_executing(FIRST), "{}", cluster.story());

    let again = cluster.restart_under_the_same_id(FIRST);
    cluster.run_for(A_WHILE);
    assert!(!cluster.is_executing(again), "its former life may run on\n{}", cluster.story());
    let waits_for = cluster.waits_for(again);
    assert!(waits_for.is_some_and(|what| what.contains("another session")), "{waits_for:?}");

    cluster.end_session(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let item = (0..2).map(ShardingItem::new).find(|item| cluster.ledger(*item).token.0 == 2);
    let item = item.unwrap_or_else(|| panic!("nobody took it over\n{}", cluster.story()));
    let takers = cluster.runs_for(fire).filter(|(_, start)| start.item == item);
    let takers: Vec<_> = takers.map(|(_, start)| (start.source, start.token)).collect();
    let expected = [(RunSource::Normal, FencingToken(1)), (RunSource::Failover, FencingToken(2))];
    assert_eq!(takers, expected, "{}", cluster.story());
    assert!(cluster.is_registered(again), "{}", cluster.story());

    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(next), [0, 1], "{}", cluster.story());
}

/// The registry forgets the former life before the record of its run is swept, and the new life is the only instance.
#[test]
fn a_run_of_a_former_life_with_the_same_id_is_not_taken_for_an_own_one() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let again = cluster.restart_under_the_same_id(FIRST);
    cluster.end_session(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let runs: Vec<_> =
        cluster.runs_for(fire).map(|(by, start)| (by, start.source, start.token.0)).collect();
    let expected = [(FIRST, RunSource::Normal, 1), (again, RunSource::Failover, 2)];
    assert_eq!(runs, expected, "{}", cluster.story());
}
