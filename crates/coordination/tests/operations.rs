//! Stories of operators, and of what jobs can ask for: requests, disabled items, paused servers, catching up, static
//! sharding, callbacks once per cluster, and what the records tell afterwards.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{
    CatchUp, DropReason, Event, FireTime, JobConfig, JobEvent, MissReason, OnceStage, Outcome,
    RunSource, StartItem,
};
use reg_center::{Limits, Version};
use script::{Cluster, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const A_SECOND: Duration = Duration::from_secs(1);

fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Lets all runs end as soon as they have begun, for a while.
fn run_through(cluster: &mut Cluster) {
    for _ in 0..20 {
        cluster.run_for(Duration::from_millis(100));
        cluster.end_all_runs();
    }
}

fn sources(cluster: &Cluster) -> Vec<(u32, RunSource)> {
    let mut runs: Vec<_> = cluster.runs().map(|(_, s)| (s.item.index(), s.source)).collect();
    runs.sort_unstable();
    runs
}

fn fires_of(cluster: &Cluster, index: u32) -> Vec<(FireTime, RunSource)> {
    let of_item = cluster.runs().filter(|(_, start)| start.item.index() == index);
    of_item.map(|(_, start)| (start.fire, start.source)).collect()
}

#[test]
fn a_run_whose_reply_was_lost_sees_the_configuration_that_its_claim_checked() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute(FIRST);
    cluster.configure(&JobConfig { job_parameter: "newer".into(), ..job_of(2) });
    cluster.lose_reply(FIRST);
    cluster.let_the_latest_change_overtake(FIRST);
    cluster.deliver(FIRST);
    cluster.let_time_pass(A_SECOND);
    cluster.tell(FIRST, Event::Wake);
    cluster.run_for(A_WHILE);
    let seen = |start: &StartItem| (start.config.job_parameter.clone(), start.config_version);
    let seen: Vec<_> = cluster.runs().map(|(_, start)| seen(start)).collect();
    assert_eq!(
        seen,
        [(String::new(), Version(0)), (String::new(), Version(0))],
        "{}",
        cluster.story()
    );
    assert_eq!(cluster.ledger(item(0)).config, Some(Version(0)));
}

/// The node that the instance adds again comes to the version under which the claim was decided.
#[test]
fn a_claim_that_has_not_seen_its_server_taken_away_and_paused_fails() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let claims = cluster.hold_commits_back();
    assert_eq!(claims.len(), 1, "{}", cluster.story());
    cluster.remove("servers/10.0.0.1");
    cluster.deliver_all(FIRST);
    assert!(cluster.execute(FIRST), "it does not add its server again\n{}", cluster.story());
    cluster.write("servers/10.0.0.1", "PAUSED");
    cluster.send(claims);
    cluster.execute_all(FIRST);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
}

#[test]
fn a_claim_that_has_not_seen_an_item_disabled_fails() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let other = 1 - cluster.leader().unwrap();
    let theirs =
        [0, 1].into_iter().find(|i| cluster.owner(*i) == Some(cluster.id_of(other))).unwrap();
    cluster.fire();
    let claims = cluster.hold_commits_back();
    cluster.create(&format!("sharding/{theirs}/disabled"), "");
    let leader = cluster.leader().unwrap();
    cluster.deliver_all(leader);
    cluster.execute_all(leader);
    assert!(cluster.ledger(item(theirs)).disabled, "not flagged\n{}", cluster.story());
    cluster.send(claims);
    run_through(&mut cluster);
    assert!(fires_of(&cluster, theirs).is_empty(), "it ran although disabled\n{}", cluster.story());
    assert_eq!(cluster.ledger(item(theirs)).outcome, Some(Outcome::Disabled));

    cluster.remove(&format!("sharding/{theirs}/disabled"));
    cluster.run_for(A_SECOND);
    let fire = cluster.fire();
    run_through(&mut cluster);
    assert_eq!(fires_of(&cluster, theirs), [(fire, RunSource::Normal)], "{}", cluster.story());
}

