//! Scenario tests of large jobs: instances watch their own items, and all items in special cases.

use std::time::Duration;

use crate::script::{Cluster, Delivery, job_of};
use coordination::{CatchUp, Coordinator, Duty, Event, FireTime, JobConfig, RunSource};
use sharding::ShardingItem;

const ITEMS: u32 = 64;
const A_WHILE: Duration = Duration::from_secs(2);
/// Long enough for watches to become narrow.
const LONG: Duration = Duration::from_secs(10);

/// Returns a cluster that was idle long enough for narrow watches and has then fired once.
fn quiet(instances: usize, config: &JobConfig) -> Cluster {
    after_quiet_period(Cluster::settled(instances, config))
}

fn after_quiet_period(mut cluster: Cluster) -> Cluster {
    cluster.run_for(LONG);
    run_once(&mut cluster);
    cluster
}

/// Fires and runs all items to their end.
fn run_once(cluster: &mut Cluster) -> FireTime {
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    fire
}

fn items_seen(cluster: &Cluster, instance: usize) -> usize {
    cluster.view_of(instance).items().count()
}

/// Returns the instances that do not lead.
fn followers(cluster: &Cluster, instances: usize) -> Vec<usize> {
    (0..instances).filter(|instance| cluster.leader() != Some(*instance)).collect()
}

fn assert_all_see_all(cluster: &Cluster, instances: usize) {
    let seen: Vec<_> = (0..instances).map(|instance| items_seen(cluster, instance)).collect();
    let items =
        usize::try_from(cluster.registry_view().config().unwrap().sharding_total_count).unwrap();
    assert_eq!(seen, vec![items; instances], "{}", cluster.trace());
}

fn assert_all_run(cluster: &Cluster, fire: FireTime, case: &str) {
    let all: Vec<u32> = (0..ITEMS).collect();
    assert_eq!(cluster.items_run_for(fire), all, "{case}\n{}", cluster.trace());
}

#[test]
fn leader_watches_all_items_and_followers_their_own() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let leader = cluster.leader().unwrap();
    let before: Vec<_> = (0..4).map(|instance| cluster.n_changes_sent(instance)).collect();
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "narrow watches");
    for (instance, before) in before.into_iter().enumerate() {
        let sent = cluster.n_changes_sent(instance) - before;
        // Each run changes the record and the mark of its item at the claim and at the release.
        let (items, changes) = if instance == leader { (64, 4 * 64) } else { (16, 4 * 16) };
        assert_eq!((items_seen(&cluster, instance), sent), (items, changes), "{instance}");
    }
}

#[test]
fn all_instances_watch_all_items_of_small_job() {
    let cluster = quiet(4, &job_of(ITEMS - 1));
    assert_all_see_all(&cluster, 4);
}

#[test]
fn owner_of_most_items_and_callback_instance_watch_all_items() {
    let cluster = quiet(1, &job_of(ITEMS));
    assert_all_see_all(&cluster, 1);
    let cluster =
        Cluster::settled_with(2, &job_of(ITEMS), |coordinator, _| coordinator.calling_back());
    assert_all_see_all(&cluster, 2);
}

#[test]
fn new_leader_watches_all_items_and_reassigns_those_of_lost_leader() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let former = cluster.leader().unwrap();
    cluster.crash(former);
    cluster.run_for(A_WHILE);
    let leader = cluster.leader().unwrap();
    assert_ne!(leader, former);
    assert_eq!(items_seen(&cluster, leader), 64, "{}", cluster.trace());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "under the next leader");
    cluster.run_for(LONG);
    run_once(&mut cluster);
    for instance in followers(&cluster, 4).into_iter().filter(|instance| *instance != former) {
        assert!(items_seen(&cluster, instance) < 32, "{instance}\n{}", cluster.trace());
    }
}

