//! Stories of rules that make something sooner, simpler or safer than the properties ask for, or that stand in for each
//! other: without its rule each of them ends otherwise.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{
    CatchUp, Duty, Event, FencingToken, FireTime, JobConfig, JobEvent, MissReason, OnceStage,
    Outage, Outcome, RunSource, StartItem,
};
use script::{Cluster, Delivery, STRANGER, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);

/// A view that is not whole says nothing about what is missing.
#[test]
fn nothing_is_decided_before_the_first_snapshot_is_whole() {
    let mut cluster = Cluster::starting(1, &job_of(2), Delivery::ChangeByChange);
    while !cluster.view_of(FIRST).is_synced() {
        let decides = cluster.is_sending(FIRST, Duty::Membership);
        assert!(!decides, "it has not seen everything\n{}", cluster.story());
        assert!(cluster.deliver(FIRST), "the snapshot has no end\n{}", cluster.story());
    }
    assert!(cluster.is_sending(FIRST, Duty::Membership), "{}", cluster.story());
}

/// The connection is gone, and the lease has ended: either is enough.
#[test]
fn nothing_is_claimed_once_the_session_may_be_over() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.tell(FIRST, Event::Suspended);
    cluster.tell(FIRST, Event::LeaseExpired);
    cluster.fire();
    assert!(!cluster.is_sending(FIRST, Duty::Claim), "{}", cluster.story());
}

#[test]
fn a_claim_that_succeeds_once_the_session_may_be_over_starts_nothing() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.execute_all(FIRST);
    cluster.tell(FIRST, Event::Suspended);
    cluster.tell(FIRST, Event::LeaseExpired);
    cluster.reply_all(FIRST);
    assert!(!cluster.is_executing(FIRST), "{}", cluster.story());
}

/// The code of a run that was given up ends when the item runs again.
#[test]
fn the_end_of_a_former_run_does_not_end_the_present_one() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let (item, outcome) = (ShardingItem::new(0), Outcome::Succeeded);
    let token = FencingToken(1);
    cluster.tell(FIRST, Event::ItemFinished { item, token, outcome, reason: None });
    cluster.run_for(A_WHILE);
    assert!(cluster.ledger(item).running().is_some(), "it has ended\n{}", cluster.story());
}

/// Whoever has not seen why would only be refused again.
#[test]
fn what_was_refused_is_not_sent_again_until_something_else_is_seen() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.touch("ledger/0");
    cluster.fire();
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    assert!(!cluster.is_sending(FIRST, Duty::Claim), "{}", cluster.story());
    cluster.deliver_all(FIRST);
    assert!(cluster.is_sending(FIRST, Duty::Claim), "{}", cluster.story());
}

/// The other one could take some as well, for all anybody knows.
#[test]
fn a_busy_instance_takes_a_share_of_the_orphans_each_second() {
    let config = JobConfig { failover: true, ..job_of(12) };
    let mut cluster = Cluster::settled(3, &config);
    cluster.fire();
    let (busy, held_back) = (1, 2);
    cluster.run_for(A_WHILE);
    cluster.tell(held_back, Event::Paused);
    cluster.crash(FIRST);
    let mut taken = Vec::new();
    for time in [500, 1_000, 1_000, 1_000].map(Duration::from_millis) {
        cluster.run_for(time);
        let again = |(of, start): &(usize, &StartItem)| {
            assert!(*of == busy || start.source != RunSource::Failover);
            start.source == RunSource::Failover
        };
        taken.push(cluster.runs().filter(again).count());
    }
    assert_eq!(taken, [0, 2, 3, 4], "{}", cluster.story());
}

#[test]
fn requests_of_the_same_moment_each_run_once() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!(cluster.items_run(), [0, 0], "{}", cluster.story());
}

/// The clock says what it said when the former request was made, which is done with.
#[test]
fn a_request_after_the_clock_was_set_back_is_another_one() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    for _ in 0..2 {
        cluster.tell(FIRST, Event::TriggerRequested { parameter: None });
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        cluster.set_clocks_back(2 * A_WHILE);
    }
    let asked: BTreeSet<_> = cluster.runs().map(|(_, start)| start.fire).collect();
    assert_eq!(asked.len(), 2, "{}", cluster.story());
}

