//! Scenario tests of jobs with `overlap = cancel`: fires cancel the unfinished runs that they meet.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    CancelRequest, FireTime, JobConfig, JobEvent, Ledger, Outcome, Overlap, RunSource,
};
use sharding::ShardingItem;

const A_WHILE: Duration = Duration::from_secs(2);

fn cancelling(items: u32) -> JobConfig {
    job_of(items).with(|it| (it.failover, it.overlap) = (true, Some(Overlap::Cancel)))
}

/// Two instances that run one item each, and the next fire meets both runs.
struct Met {
    cluster: Cluster,
    leader: usize,
    /// The instance that does not lead, and its item.
    holder: usize,
    item: u32,
    noted: FireTime,
}

fn met() -> Met {
    let mut cluster = Cluster::settled(2, &cancelling(2));
    let leader = cluster.leader().unwrap();
    let holder = 1 - leader;
    let of_holder = |item: &u32| cluster.owner(*item) == Some(cluster.id_of(holder));
    let item = (0..2).find(of_holder).unwrap();
    cluster.fire();
    cluster.run_for(A_WHILE);
    let noted = cluster.fire();
    cluster.run_for(A_WHILE);
    Met { cluster, leader, holder, item, noted }
}

fn record(cluster: &Cluster, item: u32) -> &Ledger {
    cluster.ledger(ShardingItem::new(item))
}

fn sources(cluster: &Cluster, item: u32) -> Vec<RunSource> {
    let of_item = cluster.runs().filter(|(_, start)| start.item.index() == item);
    of_item.map(|(_, start)| start.source).collect()
}

#[test]
fn fire_cancels_the_run_that_it_meets_and_runs_afterwards() {
    let Met { mut cluster, holder, item, noted, .. } = met();
    assert_eq!(cluster.cancels(holder).len(), 1, "{}", cluster.trace());
    let request = record(&cluster, item).cancels().cloned().unwrap();
    assert_eq!(request.by(), CancelRequest::BY_OVERLAP);
    assert_eq!(request.why(), format!("the fire of {noted} met the run"));
    cluster.end_cancelled_runs(holder);
    cluster.run_for(A_WHILE);
    assert_eq!(sources(&cluster, item), [RunSource::Normal, RunSource::Misfire]);
    let run = record(&cluster, item).running().unwrap();
    assert_eq!((run.fire, record(&cluster, item).cancels()), (noted, None));
    let ended = cluster.events(holder).iter().any(
        |event| matches!(event, JobEvent::Cancelled { by, .. } if by == CancelRequest::BY_OVERLAP),
    );
    assert!(ended, "{}", cluster.trace());
}

#[test]
fn run_that_stands_for_noted_fires_is_not_cancelled() {
    let Met { mut cluster, holder, item, .. } = met();
    cluster.end_cancelled_runs(holder);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let busy = record(&cluster, item);
    assert!(busy.misfire.is_some() && busy.cancels().is_none(), "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(sources(&cluster, item).len(), 3, "{}", cluster.trace());
}

/// The former holder's session has ended before the run did.
#[test]
fn cancelled_run_of_lost_holder_is_not_run_again_and_the_noted_fire_runs_once() {
    let Met { mut cluster, leader, holder, item, noted } = met();
    cluster.crash(holder);
    cluster.end_cancelled_runs(leader);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_eq!(sources(&cluster, item), [RunSource::Normal, RunSource::Misfire]);
    let of_noted = cluster.runs_for(noted).filter(|(_, start)| start.item.index() == item);
    assert_eq!(of_noted.count(), 1, "{}", cluster.trace());
    assert_eq!(record(&cluster, item).outcome, Some(Outcome::Succeeded));
}

#[test]
fn code_that_returns_before_its_cancellation_has_succeeded() {
    let Met { mut cluster, item, .. } = met();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let request = record(&cluster, item).cancel_request();
    assert_eq!(request, None, "{}", cluster.trace());
    assert_eq!(sources(&cluster, item), [RunSource::Normal, RunSource::Misfire]);
}
