//! Stories of large jobs: instances follow their own items, and everything as soon as something is out of the ordinary.

#![expect(
    clippy::unwrap_used,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{CatchUp, Coordinator, Duty, Event, FireTime, JobConfig, RunSource};
use script::{Cluster, Delivery, job_of};
use sharding::ShardingItem;

const ITEMS: u32 = 64;
const A_WHILE: Duration = Duration::from_secs(2);
/// Long enough to follow less.
const LONG: Duration = Duration::from_secs(10);

/// A cluster that has been quiet for a while; all of it has then fired once.
fn quiet(instances: usize, config: &JobConfig) -> Cluster {
    calmed(Cluster::settled(instances, config))
}

fn calmed(mut cluster: Cluster) -> Cluster {
    cluster.run_for(LONG);
    run_once(&mut cluster);
    cluster
}

/// All items run for a fire, and end.
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

/// Everybody but the leader.
fn others(cluster: &Cluster, instances: usize) -> Vec<usize> {
    (0..instances).filter(|instance| cluster.leader() != Some(*instance)).collect()
}

fn assert_all_see_all(cluster: &Cluster, instances: usize) {
    let seen: Vec<_> = (0..instances).map(|instance| items_seen(cluster, instance)).collect();
    let items = usize::try_from(cluster.truth().config().unwrap().sharding_total_count).unwrap();
    assert_eq!(seen, vec![items; instances], "{}", cluster.story());
}

fn assert_all_run(cluster: &Cluster, fire: FireTime, case: &str) {
    let all: Vec<u32> = (0..ITEMS).collect();
    assert_eq!(cluster.items_run_for(fire), all, "{case}\n{}", cluster.story());
}

#[test]
fn each_follows_its_own_items_and_the_leader_all() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let leader = cluster.leader().unwrap();
    let told: Vec<_> = (0..4).map(|instance| cluster.n_told(instance)).collect();
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "a fire");
    for instance in 0..4 {
        let more = cluster.n_told(instance) - told[instance];
        // The record and the mark of an item, when it begins and when it ends.
        let (seen, told) = if instance == leader { (64, 4 * 64) } else { (16, 4 * 16) };
        assert_eq!((items_seen(&cluster, instance), more), (seen, told), "{instance}");
    }
}

#[test]
fn of_a_job_with_few_items_everybody_follows_all() {
    let cluster = quiet(4, &job_of(ITEMS - 1));
    assert_all_see_all(&cluster, 4);
}

#[test]
fn whoever_has_many_of_the_items_or_calls_back_follows_all() {
    let cluster = quiet(1, &job_of(ITEMS));
    assert_all_see_all(&cluster, 1);
    let cluster =
        Cluster::settled_with(2, &job_of(ITEMS), |coordinator, _| coordinator.calling_back());
    assert_all_see_all(&cluster, 2);
}

#[test]
fn whoever_is_elected_follows_all_and_assigns_what_the_former_leader_had() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let former = cluster.leader().unwrap();
    cluster.crash(former);
    cluster.run_for(A_WHILE);
    let leader = cluster.leader().unwrap();
    assert_ne!(leader, former);
    assert_eq!(items_seen(&cluster, leader), 64, "{}", cluster.story());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "under the next leader");
    cluster.run_for(LONG);
    run_once(&mut cluster);
    for instance in others(&cluster, 4).into_iter().filter(|instance| *instance != former) {
        assert!(items_seen(&cluster, instance) < 32, "{instance}\n{}", cluster.story());
    }
}

#[test]
fn nothing_is_assigned_by_whoever_sees_a_part_of_the_items() {
    // It sees with one change that it leads, and in which term.
    let mut cluster = calmed(Cluster::starting(4, &job_of(ITEMS), Delivery::WholeTransactions));
    let (former, next) = (cluster.leader().unwrap(), others(&cluster, 4)[0]);
    cluster.crash(former);
    let election = cluster.hold_back(next, Duty::Election);
    assert!(!cluster.refuses(election), "{}", cluster.story());
    cluster.step_until_sending(next, Duty::Resharding);
    assert_eq!(items_seen(&cluster, next), 64, "{}", cluster.story());
}

#[test]
fn nobody_follows_less_before_all_was_quiet_for_a_while() {
    let mut cluster = Cluster::settled(4, &job_of(ITEMS));
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "at the beginning");
    assert_all_see_all(&cluster, 4);
}

#[test]
fn items_that_come_to_an_instance_are_found() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let gone = others(&cluster, 4)[0];
    cluster.tell(gone, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(gone), "{}", cluster.story());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "somebody has left");
    cluster.run_for(LONG);
    run_once(&mut cluster);
    cluster.join();
    cluster.run_for(A_WHILE);
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "somebody has come");
}

/// The leader is busy, so that what is lost waits for the others, who did not follow it.
#[test]
fn what_is_left_unfinished_is_taken_over_by_those_who_did_not_follow_it() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let lost = others(&cluster, 4)[0];
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    for instance in others(&cluster, 4).into_iter().filter(|instance| *instance != lost) {
        cluster.end_runs(instance);
    }
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    let again = cluster.runs_for(fire).filter(|(_, start)| start.source == RunSource::Failover);
    let takers: Vec<usize> = again.map(|(instance, _)| instance).collect();
    assert_eq!(takers.len(), 16, "{}", cluster.story());
    assert!(takers.iter().all(|taker| cluster.leader() != Some(*taker)), "{takers:?}");
}