#[test]
fn on_a_paused_server_nothing_starts_and_nothing_moves() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let owners = [cluster.owner(0).cloned(), cluster.owner(1).cloned()];
    let mine =
        [0, 1].into_iter().find(|i| cluster.owner(*i) == Some(cluster.id_of(FIRST))).unwrap();
    cluster.fire();
    let claims = cluster.hold_commits_back();
    cluster.write("servers/10.0.0.1", "PAUSED");
    cluster.send(claims);
    run_through(&mut cluster);
    let fire = cluster.fire();
    run_through(&mut cluster);
    assert!(fires_of(&cluster, mine).is_empty(), "it ran although paused\n{}", cluster.story());
    assert_eq!([cluster.owner(0).cloned(), cluster.owner(1).cloned()], owners, "items moved");
    let missed = JobEvent::Missed { item: None, fire, reason: MissReason::Paused };
    assert!(cluster.events(FIRST).contains(&missed), "{}", cluster.story());

    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_SECOND);
    let fire = cluster.fire();
    run_through(&mut cluster);
    assert_eq!(fires_of(&cluster, mine), [(fire, RunSource::Normal)], "{}", cluster.story());
}

#[test]
fn requests_for_a_running_item_wait_and_each_runs_once() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    for _ in 0..2 {
        cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.items_run(), [0, 1], "nothing is run beside itself\n{}", cluster.story());
    run_through(&mut cluster);
    use RunSource::{Manual, Normal};
    let expected = [(0, Normal), (0, Manual), (0, Manual), (1, Normal), (1, Manual), (1, Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.story());
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "left behind: {left:?}\n{}", cluster.story());
}

#[test]
fn a_request_outlives_whoever_left_it() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let asks = 1 - cluster.leader().unwrap();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.tell(asks, Event::TriggerRequested { parameter: None });
    cluster.execute_all(asks);
    cluster.crash(asks);
    run_through(&mut cluster);
    run_through(&mut cluster);
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.map(|(i, _)| i).collect::<Vec<_>>(), [0, 1], "{}", cluster.story());
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "left behind: {left:?}\n{}", cluster.story());
}

/// The leader has taken the request away as that of somebody who is gone. Whether it was ever there is not to be seen any
/// more, so it is not left again.
#[test]
fn a_request_whose_reply_went_with_the_session_is_not_left_again() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let asks = 1 - cluster.leader().unwrap();
    cluster.fire();
    run_through(&mut cluster);
    cluster.tell(asks, Event::TriggerRequested { parameter: None });
    cluster.execute_all(asks);
    cluster.lose_session(asks);
    run_through(&mut cluster);
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "left behind: {left:?}\n{}", cluster.story());
    cluster.connect_again(asks);
    run_through(&mut cluster);
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.map(|(i, _)| i).collect::<Vec<_>>(), [0, 1], "{}", cluster.story());
    let dropped = |event: &JobEvent| match event {
        JobEvent::RequestDropped { reason, .. } => Some(*reason),
        _ => None,
    };
    let dropped: Vec<_> = cluster.events(asks).iter().filter_map(dropped).collect();
    assert_eq!(dropped, [DropReason::InDoubt], "{}", cluster.story());
}

#[test]
fn a_request_that_was_not_sent_waits_for_the_next_life_and_one_that_is_seen_there_has_arrived() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.fire();
    run_through(&mut cluster);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.execute_all(FIRST);
    cluster.lose_session(FIRST);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.connect_again(FIRST);
    (0..2).for_each(|_| run_through(&mut cluster));
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.count(), 2, "{}", cluster.story());
    let dropped = |event: &&JobEvent| matches!(event, JobEvent::RequestDropped { .. });
    assert_eq!(cluster.events(FIRST).iter().find(dropped), None, "{}", cluster.story());
}

#[test]
fn orphans_do_not_wait_for_ever_for_somebody_idle() {
    let mut cluster = Cluster::settled(3, &job_of(3));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    // Nobody is idle: everybody runs an item that does not end.
    cluster.crash(2);
    cluster.run_for(A_WHILE);
    let takeovers = cluster.runs_for(fire).filter(|(_, s)| s.source == RunSource::Failover);
    assert_eq!(takeovers.count(), 1, "{}", cluster.story());
}

