//! Scenario tests of rules that the guarantees alone would not need. Some make a result sooner or
//! simpler, others back up another rule. Each test fails without its rule.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::script::{Cluster, Delivery, UNKNOWN_OWNER, job_of};
use coordination::{
    CatchUp, Duty, Event, FencingToken, FireTime, JobEvent, MissReason, OnceStage, Outage, Outcome,
    RunSource, StartItem,
};
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);

/// An incomplete view does not show which nodes are absent.
#[test]
fn no_decision_before_first_snapshot_is_complete() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    while !cluster.view_of(FIRST).is_synced() {
        let decides = cluster.has_queued_commit(FIRST, Duty::Membership);
        assert!(!decides, "it plans by an incomplete view\n{}", cluster.trace());
        assert!(cluster.deliver(FIRST), "the snapshot never completes\n{}", cluster.trace());
    }
    assert!(cluster.has_queued_commit(FIRST, Duty::Membership), "{}", cluster.trace());
}

/// The session is suspended and its lease has ended. Either is enough.
#[test]
fn no_claim_after_lease_expired() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.send_event(FIRST, Event::Suspended);
    cluster.send_event(FIRST, Event::LeaseExpired);
    cluster.fire();
    assert!(!cluster.has_queued_commit(FIRST, Duty::Claim), "{}", cluster.trace());
}

#[test]
fn claim_committed_before_lease_expired_starts_no_run() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute_all(FIRST);
    cluster.send_event(FIRST, Event::Suspended);
    cluster.send_event(FIRST, Event::LeaseExpired);
    cluster.reply_all(FIRST);
    assert!(!cluster.is_executing(FIRST), "{}", cluster.trace());
}

/// The code of an earlier run ends only while the item's next run is in progress.
#[test]
fn end_of_former_run_does_not_complete_current_run() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let (item, outcome) = (ShardingItem::new(0), Outcome::Succeeded);
    let token = FencingToken(1);
    cluster.send_event(FIRST, Event::ItemFinished { item, slot: 0, token, outcome, reason: None });
    cluster.run_for(A_WHILE);
    let running = cluster.ledger(item).running().is_some();
    assert!(running, "the current run is completed\n{}", cluster.trace());
}

/// A retry by the same view would conflict again.
#[test]
fn claim_is_not_retried_before_view_shows_conflict() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.touch("ledger/0");
    cluster.fire();
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    assert!(!cluster.has_queued_commit(FIRST, Duty::Claim), "{}", cluster.trace());
    cluster.deliver_all(FIRST);
    assert!(cluster.has_queued_commit(FIRST, Duty::Claim), "{}", cluster.trace());
}

/// A busy instance leaves a share to other instances, because its view does not show that the
/// other one is paused.
#[test]
fn busy_instance_takes_over_share_of_orphans_each_second() {
    let config = job_of(12).with(|it| it.failover = true);
    let mut cluster = Cluster::settled(3, &config);
    cluster.fire();
    let (busy, paused) = (1, 2);
    cluster.run_for(A_WHILE);
    cluster.send_event(paused, Event::Paused);
    cluster.crash(FIRST);
    let mut taken = Vec::new();
    for time in [500, 1_000, 1_000, 1_000].map(Duration::from_millis) {
        cluster.run_for(time);
        let is_takeover = |(of, start): &(usize, &StartItem)| {
            assert!(*of == busy || start.source != RunSource::Failover);
            start.source == RunSource::Failover
        };
        taken.push(cluster.runs().filter(is_takeover).count());
    }
    assert_eq!(taken, [0, 2, 3, 4], "{}", cluster.trace());
}

#[test]
fn requests_of_same_millisecond_each_run_once() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!(cluster.items_run(), [0, 0], "{}", cluster.trace());
}

/// The clock shows the same time as at an earlier request that is already complete.
#[test]
fn request_after_clock_set_back_gets_new_id() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    for _ in 0..2 {
        cluster.send_event(FIRST, Event::TriggerRequested { parameter: None });
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        cluster.set_clocks_back(2 * A_WHILE);
    }
    let requests: BTreeSet<_> = cluster.runs().map(|(_, start)| start.fire).collect();
    assert_eq!(requests.len(), 2, "{}", cluster.trace());
}