/// It was found before the job began to catch up. The next fire comes with what was before it.
#[test]
fn a_fire_that_a_newcomer_found_waits_once_the_job_catches_up() {
    let catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
    let mut cluster = Cluster::settled(2, &job_of(6));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    let _late_claims = cluster.hold_commits_back();
    cluster.join();
    let newcomer = 2;
    while !cluster.is_sending(newcomer, Duty::Claim) {
        let goes_on =
            (0..3).any(|of| cluster.deliver(of) || cluster.execute(of) || cluster.reply(of));
        assert!(goes_on, "it finds nothing due\n{}", cluster.story());
    }
    cluster.configure(&JobConfig { catch_up, ..job_of(6) });
    cluster.run_for(A_WHILE);
    let runs_of = |cluster: &Cluster, fire| {
        cluster.runs_for(fire).filter(|(instance, _)| *instance == newcomer).count()
    };
    assert_eq!(runs_of(&cluster, fire), 0, "{}", cluster.story());
    let next = cluster.fire_after(&[fire]);
    for _ in 0..2 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!([fire, next].map(|fire| runs_of(&cluster, fire)), [2, 2], "{}", cluster.story());
}

/// It has to wait for a run that began unclaimed, while monitoring was off.
#[test]
fn a_claimed_run_that_has_to_wait_begins_with_the_configuration_of_its_claim() {
    let monitored = JobConfig { failover: false, ..job_of(1) };
    let unmonitored = JobConfig { monitor_execution: false, ..monitored.clone() };
    let mut cluster = Cluster::settled(1, &monitored);
    let claimed = cluster.fire();
    cluster.execute_all(FIRST);
    cluster.configure(&unmonitored);
    cluster.deliver_only(FIRST, "config");
    cluster.let_time_pass(A_WHILE);
    let unclaimed = cluster.fire();
    assert_eq!(cluster.items_run_for(unclaimed), [0], "{}", cluster.story());
    cluster.reply_all(FIRST);
    cluster.configure(&JobConfig { job_parameter: "later".to_owned(), ..monitored.clone() });
    cluster.deliver_all(FIRST);
    cluster.end_all_runs();
    let begun: Vec<_> = cluster.runs_for(claimed).map(|(_, start)| &*start.config).collect();
    assert_eq!(begun, [&monitored], "{}", cluster.story());
}

#[test]
fn static_items_stay_when_an_instance_comes() {
    let config = JobConfig { static_sharding: true, ..job_of(4) };
    let mut cluster = Cluster::settled(1, &config);
    cluster.join();
    cluster.run_for(A_WHILE);
    let first = cluster.id_of(FIRST).clone();
    let kept = (0..4).filter(|item| cluster.owner(*item) == Some(&first)).count();
    assert_eq!(kept, 4, "{}", cluster.story());
}

#[test]
fn what_runs_is_cancelled_when_the_lease_has_ended() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert!(cluster.is_executing(FIRST), "{}", cluster.story());
    cluster.tell(FIRST, Event::LeaseExpired);
    assert_eq!(cluster.interrupts(FIRST), 1, "{}", cluster.story());
}

/// The schedule of a process whose clock was set back.
#[test]
fn a_fire_before_the_last_one_is_not_due_again() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(1) };
    let mut cluster = Cluster::settled(1, &unmonitored);
    let earlier = cluster.fire();
    cluster.end_all_runs();
    cluster.let_time_pass(Duration::from_secs(1));
    cluster.fire();
    cluster.end_all_runs();
    let FireTime(at) = earlier;
    let next = Some(FireTime(at + 1_000));
    cluster.tell(FIRST, Event::Fire { at: earlier, next, missed: Vec::new() });
    assert_eq!(cluster.items_run_for(earlier), [0], "{}", cluster.story());
}

#[test]
fn an_item_that_is_new_has_nothing_to_do_with_the_fire_that_is_due() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(4));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0, 1], "{}", cluster.story());
}