#[test]
fn a_job_that_catches_up_runs_each_missed_fire_once_and_in_order() {
    let catch_up = Some(CatchUp { window_seconds: 60, max: 10 });
    let mut cluster = Cluster::settled(2, &JobConfig { catch_up, ..job_of(2) });
    let first = cluster.fire();
    run_through(&mut cluster);
    let missed = [FireTime(first.0 + 1_000), FireTime(first.0 + 2_000)];
    cluster.run_for(A_SECOND);
    let at = cluster.fire_after(&[first, missed[0], missed[1]]);
    run_through(&mut cluster);
    use RunSource::{Misfire, Normal};
    let expected = [(first, Normal), (missed[0], Misfire), (missed[1], Misfire), (at, Normal)];
    for index in 0..2 {
        assert_eq!(fires_of(&cluster, index), expected, "item {index}\n{}", cluster.story());
    }
}

#[test]
fn with_static_sharding_an_instance_that_comes_back_finds_its_items() {
    let config = JobConfig { static_sharding: true, ..job_of(4) };
    let mut cluster = Cluster::settled_with(2, &config, |c, n| c.named(format!("worker-{n}")));
    let before: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    let during: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    assert_eq!(during, before, "items wait for their instance\n{}", cluster.story());
    cluster.join_as(SECOND);
    cluster.run_for(A_WHILE);
    let (gone, back) = (cluster.id_of(SECOND).clone(), cluster.id_of(2).clone());
    let expected: Vec<_> = before
        .into_iter()
        .map(|owner| owner.map(|id| if id == gone { back.clone() } else { id }))
        .collect();
    let after: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    assert_eq!(after, expected, "{}", cluster.story());
}

#[test]
fn callbacks_are_called_once_per_fire_by_one_instance() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    let mut calls = Vec::new();
    for _ in 0..3 {
        let fire = cluster.fire();
        cluster.run_for(A_SECOND);
        let started = cluster.return_calls();
        cluster.run_for(A_SECOND);
        assert!(
            cluster.return_calls().is_empty(),
            "completed although it runs\n{}",
            cluster.story()
        );
        cluster.end_all_runs();
        cluster.run_for(A_SECOND);
        let completed = cluster.return_calls();
        cluster.run_for(A_SECOND);
        let stages = started.into_iter().chain(completed).map(|(_, call)| call);
        calls.push((fire, stages.map(|c| (c.stage, c.fire, c.token.0)).collect::<Vec<_>>()));
    }
    for (n, (fire, calls)) in (0..).zip(calls) {
        let expected =
            [(OnceStage::Started, fire, 2 * n + 1), (OnceStage::Completed, fire, 2 * n + 2)];
        assert_eq!(calls, expected, "{}", cluster.story());
    }
}

#[test]
fn a_callback_that_died_with_its_instance_is_called_again_under_a_greater_token() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    let fire = cluster.fire();
    cluster.run_for(A_SECOND);
    let caller = cluster.caller().expect("somebody calls");
    cluster.crash(caller);
    cluster.run_for(A_WHILE);
    let again = cluster.return_calls();
    let expected: Vec<_> =
        again.iter().map(|(who, c)| (*who, c.stage, c.fire, c.token.0)).collect();
    assert_eq!(expected, [(1 - caller, OnceStage::Started, fire, 2)], "{}", cluster.story());
}

#[test]
fn transactions_stay_within_what_the_registry_takes() {
    let limits = Limits { max_ops: 40, max_bytes: 700_000 };
    let mut cluster = Cluster::settled_with(2, &job_of(30), |coordinator, _| {
        coordinator.limited_to(Limits { max_ops: 40, max_bytes: 700_000 })
    });
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    run_through(&mut cluster);
    assert_eq!(cluster.items_run_for(fire).len(), 30, "{}", cluster.story());
    assert!(cluster.most_operations() <= limits.max_ops, "{}", cluster.most_operations());
    assert!(cluster.most_operations() > 10, "{}", cluster.most_operations());
}

#[test]
fn the_record_says_when_an_item_began_and_ended_and_what_comes_next() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let fire = cluster.fire();
    cluster.run_for(A_SECOND);
    cluster.end_all_runs();
    cluster.run_for(A_SECOND);
    let ledger = cluster.ledger(item(0));
    let times = (ledger.last_fire, ledger.next_fire, ledger.began_ms, ledger.ended_ms);
    let next = FireTime(fire.0 + 1_000);
    assert_eq!(
        times,
        (Some(fire), Some(next), Some(fire.0), Some(fire.0 + 1_000)),
        "{}",
        cluster.story()
    );
}