/// The newcomer inherited the due fire before the job had catch-up. The next fire brings the
/// missed fires with it.
#[test]
fn inherited_due_fire_waits_when_catch_up_is_enabled() {
    let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
    let mut cluster = Cluster::settled(2, &job_of(6));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let _late_claims = cluster.hold_all_commits();
    cluster.join();
    let newcomer = 2;
    while !cluster.has_queued_commit(newcomer, Duty::Claim) {
        let stepped =
            (0..3).any(|of| cluster.deliver(of) || cluster.execute(of) || cluster.reply(of));
        assert!(stepped, "the newcomer claims no due fire\n{}", cluster.trace());
    }
    cluster.configure(&job_of(6).with(|it| it.catch_up = catch_up));
    cluster.run_for(A_WHILE);
    let runs_of = |cluster: &Cluster, fire| {
        cluster.runs_for(fire).filter(|(instance, _)| *instance == newcomer).count()
    };
    assert_eq!(runs_of(&cluster, fire), 0, "{}", cluster.trace());
    let next = cluster.fire_after(&[fire]);
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!([fire, next].map(|fire| runs_of(&cluster, fire)), [2, 2], "{}", cluster.trace());
}

/// The claimed run waits for an unclaimed run that began while monitoring was off.
#[test]
fn delayed_run_uses_configuration_of_its_claim() {
    let monitored = job_of(1).with(|it| it.failover = false);
    let unmonitored = monitored.clone().with(|it| it.monitor_execution = false);
    let mut cluster = Cluster::settled(1, &monitored);
    let claimed = cluster.fire();
    cluster.execute_all(FIRST);
    cluster.configure(&unmonitored);
    cluster.deliver_only(FIRST, "config");
    cluster.advance_clocks(A_WHILE);
    let unclaimed = cluster.fire();
    assert_eq!(cluster.items_run_for(unclaimed), [0], "{}", cluster.trace());
    cluster.reply_all(FIRST);
    cluster.configure(&monitored.clone().with(|it| it.job_parameter = "later".to_owned()));
    cluster.deliver_all(FIRST);
    cluster.end_all_runs();
    let started: Vec<_> = cluster.runs_for(claimed).map(|(_, start)| &*start.config).collect();
    assert_eq!(started, [&monitored], "{}", cluster.trace());
}

#[test]
fn static_sharding_keeps_owners_when_instance_joins() {
    let config = job_of(4).with(|it| it.static_sharding = true);
    let mut cluster = Cluster::settled(1, &config);
    cluster.join();
    cluster.run_for(A_WHILE);
    let first = cluster.id_of(FIRST).clone();
    let kept = (0..4).filter(|item| cluster.owner(*item) == Some(&first)).count();
    assert_eq!(kept, 4, "{}", cluster.trace());
}

#[test]
fn runs_are_cancelled_when_lease_expires() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert!(cluster.is_executing(FIRST), "{}", cluster.trace());
    cluster.send_event(FIRST, Event::LeaseExpired);
    assert_eq!(cluster.interrupts(FIRST), 1, "{}", cluster.trace());
}

/// A process fires again after its clock was set back.
#[test]
fn unmonitored_fire_before_last_fire_does_not_run_again() {
    let unmonitored = job_of(1).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(1, &unmonitored);
    let earlier = cluster.fire();
    cluster.end_all_runs();
    cluster.advance_clocks(Duration::from_secs(1));
    cluster.fire();
    cluster.end_all_runs();
    let FireTime(at) = earlier;
    let next = Some(FireTime(at + 1_000));
    cluster.send_event(FIRST, Event::Fire { at: earlier, next, missed: Vec::new() });
    assert_eq!(cluster.items_run_for(earlier), [0], "{}", cluster.trace());
}

#[test]
fn new_item_does_not_run_fire_from_before_its_creation() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(4));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.trace());
}