#[test]
fn new_leader_does_not_assign_by_narrow_view() {
    // With whole transactions, one event shows the new leader its node and its term.
    let cluster = Cluster::starting(4, &job_of(ITEMS), Delivery::WholeTransactions);
    let mut cluster = after_quiet_period(cluster);
    let (former, next) = (cluster.leader().unwrap(), followers(&cluster, 4)[0]);
    cluster.crash(former);
    let election = cluster.plan_and_hold(next, Duty::Election);
    assert!(!cluster.is_rejected(election), "{}", cluster.trace());
    cluster.step_until_queued(next, Duty::Resharding);
    assert_eq!(items_seen(&cluster, next), 64, "{}", cluster.trace());
}

#[test]
fn watch_becomes_narrow_only_after_quiet_period() {
    let mut cluster = Cluster::settled(4, &job_of(ITEMS));
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "before the quiet period");
    assert_all_see_all(&cluster, 4);
}

#[test]
fn new_owner_finds_its_items_with_narrow_watch() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let leaving = followers(&cluster, 4)[0];
    cluster.send_event(leaving, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(leaving), "{}", cluster.trace());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "an instance has left");
    cluster.run_for(LONG);
    run_once(&mut cluster);
    cluster.join();
    cluster.run_for(A_WHILE);
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "an instance has joined");
}

/// The leader is busy, so the orphans wait for instances that did not watch their items.
#[test]
fn orphans_are_taken_over_by_instances_that_did_not_watch_them() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let lost = followers(&cluster, 4)[0];
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    for instance in followers(&cluster, 4).into_iter().filter(|instance| *instance != lost) {
        cluster.end_runs(instance);
    }
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    let takeovers = cluster.runs_for(fire).filter(|(_, start)| start.source == RunSource::Failover);
    let takers: Vec<usize> = takeovers.map(|(instance, _)| instance).collect();
    assert_eq!(takers.len(), 16, "{}", cluster.trace());
    assert!(takers.iter().all(|taker| cluster.leader() != Some(*taker)), "{takers:?}");
}

/// With static sharding the items of a lost instance wait for it, so no assignment changes. Only
/// the failover queue shows that items wait for a takeover.
#[test]
fn all_instances_watch_all_items_while_orphans_are_queued() {
    let config = job_of(ITEMS).with(|it| {
        it.static_sharding = true;
        it.failover = true;
    });
    let named = |coordinator: Coordinator, instance| coordinator.named(format!("name-{instance}"));
    let mut cluster = after_quiet_period(Cluster::settled_with(4, &config, named));
    let lost = followers(&cluster, 4)[0];
    cluster.fire();
    cluster.run_for(A_WHILE);
    for instance in (0..4).filter(|instance| *instance != lost) {
        cluster.end_runs(instance);
        cluster.send_event(instance, Event::Paused);
    }
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    let seen: Vec<_> = (0..4).map(|instance| items_seen(&cluster, instance)).collect();
    let rest = (0..4).filter(|instance| *instance != lost);
    assert!(rest.into_iter().all(|instance| seen[instance] == 64), "{seen:?}\n{}", cluster.trace());
}

#[test]
fn all_instances_watch_all_items_beside_java_instance() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    cluster.java_joins("10.0.0.99");
    cluster.run_for(LONG);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_all_see_all(&cluster, 4);
}

/// The idle leader takes over all orphans. Their items are pending until these runs have ended.
#[test]
fn next_owner_watches_its_pending_items() {
    let config = job_of(ITEMS).with(|it| it.failover = true);
    let mut cluster = quiet(4, &config);
    let (leader, lost) = (cluster.leader().unwrap(), followers(&cluster, 4)[0]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_runs(leader);
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(leader), "{}", cluster.trace());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    let noted = (0..ITEMS).filter(|item| {
        let ledger = cluster.ledger(ShardingItem::new(*item));
        ledger.misfire.is_some_and(|range| range.last == next)
    });
    // Busy are the items of the two other followers, and those that the leader took over.
    assert_eq!(noted.count(), 3 * 16, "{}", cluster.trace());
}

