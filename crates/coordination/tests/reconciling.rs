//! Changes that the registry has not delivered are found by reads at the reconcile interval.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{Event, JobEvent};

const FIRST: usize = 0;
const SECOND: usize = 1;

/// Longer than two reads at the default interval.
const PAST_RECONCILIATION: Duration = Duration::from_secs(11 * 60);
/// Long enough for all steps that do not need a read.
const A_WHILE: Duration = Duration::from_secs(30);

/// Returns the nodes whose changes the instance has reported as missed.
fn missed(cluster: &Cluster, instance: usize) -> Vec<&str> {
    let mut missed = Vec::new();
    for event in cluster.events(instance) {
        if let JobEvent::ChangesMissed { nodes, .. } = event {
            missed.push(nodes.as_str());
        }
    }
    missed
}

#[test]
fn missed_change_of_the_configuration_is_found() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.configure(&job_of(3));
    [FIRST, SECOND].into_iter().for_each(|instance| cluster.lose_undelivered(instance));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.owner(2), None, "no instance can know of item 2\n{}", cluster.trace());
    cluster.run_for(PAST_RECONCILIATION);
    assert!(cluster.owner(2).is_some(), "{}", cluster.trace());
    for instance in [FIRST, SECOND] {
        assert_eq!(missed(&cluster, instance), ["config changed"], "{}", cluster.trace());
    }
}

#[test]
fn missed_end_of_an_instance_is_found() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let lost = format!("instances/{} deleted", cluster.id_of(SECOND));
    cluster.crash(SECOND);
    cluster.lose_undelivered(FIRST);
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire).len(), 1, "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.run_for(PAST_RECONCILIATION);
    let reports = missed(&cluster, FIRST);
    assert!(reports.iter().any(|nodes| nodes.contains(&lost)), "{reports:?}");
    // The fire that the lost instance owed begins late.
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

#[test]
fn missed_creation_of_a_request_is_found() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.create("sharding/0/disabled", "");
    cluster.lose_undelivered(FIRST);
    cluster.run_for(PAST_RECONCILIATION);
    assert_eq!(missed(&cluster, FIRST), ["sharding/0/disabled created"], "{}", cluster.trace());
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [] as [u32; 0], "{}", cluster.trace());
}

/// The reads of a job whose runs begin and end all the time show other states than the view.
#[test]
fn changes_on_their_way_are_not_reported() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    for _ in 0..40 {
        cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    for instance in [FIRST, SECOND] {
        assert_eq!(missed(&cluster, instance), [] as [&str; 0], "{}", cluster.trace());
    }
    // 40 minutes have four intervals.
    for instance in [FIRST, SECOND] {
        let n_reads = cluster.n_reads(instance);
        assert!((3..=8).contains(&n_reads), "{n_reads} reads");
    }
}

#[test]
fn change_that_arrives_before_the_second_read_is_not_reported() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.advance_clocks(Duration::from_secs(10 * 60));
    cluster.create("sharding/0/disabled", "");
    cluster.send_event(FIRST, Event::Wake);
    assert_eq!(cluster.n_reads(FIRST), 1, "{}", cluster.trace());
    cluster.run_for(PAST_RECONCILIATION);
    assert_eq!(missed(&cluster, FIRST), [] as [&str; 0], "{}", cluster.trace());
}

#[test]
fn interval_of_zero_reads_nothing() {
    let config = job_of(1).with(|it| it.reconcile_interval_minutes = 0);
    let mut cluster = Cluster::settled(1, &config);
    cluster.create("sharding/0/disabled", "");
    cluster.lose_undelivered(FIRST);
    cluster.run_for(PAST_RECONCILIATION);
    assert_eq!(cluster.n_reads(FIRST), 0, "{}", cluster.trace());
    assert_eq!(missed(&cluster, FIRST), [] as [&str; 0]);
}