/// The set of items is fixed by the assignment for the new number of items.
#[test]
fn request_waits_for_assignment_of_current_item_count() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let leader = cluster.leader().unwrap();
    cluster.configure(&job_of(1));
    cluster.send_event(1 - leader, Event::TriggerRequested { parameter: None });
    cluster.execute_all(1 - leader);
    cluster.deliver_all(leader);
    assert!(cluster.has_queued_commit(leader, Duty::Resharding), "{}", cluster.trace());
    assert!(!cluster.has_queued_commit(leader, Duty::Trigger), "{}", cluster.trace());
}

#[test]
fn callbacks_wait_for_assignment_of_current_item_count() {
    let mut cluster =
        Cluster::settled_with(1, &job_of(2), |coordinator, _| coordinator.calling_back());
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.return_callbacks();
    cluster.run_for(A_WHILE);
    assert!(cluster.end_run(FIRST, 0), "{}", cluster.trace());
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.deliver_all(FIRST);
    assert!(cluster.has_queued_commit(FIRST, Duty::Resharding), "{}", cluster.trace());
    assert!(!cluster.has_queued_commit(FIRST, Duty::Once), "{}", cluster.trace());
}

/// An unreadable record may show a run, so its item stays. Other items do not wait for it.
#[test]
fn unreadable_record_does_not_block_resharding_of_other_items() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    cluster.create_or_write("ledger/0", "?");
    cluster.join();
    cluster.run_for(A_WHILE);
    let first = cluster.id_of(FIRST).clone();
    let moved: Vec<_> = (0..4).filter(|item| cluster.owner(*item) != Some(&first)).collect();
    assert!(!moved.contains(&0) && !moved.is_empty(), "{moved:?}\n{}", cluster.trace());
}

/// An operator removes the marks of runs in progress.
#[test]
fn sweep_keeps_run_of_registered_holder_without_mark() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    [0, 1].iter().for_each(|item| cluster.remove(&format!("sharding/{item}/running")));
    cluster.run_for(A_WHILE);
    let tokens = [0, 1].map(|item| cluster.ledger(ShardingItem::new(item)).token.0);
    assert_eq!(tokens, [1, 1], "a run was taken over\n{}", cluster.trace());
}

/// An operator removes the node of an instance during its run.
#[test]
fn sweep_keeps_run_of_deregistered_holder_with_live_session() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let follower = 1 - cluster.leader().unwrap();
    let id = cluster.id_of(follower).clone();
    let item = (0..2).find(|item| cluster.owner(*item) == Some(&id)).unwrap();
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.remove(&format!("instances/{id}"));
    cluster.run_for(A_WHILE);
    let ledger = cluster.ledger(ShardingItem::new(item));
    let holder = ledger.running().map(|run| &run.holder);
    assert_eq!(holder, Some(&id), "{}", cluster.trace());
}

#[test]
fn draining_instance_waits_for_its_callback() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    cluster.fire();
    cluster.run_for(A_WHILE);
    let caller = cluster.callback_instance().unwrap();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.send_event(caller, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(!cluster.has_left(caller), "it left during its callback\n{}", cluster.trace());
    cluster.return_callbacks();
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(caller), "{}", cluster.trace());
}

/// The sender sees its request in the registry, so the request has arrived.
#[test]
fn request_with_lost_reply_is_not_sent_again() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let other = 1 - cluster.leader().unwrap();
    cluster.send_event(other, Event::TriggerRequested { parameter: None });
    cluster.execute(other);
    cluster.lose_reply(other);
    let before = cluster.traffic();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "each item runs once\n{}", cluster.trace());
    assert_eq!(cluster.traffic().since(before).conflicts, 0, "{}", cluster.trace());
}

/// A leader with a stale view gets a conflict. A wake-up without a change causes no retry.
#[test]
fn disabling_is_not_retried_before_view_shows_conflict() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let leader = cluster.leader().unwrap();
    cluster.create("sharding/2/disabled", "");
    cluster.deliver_all(leader);
    assert!(cluster.has_queued_commit(leader, Duty::Disabling), "{}", cluster.trace());
    cluster.touch("ledger/2");
    cluster.execute_all(leader);
    cluster.reply_all(leader);
    cluster.send_event(leader, Event::Wake);
    assert!(!cluster.has_queued_commit(leader, Duty::Disabling), "{}", cluster.trace());
    cluster.run_for(A_WHILE);
    assert!(cluster.ledger(ShardingItem::new(2)).disabled, "{}", cluster.trace());
}