/// The instance knows from the assignment that it owns more items, but not which ones.
#[test]
fn request_covers_items_outside_narrow_view() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let [triggered, leaving] = [0, 1].map(|n| followers(&cluster, 4)[n]);
    let node = format!("instances/{}", cluster.id_of(triggered));
    cluster.write(&node, "TRIGGER");
    cluster.deliver_only(triggered, &node);
    let stale = cluster.hold_commit(triggered, Duty::Trigger);
    cluster.send_event(leaving, Event::Drain);
    let leader = cluster.leader().unwrap();
    while cluster.registry_view().items_of(cluster.id_of(leaving)).count() > 0 {
        let mut step = |of| cluster.deliver(of) || cluster.execute(of) || cluster.reply(of);
        let stepped = step(leaving) || step(leader);
        assert!(stepped, "the draining instance keeps its items\n{}", cluster.trace());
    }
    cluster.requeue(vec![stale]);
    cluster.execute_all(triggered);
    cluster.reply_all(triggered);
    cluster.deliver_only(triggered, "coordination/assignment");
    assert!(!cluster.has_queued_commit(triggered, Duty::Trigger), "{}", cluster.trace());
    cluster.run_for(A_WHILE);
    let owned = cluster.registry_view().items_of(cluster.id_of(triggered)).count();
    assert_eq!(cluster.n_executing(triggered), owned, "{}", cluster.trace());
}

#[test]
fn catch_up_waits_for_complete_view() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let follower = followers(&cluster, 4)[0];
    let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
    cluster.configure(&job_of(ITEMS).with(|it| it.catch_up = catch_up));
    cluster.deliver_only(follower, "config");
    cluster.advance_clocks(A_WHILE);
    cluster.fire();
    assert!(!cluster.has_queued_commit(follower, Duty::Claim), "{}", cluster.trace());
}

#[test]
fn all_instances_watch_all_items_of_unmonitored_job() {
    let unmonitored = job_of(ITEMS).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let cluster = quiet(4, &unmonitored);
    assert_all_see_all(&cluster, 4);
}

/// The new owner sees as many items as the assignment gives it, so it cannot detect the change.
#[test]
fn externally_changed_owner_is_reassigned() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let [former, next] = [0, 1].map(|n| cluster.id_of(followers(&cluster, 4)[n]).clone());
    let item = (0..ITEMS).find(|item| cluster.owner(*item) == Some(&former)).unwrap();
    cluster.write(&format!("sharding/{item}/instance"), next.as_str());
    cluster.run_for(A_WHILE);
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "an operator changed an owner");
}

#[test]
fn watch_becomes_narrow_again_after_item_count_decreased() {
    let mut cluster = quiet(4, &job_of(ITEMS + 1));
    cluster.configure(&job_of(ITEMS));
    cluster.run_for(A_WHILE);
    let cluster = after_quiet_period(cluster);
    for instance in followers(&cluster, 4) {
        assert!(items_seen(&cluster, instance) < 32, "{instance}\n{}", cluster.trace());
    }
}

#[test]
fn watch_becomes_narrow_after_most_items_moved_away() {
    let config = job_of(ITEMS).with(|it| it.strategy = "MINIMAL_MOVEMENT".to_owned());
    let cluster = Cluster::starting(3, &config, Delivery::WholeTransactions);
    let mut cluster = after_quiet_period(cluster);
    for _ in 0..5 {
        cluster.join();
    }
    cluster.run_for(A_WHILE);
    run_once(&mut cluster);
    for instance in followers(&cluster, 3) {
        assert_eq!(items_seen(&cluster, instance), 8, "{instance}\n{}", cluster.trace());
    }
}

#[test]
fn instance_with_new_session_watches_all_items_until_it_owns_some() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let follower = followers(&cluster, 4)[0];
    cluster.replace_session(follower);
    cluster.run_for(A_WHILE);
    assert_eq!(items_seen(&cluster, follower), 64, "{}", cluster.trace());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "a follower has a new session");
}