/// Which items there are is known when they are assigned.
#[test]
fn a_request_waits_until_items_are_assigned_for_their_number() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let leader = cluster.leader().unwrap();
    cluster.configure(&job_of(1));
    cluster.tell(1 - leader, Event::TriggerRequested { parameter: None });
    cluster.execute_all(1 - leader);
    cluster.deliver_all(leader);
    assert!(cluster.is_sending(leader, Duty::Resharding), "{}", cluster.story());
    assert!(!cluster.is_sending(leader, Duty::Trigger), "{}", cluster.story());
}

#[test]
fn callbacks_wait_until_items_are_assigned_for_their_number() {
    let mut cluster =
        Cluster::settled_with(1, &job_of(2), |coordinator, _| coordinator.calling_back());
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.return_calls();
    cluster.run_for(A_WHILE);
    assert!(cluster.end_run(FIRST, 0), "{}", cluster.story());
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.deliver_all(FIRST);
    assert!(cluster.is_sending(FIRST, Duty::Resharding), "{}", cluster.story());
    assert!(!cluster.is_sending(FIRST, Duty::Once), "{}", cluster.story());
}

/// What cannot be read may say that the item runs: it stays where it is, and nothing else waits for it.
#[test]
fn an_item_whose_record_cannot_be_read_does_not_keep_others_from_moving() {
    let mut cluster = Cluster::settled(1, &job_of(4));
    cluster.damage("ledger/0", "?");
    cluster.join();
    cluster.run_for(A_WHILE);
    let first = cluster.id_of(FIRST).clone();
    let moved: Vec<_> = (0..4).filter(|item| cluster.owner(*item) != Some(&first)).collect();
    assert!(!moved.contains(&0) && !moved.is_empty(), "{moved:?}\n{}", cluster.story());
}

/// An operator takes away the mark of a run that goes on.
#[test]
fn a_run_is_not_taken_from_somebody_who_is_registered() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    [0, 1].iter().for_each(|item| cluster.remove(&format!("sharding/{item}/running")));
    cluster.run_for(A_WHILE);
    let tokens = [0, 1].map(|item| cluster.ledger(ShardingItem::new(item)).token.0);
    assert_eq!(tokens, [1, 1], "somebody has taken it over\n{}", cluster.story());
}

/// An operator takes an instance away whose run goes on.
#[test]
fn a_run_is_not_taken_from_somebody_whose_session_lives() {
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
    assert_eq!(holder, Some(&id), "{}", cluster.story());
}

#[test]
fn whoever_calls_back_leaves_when_the_callback_has_returned() {
    let mut cluster =
        Cluster::settled_with(2, &job_of(2), |coordinator, _| coordinator.calling_back());
    cluster.fire();
    cluster.run_for(A_WHILE);
    let caller = cluster.caller().unwrap();
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.tell(caller, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(!cluster.has_left(caller), "its callback runs\n{}", cluster.story());
    cluster.return_calls();
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(caller), "{}", cluster.story());
}

/// A request that its sender has seen in the registry has arrived.
#[test]
fn a_request_whose_reply_was_lost_is_not_left_again() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let other = 1 - cluster.leader().unwrap();
    cluster.tell(other, Event::TriggerRequested { parameter: None });
    cluster.execute(other);
    cluster.lose_reply(other);
    let before = cluster.traffic();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "once each\n{}", cluster.story());
    assert_eq!(cluster.traffic().since(before).conflicts, 0, "{}", cluster.story());
}

/// The sweep of a leader whose view is behind is refused; asking again would be no use before the view has changed.
#[test]
fn what_was_refused_is_not_sent_again_at_once() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let leader = cluster.leader().unwrap();
    cluster.create("sharding/2/disabled", "");
    cluster.deliver_all(leader);
    assert!(cluster.is_sending(leader, Duty::Disabling), "{}", cluster.story());
    cluster.touch("ledger/2");
    cluster.execute_all(leader);
    cluster.reply_all(leader);
    cluster.tell(leader, Event::Wake);
    assert!(!cluster.is_sending(leader, Duty::Disabling), "{}", cluster.story());
    cluster.run_for(A_WHILE);
    assert!(cluster.ledger(ShardingItem::new(2)).disabled, "{}", cluster.story());
}