#[test]
fn strategy_result_with_unknown_owner_is_rejected() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let before: Vec<_> = (0..4).map(|item| cluster.owner(item).cloned()).collect();
    cluster.configure(&job_of(4).with(|it| it.strategy = UNKNOWN_OWNER.to_owned()));
    cluster.run_for(A_WHILE);
    let after: Vec<_> = (0..4).map(|item| cluster.owner(item).cloned()).collect();
    assert_eq!(after, before, "{}", cluster.trace());
}

#[test]
fn strategy_failure_is_reported_once_per_configuration() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let leader = cluster.leader().unwrap();
    for times in [1, 2] {
        cluster.configure(&job_of(4).with(|it| it.strategy = UNKNOWN_OWNER.to_owned()));
        cluster.run_for(A_WHILE);
        let is_failure = |event: &&JobEvent| matches!(event, JobEvent::StrategyFailed { .. });
        let reported = cluster.events(leader).iter().filter(is_failure).count();
        assert_eq!(reported, times, "{}", cluster.trace());
        cluster.configure(&job_of(5).with(|it| it.strategy = "ODEVITY".to_owned()));
        cluster.run_for(A_WHILE);
    }
}

#[test]
fn strategy_change_triggers_resharding() {
    let mut cluster = Cluster::settled(2, &job_of(3));
    let before: Vec<_> = (0..3).map(|item| cluster.owner(item).cloned()).collect();
    let names = ["ODEVITY", "ROUND_ROBIN"].map(str::to_owned);
    let moved = names.map(|strategy| {
        cluster.configure(&job_of(3).with(|it| it.strategy = strategy));
        cluster.run_for(A_WHILE);
        (0..3).map(|item| cluster.owner(item).cloned()).collect::<Vec<_>>() != before
    });
    assert!(moved.contains(&true), "{}", cluster.trace());
}

#[test]
fn disabled_item_does_not_run_without_monitoring() {
    let unmonitored = job_of(2).with(|it| {
        it.monitor_execution = false;
        it.failover = false;
    });
    let mut cluster = Cluster::settled(1, &unmonitored);
    cluster.create("sharding/1/disabled", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
}

/// Item 1 leaves the job during its run. A fire comes after the run, before the leader retires
/// the item.
#[test]
fn item_beyond_item_count_is_not_claimed() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.run_for(A_WHILE);
    assert!(cluster.end_run(FIRST, 1), "{}", cluster.trace());
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    let _retirement = cluster.plan_and_hold(FIRST, Duty::Resharding);
    let fire = cluster.fire();
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
}

/// The item is disabled while a misfire waits for its replay: later fires are skipped, and the
/// misfire still has to run.
#[test]
fn fire_with_waiting_misfire_is_not_completed() {
    let mut cluster =
        Cluster::settled_with(1, &job_of(1), |coordinator, _| coordinator.calling_back());
    let mut calls = Vec::new();
    let mut settle = |cluster: &mut Cluster| {
        for _ in 0..3 {
            cluster.run_for(A_WHILE);
            calls.extend(cluster.return_callbacks().into_iter().map(|(_, call)| call));
        }
    };
    cluster.fire();
    settle(&mut cluster);
    let noted = cluster.fire();
    settle(&mut cluster);
    cluster.create("sharding/0/disabled", "");
    settle(&mut cluster);
    cluster.end_all_runs();
    settle(&mut cluster);
    let skipped = cluster.fire();
    settle(&mut cluster);
    let record = cluster.ledger(ShardingItem::new(0));
    assert!(record.misfire.is_some() && record.last_fire == Some(skipped), "{}", cluster.trace());
    let early = calls.iter().find(|c| c.stage == OnceStage::Completed && c.fire >= noted);
    assert_eq!(early, None, "{}", cluster.trace());
}