/// The items of somebody who has a name wait for him, so that nobody else gets any: the queue alone tells of them.
#[test]
fn when_something_waits_to_be_taken_over_everybody_follows_all() {
    let config = JobConfig { static_sharding: true, failover: true, ..job_of(ITEMS) };
    let named = |coordinator: Coordinator, instance| coordinator.named(format!("name-{instance}"));
    let mut cluster = calmed(Cluster::settled_with(4, &config, named));
    let lost = others(&cluster, 4)[0];
    cluster.fire();
    cluster.run_for(A_WHILE);
    for instance in (0..4).filter(|instance| *instance != lost) {
        cluster.end_runs(instance);
        cluster.tell(instance, Event::Paused);
    }
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    let seen: Vec<_> = (0..4).map(|instance| items_seen(&cluster, instance)).collect();
    let rest = (0..4).filter(|instance| *instance != lost);
    assert!(rest.into_iter().all(|instance| seen[instance] == 64), "{seen:?}\n{}", cluster.story());
}

#[test]
fn while_a_java_instance_is_there_everybody_follows_all() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    cluster.java_joins("10.0.0.99");
    cluster.run_for(LONG);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_all_see_all(&cluster, 4);
}

/// The leader has nothing to do and takes all of what was lost; the items move when these runs have ended.
#[test]
fn whoever_is_to_get_an_item_follows_it_before_it_has_it() {
    let config = JobConfig { failover: true, ..job_of(ITEMS) };
    let mut cluster = quiet(4, &config);
    let (leader, lost) = (cluster.leader().unwrap(), others(&cluster, 4)[0]);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_runs(leader);
    cluster.run_for(LONG);
    cluster.crash(lost);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.leader(), Some(leader), "{}", cluster.story());
    let next = cluster.fire();
    cluster.run_for(A_WHILE);
    let noted = (0..ITEMS).filter(|item| {
        let ledger = cluster.ledger(ShardingItem::new(*item));
        ledger.misfire.is_some_and(|range| range.last == next)
    });
    // Those that still run: of the other two, and what the leader took over.
    assert_eq!(noted.count(), 3 * 16, "{}", cluster.story());
}

/// It knows that it was given more items, and not which.
#[test]
fn a_request_is_not_taken_for_one_for_the_items_that_are_shown() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let [asked, gone] = [0, 1].map(|n| others(&cluster, 4)[n]);
    let node = format!("instances/{}", cluster.id_of(asked));
    cluster.write(&node, "TRIGGER");
    cluster.deliver_only(asked, &node);
    let too_late = cluster.take_back(asked, Duty::Trigger);
    cluster.tell(gone, Event::Drain);
    let leader = cluster.leader().unwrap();
    while cluster.truth().items_of(cluster.id_of(gone)).count() > 0 {
        let steps = |of| cluster.deliver(of) || cluster.execute(of) || cluster.reply(of);
        assert!([gone, leader].into_iter().any(steps), "it has to leave\n{}", cluster.story());
    }
    cluster.send(vec![too_late]);
    cluster.execute_all(asked);
    cluster.reply_all(asked);
    cluster.deliver_only(asked, "coordination/assignment");
    assert!(!cluster.is_sending(asked, Duty::Trigger), "{}", cluster.story());
    cluster.run_for(A_WHILE);
    let mine = cluster.truth().items_of(cluster.id_of(asked)).count();
    assert_eq!(cluster.n_executing(asked), mine, "{}", cluster.story());
}

#[test]
fn what_was_missed_is_not_taken_from_a_part_of_the_items() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let other = others(&cluster, 4)[0];
    let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
    cluster.configure(&JobConfig { catch_up, ..job_of(ITEMS) });
    cluster.deliver_only(other, "config");
    cluster.let_time_pass(A_WHILE);
    cluster.fire();
    assert!(!cluster.is_sending(other, Duty::Claim), "{}", cluster.story());
}

#[test]
fn of_a_job_that_is_not_monitored_everybody_follows_all() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(ITEMS) };
    let cluster = quiet(4, &unmonitored);
    assert_all_see_all(&cluster, 4);
}

/// Whoever has it now has as many items as it should, for all it knows.
#[test]
fn an_owner_that_somebody_has_changed_is_assigned_anew() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let [former, next] = [0, 1].map(|n| cluster.id_of(others(&cluster, 4)[n]).clone());
    let item = (0..ITEMS).find(|item| cluster.owner(*item) == Some(&former)).unwrap();
    cluster.write(&format!("sharding/{item}/instance"), next.as_str());
    cluster.run_for(A_WHILE);
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "an owner was changed by hand");
}

#[test]
fn when_a_job_has_shrunk_less_is_followed_again() {
    let mut cluster = quiet(4, &job_of(ITEMS + 1));
    cluster.configure(&job_of(ITEMS));
    cluster.run_for(A_WHILE);
    let cluster = calmed(cluster);
    for instance in others(&cluster, 4) {
        assert!(items_seen(&cluster, instance) < 32, "{instance}\n{}", cluster.story());
    }
}

#[test]
fn whoever_has_lost_many_items_follows_those_that_it_has() {
    let config = JobConfig { strategy: "MINIMAL_MOVEMENT".to_owned(), ..job_of(ITEMS) };
    let mut cluster = calmed(Cluster::starting(3, &config, Delivery::WholeTransactions));
    for _ in 0..5 {
        cluster.join();
    }
    cluster.run_for(A_WHILE);
    run_once(&mut cluster);
    for instance in others(&cluster, 3) {
        assert_eq!(items_seen(&cluster, instance), 8, "{instance}\n{}", cluster.story());
    }
}

#[test]
fn an_instance_in_another_session_follows_all_until_it_has_items_again() {
    let mut cluster = quiet(4, &job_of(ITEMS));
    let other = others(&cluster, 4)[0];
    cluster.reconnect(other);
    cluster.run_for(A_WHILE);
    assert_eq!(items_seen(&cluster, other), 64, "{}", cluster.story());
    let fire = run_once(&mut cluster);
    assert_all_run(&cluster, fire, "in another session");
}