#[test]
fn a_strategy_that_gives_items_to_somebody_who_is_not_there_is_not_followed() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let before: Vec<_> = (0..4).map(|item| cluster.owner(item).cloned()).collect();
    cluster.configure(&JobConfig { strategy: STRANGER.to_owned(), ..job_of(4) });
    cluster.run_for(A_WHILE);
    let after: Vec<_> = (0..4).map(|item| cluster.owner(item).cloned()).collect();
    assert_eq!(after, before, "{}", cluster.story());
}

#[test]
fn that_a_strategy_has_failed_is_told_once_each_time() {
    let mut cluster = Cluster::settled(2, &job_of(4));
    let leader = cluster.leader().unwrap();
    for times in [1, 2] {
        cluster.configure(&JobConfig { strategy: STRANGER.to_owned(), ..job_of(4) });
        cluster.run_for(A_WHILE);
        let is_failure = |event: &&JobEvent| matches!(event, JobEvent::StrategyFailed { .. });
        let told = cluster.events(leader).iter().filter(is_failure).count();
        assert_eq!(told, times, "{}", cluster.story());
        cluster.configure(&JobConfig { strategy: "ODEVITY".to_owned(), ..job_of(5) });
        cluster.run_for(A_WHILE);
    }
}

#[test]
fn another_strategy_assigns_items_anew() {
    let mut cluster = Cluster::settled(2, &job_of(3));
    let before: Vec<_> = (0..3).map(|item| cluster.owner(item).cloned()).collect();
    let names = ["ODEVITY", "ROUND_ROBIN"].map(str::to_owned);
    let moved = names.map(|strategy| {
        cluster.configure(&JobConfig { strategy, ..job_of(3) });
        cluster.run_for(A_WHILE);
        (0..3).map(|item| cluster.owner(item).cloned()).collect::<Vec<_>>() != before
    });
    assert!(moved.contains(&true), "{}", cluster.story());
}

#[test]
fn a_disabled_item_does_not_run_where_nothing_is_claimed() {
    let unmonitored = JobConfig { monitor_execution: false, failover: false, ..job_of(2) };
    let mut cluster = Cluster::settled(1, &unmonitored);
    cluster.create("sharding/1/disabled", "");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire();
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());
}

/// Item 1 has left the job while it ran; a fire comes after its end, and before the leader has retired it.
#[test]
fn an_item_that_has_left_the_job_does_not_run_again() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.run_for(A_WHILE);
    assert!(cluster.end_run(FIRST, 1), "{}", cluster.story());
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    let _retirement = cluster.hold_back(FIRST, Duty::Resharding);
    let fire = cluster.fire();
    cluster.execute_all(FIRST);
    cluster.reply_all(FIRST);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
}

/// The item is disabled while it has yet to make up for a fire: later fires are skipped, and that one is still to come.
#[test]
fn a_fire_that_has_yet_to_be_made_up_for_is_not_completed() {
    let mut cluster =
        Cluster::settled_with(1, &job_of(1), |coordinator, _| coordinator.calling_back());
    let mut calls = Vec::new();
    let mut go_on = |cluster: &mut Cluster| {
        for _ in 0..3 {
            cluster.run_for(A_WHILE);
            calls.extend(cluster.return_calls().into_iter().map(|(_, call)| call));
        }
    };
    cluster.fire();
    go_on(&mut cluster);
    let noted = cluster.fire();
    go_on(&mut cluster);
    cluster.create("sharding/0/disabled", "");
    go_on(&mut cluster);
    cluster.end_all_runs();
    go_on(&mut cluster);
    let skipped = cluster.fire();
    go_on(&mut cluster);
    let record = cluster.ledger(ShardingItem::new(0));
    assert!(record.misfire.is_some() && record.last_fire == Some(skipped), "{}", cluster.story());
    let early = calls.iter().find(|c| c.stage == OnceStage::Completed && c.fire >= noted);
    assert_eq!(early, None, "{}", cluster.story());
}