/// A sender that does not know whether its request arrived has to find it before it sends it
/// again.
#[test]
fn passed_on_request_stays_until_its_sender_has_seen_it() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let leader = cluster.leader().unwrap();
    let sender = 1 - leader;
    cluster.send_event(sender, Event::TriggerRequested { parameter: None });
    cluster.execute(sender);
    cluster.lose_reply(sender);
    for _ in 0..10 {
        cluster.deliver_all(leader);
        cluster.execute_all(leader);
        cluster.reply_all(leader);
    }
    cluster.advance_clocks(Duration::from_secs(60));
    cluster.send_event(sender, Event::Wake);
    cluster.execute_all(sender);
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!(cluster.items_run(), [0, 1], "each item runs once\n{}", cluster.trace());
}

/// Returns the reasons with which an instance reported the items of a missed fire.
fn reasons_of(cluster: &Cluster, missed: FireTime) -> Vec<MissReason> {
    let reason = |event: &JobEvent| match event {
        JobEvent::Missed { fire, reason, .. } if *fire == missed => Some(*reason),
        _ => None,
    };
    cluster.events(FIRST).iter().filter_map(reason).collect()
}

#[test]
fn fires_missed_in_registry_outage_report_the_outage() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.run_for(A_WHILE);
    let begin = cluster.wall_ms();
    cluster.send_event(FIRST, Event::Suspended);
    cluster.advance_clocks(A_WHILE);
    let first = cluster.fire();
    cluster.advance_clocks(A_WHILE);
    cluster.fire();
    let outage = Outage { from_ms: begin, until_ms: None };
    let reason = MissReason::RegistryUnreachable(outage);
    assert_eq!(reasons_of(&cluster, first), [reason, reason], "{}", cluster.trace());

    cluster.advance_clocks(A_WHILE);
    let outage = Outage { until_ms: Some(cluster.wall_ms()), ..outage };
    cluster.resume(FIRST);
    let events = cluster.events(FIRST);
    let position = |event| events.iter().position(|other| *other == event);
    let (gone, back) = (position(JobEvent::Suspended), position(JobEvent::Reconnected { outage }));
    assert!(gone.is_some() && gone < back, "{events:?}");
}

/// The view still shows the run, because its release could not be written.
#[test]
fn run_ended_in_outage_is_not_reported_as_still_running() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.send_event(FIRST, Event::Suspended);
    let during_run = cluster.fire();
    cluster.advance_clocks(A_WHILE);
    cluster.end_runs(FIRST);
    let after_run = cluster.fire();
    cluster.advance_clocks(A_WHILE);
    cluster.fire();
    let is_outage = |reason: &MissReason| matches!(reason, MissReason::RegistryUnreachable(_));
    assert!(reasons_of(&cluster, during_run).len() == 1, "{}", cluster.trace());
    assert!(reasons_of(&cluster, after_run).iter().all(is_outage), "{}", cluster.trace());
    assert_eq!(reasons_of(&cluster, after_run).len(), 1, "{}", cluster.trace());
}

#[test]
fn session_events_have_incarnations_and_outage() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.run_for(A_WHILE);
    let former = cluster.id_of(FIRST).clone();
    let begin = cluster.wall_ms();
    cluster.send_event(FIRST, Event::Suspended);
    cluster.advance_clocks(A_WHILE);
    cluster.lose_session(FIRST);
    let end = cluster.wall_ms();
    cluster.open_new_session(FIRST);
    let outage = Outage { from_ms: begin, until_ms: Some(end) };
    let instance = cluster.id_of(FIRST).clone();
    assert_ne!(instance, former);
    let expected = [
        JobEvent::Suspended,
        JobEvent::SessionLost { instance: former },
        JobEvent::SessionStarted { instance, outage },
    ];
    let is_session_event = |event: &&JobEvent| expected.contains(event);
    let seen: Vec<_> = cluster.events(FIRST).iter().filter(is_session_event).cloned().collect();
    assert_eq!(seen, expected, "{}", cluster.trace());
}
