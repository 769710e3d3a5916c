//! Scenario tests of operator actions and job options: manual requests, disabled items, paused
//! servers, catch-up, static sharding, once-per-cluster callbacks and ledger records.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    AuditLog, BackfillLog, CatchUp, DropReason, Event, FireTime, FormerConfigs, JobEvent, Layout,
    Ledger, MissReason, NodeKind, OnceStage, OperatorStep, Outcome, RunSource, ServerIp,
    ServerState, StartItem,
};
use reg_center::{Expect, Limits, Op, Version};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const A_SECOND: Duration = Duration::from_secs(1);

fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Runs the cluster for two seconds and ends all runs soon after they begin.
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
fn run_with_lost_claim_reply_uses_configuration_of_its_claim() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute(FIRST);
    cluster.configure(&job_of(2).with(|it| it.job_parameter = "newer".into()));
    cluster.lose_reply(FIRST);
    cluster.move_latest_change_to_front(FIRST);
    cluster.deliver(FIRST);
    cluster.advance_clocks(A_SECOND);
    cluster.send_event(FIRST, Event::Wake);
    cluster.run_for(A_WHILE);
    let seen = |start: &StartItem| (start.config.job_parameter.clone(), start.config_version);
    let seen: Vec<_> = cluster.runs().map(|(_, start)| seen(start)).collect();
    assert_eq!(
        seen,
        [(String::new(), Version(0)), (String::new(), Version(0))],
        "{}",
        cluster.trace()
    );
    assert_eq!(cluster.ledger(item(0)).config, Some(Version(0)));
}

/// The recreated server node reaches the version that the claim expects.
#[test]
fn claim_conflicts_when_server_was_recreated_and_paused() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let claims = cluster.hold_all_commits();
    assert_eq!(claims.len(), 1, "{}", cluster.trace());
    cluster.remove("servers/10.0.0.1");
    cluster.deliver_all(FIRST);
    assert!(cluster.execute(FIRST), "the server node is not recreated\n{}", cluster.trace());
    cluster.write("servers/10.0.0.1", "PAUSED");
    cluster.requeue(claims);
    cluster.execute_all(FIRST);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
}

#[test]
fn claim_conflicts_when_item_was_disabled() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let other = 1 - cluster.leader().unwrap();
    let owner = cluster.id_of(other);
    let index = [0, 1].into_iter().find(|i| cluster.owner(*i) == Some(owner)).unwrap();
    cluster.fire();
    let claims = cluster.hold_all_commits();
    cluster.create(&format!("sharding/{index}/disabled"), "");
    let leader = cluster.leader().unwrap();
    cluster.deliver_all(leader);
    cluster.execute_all(leader);
    let record = cluster.ledger(item(index));
    assert!(record.disabled, "the record is not disabled\n{}", cluster.trace());
    cluster.requeue(claims);
    run_through(&mut cluster);
    assert!(fires_of(&cluster, index).is_empty(), "a disabled item ran\n{}", cluster.trace());
    assert_eq!(cluster.ledger(item(index)).outcome, Some(Outcome::Disabled));

    cluster.remove(&format!("sharding/{index}/disabled"));
    cluster.run_for(A_SECOND);
    let fire = cluster.fire();
    run_through(&mut cluster);
    assert_eq!(fires_of(&cluster, index), [(fire, RunSource::Normal)], "{}", cluster.trace());
}

#[test]
fn paused_server_starts_nothing_and_keeps_its_items() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let owners = [cluster.owner(0).cloned(), cluster.owner(1).cloned()];
    let first = cluster.id_of(FIRST);
    let index = [0, 1].into_iter().find(|i| cluster.owner(*i) == Some(first)).unwrap();
    cluster.fire();
    let claims = cluster.hold_all_commits();
    cluster.write("servers/10.0.0.1", "PAUSED");
    cluster.requeue(claims);
    run_through(&mut cluster);
    let fire = cluster.fire();
    run_through(&mut cluster);
    let fires = fires_of(&cluster, index);
    assert!(fires.is_empty(), "an item ran on a paused server\n{}", cluster.trace());
    let after = [cluster.owner(0).cloned(), cluster.owner(1).cloned()];
    assert_eq!(after, owners, "owners changed");
    let missed = JobEvent::Missed { item: None, fire, reason: MissReason::Paused };
    assert!(cluster.events(FIRST).contains(&missed), "{}", cluster.trace());

    cluster.write("servers/10.0.0.1", "");
    cluster.run_for(A_SECOND);
    let fire = cluster.fire();
    run_through(&mut cluster);
    assert_eq!(fires_of(&cluster, index), [(fire, RunSource::Normal)], "{}", cluster.trace());
}