/// Whoever left a request, and does not know whether it has arrived, must find it when it leaves it again.
#[test]
fn a_request_that_was_passed_on_stays_until_its_sender_has_seen_it() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    let leader = cluster.leader().unwrap();
    let sender = 1 - leader;
    cluster.tell(sender, Event::TriggerRequested { parameter: None });
    cluster.execute(sender);
    cluster.lose_reply(sender);
    for _ in 0..10 {
        cluster.deliver_all(leader);
        cluster.execute_all(leader);
        cluster.reply_all(leader);
    }
    cluster.let_time_pass(Duration::from_secs(60));
    cluster.tell(sender, Event::Wake);
    cluster.execute_all(sender);
    for _ in 0..3 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    assert_eq!(cluster.items_run(), [0, 1], "once each\n{}", cluster.story());
}

/// Returns the reasons of the items of a fire that an instance has missed.
fn reasons_of(cluster: &Cluster, missed: FireTime) -> Vec<MissReason> {
    let reason = |event: &JobEvent| match event {
        JobEvent::Missed { fire, reason, .. } if *fire == missed => Some(*reason),
        _ => None,
    };
    cluster.events(FIRST).iter().filter_map(reason).collect()
}

#[test]
fn fires_missed_in_an_outage_of_the_registry_name_it() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.run_for(A_WHILE);
    let begin = cluster.wall_ms();
    cluster.tell(FIRST, Event::Suspended);
    cluster.let_time_pass(A_WHILE);
    let first = cluster.fire();
    cluster.let_time_pass(A_WHILE);
    cluster.fire();
    let outage = Outage { from_ms: begin, until_ms: None };
    let reason = MissReason::RegistryUnreachable(outage);
    assert_eq!(reasons_of(&cluster, first), [reason, reason], "{}", cluster.story());

    cluster.let_time_pass(A_WHILE);
    let outage = Outage { until_ms: Some(cluster.wall_ms()), ..outage };
    cluster.resume(FIRST);
    let events = cluster.events(FIRST);
    let position = |event| events.iter().position(|other| *other == event);
    let (gone, back) = (position(JobEvent::Suspended), position(JobEvent::Reconnected { outage }));
    assert!(gone.is_some() && gone < back, "{events:?}");
}

/// The view still shows the run, because its end could not be written.
#[test]
fn a_run_that_ended_in_an_outage_is_not_said_to_be_still_running() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.tell(FIRST, Event::Suspended);
    let while_it_runs = cluster.fire();
    cluster.let_time_pass(A_WHILE);
    cluster.end_runs(FIRST);
    let afterwards = cluster.fire();
    cluster.let_time_pass(A_WHILE);
    cluster.fire();
    let is_outage = |reason: &MissReason| matches!(reason, MissReason::RegistryUnreachable(_));
    assert!(reasons_of(&cluster, while_it_runs).len() == 1, "{}", cluster.story());
    assert!(reasons_of(&cluster, afterwards).iter().all(is_outage), "{}", cluster.story());
    assert_eq!(reasons_of(&cluster, afterwards).len(), 1, "{}", cluster.story());
}

#[test]
fn a_lost_session_and_the_one_after_it_are_events_with_their_incarnations() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.run_for(A_WHILE);
    let former = cluster.id_of(FIRST).clone();
    let begin = cluster.wall_ms();
    cluster.tell(FIRST, Event::Suspended);
    cluster.let_time_pass(A_WHILE);
    cluster.lose_session(FIRST);
    let end = cluster.wall_ms();
    cluster.connect_again(FIRST);
    let outage = Outage { from_ms: begin, until_ms: Some(end) };
    let instance = cluster.id_of(FIRST).clone();
    assert_ne!(instance, former);
    let expected = [
        JobEvent::Suspended,
        JobEvent::SessionLost { instance: former },
        JobEvent::SessionStarted { instance, outage },
    ];
    let is_of_a_session = |event: &&JobEvent| expected.contains(event);
    let seen: Vec<_> = cluster.events(FIRST).iter().filter(is_of_a_session).cloned().collect();
    assert_eq!(seen, expected, "{}", cluster.story());
}
