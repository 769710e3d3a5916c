//! Scenario tests of requests to cancel a run.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{Event, FencingToken, JobEvent, Ledger, LedgerState, Outcome, RunSource};
use sharding::ShardingItem;

const A_WHILE: Duration = Duration::from_secs(2);

/// Two instances that run one item each.
struct Running {
    cluster: Cluster,
    leader: usize,
    /// The instance that does not lead, and its item.
    holder: usize,
    item: u32,
}

fn running() -> Running {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let leader = cluster.leader().unwrap();
    let holder = 1 - leader;
    let of_holder = |item: &u32| cluster.owner(*item) == Some(cluster.id_of(holder));
    let item = (0..2).find(of_holder).unwrap();
    cluster.fire();
    cluster.run_for(A_WHILE);
    Running { cluster, leader, holder, item }
}

fn record(cluster: &Cluster, item: u32) -> &Ledger {
    cluster.ledger(ShardingItem::new(item))
}

fn cancelled(cluster: &Cluster, instance: usize) -> Vec<(u32, String)> {
    let events = cluster.events(instance).iter();
    let cancelled = events.filter_map(|event| match event {
        JobEvent::Cancelled { item, why, .. } => Some((item.index(), why.clone())),
        _ => None,
    });
    cancelled.collect()
}

fn runs_of(cluster: &Cluster, item: u32) -> usize {
    cluster.runs().filter(|(_, start)| start.item.index() == item).count()
}

#[test]
fn holder_cancels_its_run_once_and_records_author_and_reason() {
    let Running { mut cluster, holder, item, .. } = running();
    cluster.request_cancel(item, "wrong month");
    cluster.run_for(A_WHILE);
    let tokens: Vec<_> = cluster.cancels(holder).iter().map(|run| (run.item, run.token)).collect();
    assert_eq!(tokens, [(ShardingItem::new(item), FencingToken(1))], "{}", cluster.trace());
    // A change of the record does not cancel the run again.
    cluster.touch(&format!("ledger/{item}"));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.cancels(holder).len(), 1, "{}", cluster.trace());
    cluster.end_cancelled_runs(holder);
    cluster.run_for(A_WHILE);
    let ended = record(&cluster, item);
    assert_eq!((ended.is_idle(), ended.outcome), (true, Some(Outcome::Cancelled)));
    let request = ended.cancel_request().unwrap();
    assert_eq!((request.by(), request.why()), ("anna", "wrong month"));
    assert_eq!(cancelled(&cluster, holder), [(item, "wrong month".to_owned())]);
    let settled = cluster
        .events(holder)
        .iter()
        .any(|event| matches!(event, JobEvent::Settled { outcome: Outcome::Cancelled, .. }));
    assert!(settled, "{}", cluster.trace());
    assert_eq!(runs_of(&cluster, item), 1, "{}", cluster.trace());
}

#[test]
fn next_fire_of_cancelled_item_runs() {
    let Running { mut cluster, holder, item, .. } = running();
    let noted = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.request_cancel(item, "stuck");
    cluster.run_for(A_WHILE);
    cluster.end_cancelled_runs(holder);
    cluster.run_for(A_WHILE);
    let of_item = cluster.runs_for(noted).filter(|(_, start)| start.item.index() == item);
    let sources: Vec<_> = of_item.map(|(_, start)| start.source).collect();
    assert_eq!(sources, [RunSource::Misfire], "a noted fire is another one\n{}", cluster.trace());
    assert!(cluster.cancels(holder).is_empty(), "{}", cluster.trace());
    assert_eq!(record(&cluster, item).cancels(), None);
}

#[test]
fn leader_ends_run_whose_holder_is_lost_after_the_request() {
    let Running { mut cluster, leader, holder, item } = running();
    cluster.request_cancel(item, "wrong month");
    cluster.crash(holder);
    cluster.run_for(A_WHILE);
    let ended = record(&cluster, item);
    assert_eq!(ended.outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
    assert_eq!(cancelled(&cluster, leader), [(item, "wrong month".to_owned())]);
    assert_eq!(runs_of(&cluster, item), 1, "it was run again\n{}", cluster.trace());
}

#[test]
fn orphaned_run_is_ended_and_leaves_the_queue() {
    let Running { mut cluster, leader, holder, item } = running();
    // A paused server takes nothing over, so that the run waits.
    let server = format!("servers/10.0.0.{}", leader + 1);
    cluster.write(&server, "PAUSED");
    cluster.run_for(A_WHILE);
    cluster.crash(holder);
    cluster.run_for(A_WHILE);
    assert!(matches!(record(&cluster, item).state, LedgerState::Orphan(_)), "{}", cluster.trace());
    cluster.request_cancel(item, "wrong month");
    cluster.run_for(A_WHILE);
    assert_eq!(record(&cluster, item).outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
    assert!(cluster.nodes_below("leader/failover/items").is_empty(), "{}", cluster.trace());
    cluster.write(&server, "");
    cluster.run_for(A_WHILE);
    assert_eq!(runs_of(&cluster, item), 1, "it was run again\n{}", cluster.trace());
}

#[test]
fn cut_off_holder_stops_by_its_lease_and_leader_ends_the_run() {
    let Running { mut cluster, leader, holder, item } = running();
    cluster.request_cancel(item, "wrong month");
    cluster.send_event(holder, Event::Suspended);
    cluster.send_event(holder, Event::LeaseExpired);
    assert_eq!(cluster.interrupts(holder), 1, "{}", cluster.trace());
    cluster.replace_session(holder);
    cluster.run_for(A_WHILE);
    assert_eq!(record(&cluster, item).outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
    assert_eq!(cancelled(&cluster, leader).len(), 1, "{}", cluster.trace());
}

#[test]
fn request_for_earlier_run_conflicts() {
    let Running { mut cluster, item, .. } = running();
    let late = cluster.cancel_request(item, "too late");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert!(cluster.rejects(&late), "{}", cluster.trace());
    assert_eq!(record(&cluster, item).cancels(), None, "{}", cluster.trace());
}

#[test]
fn release_conflicts_with_request_that_came_first() {
    let Running { mut cluster, holder, item, .. } = running();
    let token = record(&cluster, item).token;
    // The run is cut short, and its hand-over has not reached the registry.
    let outcome = Outcome::Interrupted;
    let ended = ShardingItem::new(item);
    cluster.send_event(
        holder,
        Event::ItemFinished { item: ended, slot: 0, token, outcome, reason: None },
    );
    let hand_over = cluster.hold_all_commits();
    cluster.request_cancel(item, "wrong month");
    cluster.requeue(hand_over);
    cluster.run_for(A_WHILE);
    assert_eq!(record(&cluster, item).outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
    assert_eq!(runs_of(&cluster, item), 1, "it was handed over\n{}", cluster.trace());
}

#[test]
fn run_that_has_not_started_is_not_started() {
    let (mut cluster, item) = (Cluster::settled(1, &job_of(2)), 1);
    cluster.fire();
    cluster.execute_all(0);
    // The reply and the change that show the claim come after the request.
    cluster.request_cancel(item, "wrong month");
    cluster.lose_reply(0);
    cluster.deliver_together(0);
    cluster.run_for(A_WHILE);
    assert_eq!(runs_of(&cluster, item), 0, "{}", cluster.trace());
    assert_eq!(runs_of(&cluster, 0), 1, "{}", cluster.trace());
    assert_eq!(record(&cluster, item).outcome, Some(Outcome::Cancelled), "{}", cluster.trace());
}