#[test]
fn requests_for_running_item_wait_and_each_run_once() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    for _ in 0..2 {
        cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
        cluster.run_for(A_WHILE);
    }
    assert_eq!(cluster.items_run(), [0, 1], "an item runs twice at a time\n{}", cluster.trace());
    run_through(&mut cluster);
    use RunSource::{Manual, Normal};
    let expected = [(0, Normal), (0, Manual), (0, Manual), (1, Normal), (1, Manual), (1, Manual)];
    assert_eq!(sources(&cluster), expected, "{}", cluster.trace());
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "requests {left:?} remain\n{}", cluster.trace());
}

#[test]
fn request_outlives_its_sender() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let sender = 1 - cluster.leader().unwrap();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.send_event(sender, Event::TriggerRequested { parameter: None });
    cluster.execute_all(sender);
    cluster.crash(sender);
    run_through(&mut cluster);
    run_through(&mut cluster);
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.map(|(i, _)| i).collect::<Vec<_>>(), [0, 1], "{}", cluster.trace());
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "requests {left:?} remain\n{}", cluster.trace());
}

/// The leader has removed the request because its sender was lost. The sender cannot find out
/// whether the request arrived, so it does not send it again.
#[test]
fn request_in_doubt_after_session_loss_is_dropped() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let sender = 1 - cluster.leader().unwrap();
    cluster.fire();
    run_through(&mut cluster);
    cluster.send_event(sender, Event::TriggerRequested { parameter: None });
    cluster.execute_all(sender);
    cluster.lose_session(sender);
    run_through(&mut cluster);
    let left = cluster.nodes_below("coordination/triggers");
    assert!(left.is_empty(), "requests {left:?} remain\n{}", cluster.trace());
    cluster.open_new_session(sender);
    run_through(&mut cluster);
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.map(|(i, _)| i).collect::<Vec<_>>(), [0, 1], "{}", cluster.trace());
    let dropped = |event: &JobEvent| match event {
        JobEvent::RequestDropped { reason, .. } => Some(*reason),
        _ => None,
    };
    let dropped: Vec<_> = cluster.events(sender).iter().filter_map(dropped).collect();
    assert_eq!(dropped, [DropReason::InDoubt], "{}", cluster.trace());
}

/// The first request is found in the registry after the session loss, and the second was not sent.
#[test]
fn unsent_request_is_sent_in_next_session_and_arrived_one_is_kept() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.fire();
    run_through(&mut cluster);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.execute_all(FIRST);
    cluster.lose_session(FIRST);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.open_new_session(FIRST);
    (0..2).for_each(|_| run_through(&mut cluster));
    let manual = sources(&cluster).into_iter().filter(|(_, s)| *s == RunSource::Manual);
    assert_eq!(manual.count(), 2, "{}", cluster.trace());
    let dropped = |event: &&JobEvent| matches!(event, JobEvent::RequestDropped { .. });
    assert_eq!(cluster.events(FIRST).iter().find(dropped), None, "{}", cluster.trace());
}

#[test]
fn busy_instances_take_over_orphans_when_none_is_idle() {
    let mut cluster = Cluster::settled(3, &job_of(3));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    // Each of the other instances runs an item that does not end.
    cluster.crash(2);
    cluster.run_for(A_WHILE);
    let takeovers = cluster.runs_for(fire).filter(|(_, s)| s.source == RunSource::Failover);
    assert_eq!(takeovers.count(), 1, "{}", cluster.trace());
}

#[test]
fn catch_up_runs_each_missed_fire_once_in_order() {
    let catch_up = Some(CatchUp { window_seconds: 60, max: 10 });
    let mut cluster = Cluster::settled(2, &job_of(2).with(|it| it.catch_up = catch_up));
    let first = cluster.fire();
    run_through(&mut cluster);
    let missed = [FireTime(first.0 + 1_000), FireTime(first.0 + 2_000)];
    cluster.run_for(A_SECOND);
    let at = cluster.fire_after(&[first, missed[0], missed[1]]);
    run_through(&mut cluster);
    use RunSource::{Misfire, Normal};
    let expected = [(first, Normal), (missed[0], Misfire), (missed[1], Misfire), (at, Normal)];
    for index in 0..2 {
        assert_eq!(fires_of(&cluster, index), expected, "item {index}\n{}", cluster.trace());
    }
}

#[test]
fn static_sharding_returns_items_to_restarted_instance() {
    let config = job_of(4).with(|it| it.static_sharding = true);
    let mut cluster = Cluster::settled_with(2, &config, |c, n| c.named(format!("worker-{n}")));
    let before: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    let during: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    assert_eq!(during, before, "items of a lost instance moved\n{}", cluster.trace());
    cluster.join_as(SECOND);
    cluster.run_for(A_WHILE);
    let (lost, restarted) = (cluster.id_of(SECOND).clone(), cluster.id_of(2).clone());
    let expected: Vec<_> = before
        .into_iter()
        .map(|owner| owner.map(|id| if id == lost { restarted.clone() } else { id }))
        .collect();
    let after: Vec<_> = (0..4).map(|i| cluster.owner(i).cloned()).collect();
    assert_eq!(after, expected, "{}", cluster.trace());
}

#[test]
fn callbacks_run_once_per_fire_on_one_instance() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    let mut calls = Vec::new();
    for _ in 0..3 {
        let fire = cluster.fire();
        cluster.run_for(A_SECOND);
        let started = cluster.return_callbacks();
        cluster.run_for(A_SECOND);
        assert!(
            cluster.return_callbacks().is_empty(),
            "the completed callback runs before the fire has ended\n{}",
            cluster.trace()
        );
        cluster.end_all_runs();
        cluster.run_for(A_SECOND);
        let completed = cluster.return_callbacks();
        cluster.run_for(A_SECOND);
        let stages = started.into_iter().chain(completed).map(|(_, call)| call);
        calls.push((fire, stages.map(|c| (c.stage, c.fire, c.token.0)).collect::<Vec<_>>()));
    }
    for (n, (fire, calls)) in (0..).zip(calls) {
        let expected =
            [(OnceStage::Started, fire, 2 * n + 1), (OnceStage::Completed, fire, 2 * n + 2)];
        assert_eq!(calls, expected, "{}", cluster.trace());
    }
}

#[test]
fn callback_of_crashed_instance_is_repeated_under_greater_token() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    let fire = cluster.fire();
    cluster.run_for(A_SECOND);
    let caller = cluster.callback_instance().expect("an instance runs the callback");
    cluster.crash(caller);
    cluster.run_for(A_WHILE);
    let repeated = cluster.return_callbacks();
    let found: Vec<_> =
        repeated.iter().map(|(instance, c)| (*instance, c.stage, c.fire, c.token.0)).collect();
    assert_eq!(found, [(1 - caller, OnceStage::Started, fire, 2)], "{}", cluster.trace());
}

#[test]
fn transactions_respect_registry_limits() {
    let limits = Limits { max_ops: 40, max_bytes: 700_000 };
    let mut cluster = Cluster::settled_with(2, &job_of(30), |coordinator, _| {
        coordinator.limited_to(Limits { max_ops: 40, max_bytes: 700_000 })
    });
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    run_through(&mut cluster);
    assert_eq!(cluster.items_run_for(fire).len(), 30, "{}", cluster.trace());
    assert!(cluster.max_operations() <= limits.max_ops, "{}", cluster.max_operations());
    assert!(cluster.max_operations() > 10, "{}", cluster.max_operations());
}

#[test]
fn record_has_times_of_last_run_and_next_fire() {
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
        cluster.trace()
    );
}

/// A step decides from a node that another client may have changed since.
#[test]
fn operator_step_expects_the_version_that_it_was_decided_from() {
    let (config, version) = (job_of(1), Version(3));
    let (item, ledger) = (item(0), Box::new(Ledger::new(None)));
    let (ip, state) = (ServerIp::new("10.0.0.7").unwrap(), ServerState::Disabled);
    let expect = Some(version);
    let steps = [
        OperatorStep::Is(NodeKind::Config, version),
        OperatorStep::Remove(NodeKind::ItemDisabled(item), version),
        OperatorStep::SetServer { ip, state, version },
        OperatorStep::SetConfig { config: Box::new(config.clone()), version },
        OperatorStep::SetClass { class: "a.B".to_owned(), version: expect },
        OperatorStep::SettleBack { item, ledger: ledger.clone(), version },
        OperatorStep::RequestCancel { item, ledger, version },
        OperatorStep::SetBackfills { log: BackfillLog::default(), expect },
        OperatorStep::SetFormerConfigs { log: FormerConfigs::default(), expect },
        OperatorStep::SetAudit { log: AuditLog::default(), expect },
    ];
    for step in steps {
        let txn = Layout::new(&config.job_name).change(std::slice::from_ref(&step));
        let [Op::Check { expect, .. } | Op::Put { expect, .. } | Op::Delete { expect, .. }] =
            txn.ops()
        else {
            panic!("{step}: {:?}", txn.ops());
        };
        assert_eq!(*expect, Expect::Version(version), "{step}");
    }
}
