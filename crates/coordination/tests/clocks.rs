//! Scenario tests of an instance with a wrong wall clock: it misses fires, and its clock affects no
//! other instance.

use std::sync::Arc;
use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    ClockDifference, Duty, Event, FireTime, Gap, JobConfig, JobEvent, Layout, MaxTimeDiff,
    MissReason, OperatorStep,
};
use reg_center::Version;
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const YEAR_MS: i64 = 365 * 86_400_000;

fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Returns an instance's events about its clock, and those of fires that it missed because of it.
fn reports(cluster: &Cluster, instance: usize) -> Vec<String> {
    let about_clock = |event: &&JobEvent| match event {
        JobEvent::ClockDiffers { .. } | JobEvent::ClockAgrees => true,
        JobEvent::Missed { reason, .. } => *reason == MissReason::ClockDiffers,
        _ => false,
    };
    cluster.events(instance).iter().filter(about_clock).map(ToString::to_string).collect()
}

#[test]
fn fire_by_wrong_clock_is_missed_and_clock_reported_once() {
    for ahead_ms in [YEAR_MS, -YEAR_MS, 60_001, -60_001] {
        let mut cluster = Cluster::settled(1, &job_of(2));
        cluster.show_registry_time(FIRST);
        cluster.set_clock_ahead(FIRST, ahead_ms);
        let fires = [cluster.fire_by_own_clock(FIRST), {
            cluster.run_for(A_WHILE);
            cluster.fire_by_own_clock(FIRST)
        }];
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run().is_empty(), "{ahead_ms} ms\n{}", cluster.trace());
        cluster.set_clock_ahead(FIRST, 0);
        cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run(), [0, 1], "{ahead_ms} ms\n{}", cluster.trace());
        let missed = |fire: FireTime| {
            let (item, reason) = (None, MissReason::ClockDiffers);
            JobEvent::Missed { item, fire, reason }.to_string()
        };
        let expected = [
            missed(fires[0]),
            ClockDifference(ahead_ms).to_string(),
            missed(fires[1]),
            JobEvent::ClockAgrees.to_string(),
        ];
        assert_eq!(reports(&cluster, FIRST), expected, "{ahead_ms} ms");
    }
}

/// The fire has not come yet, although a wrong clock showed it to a paused instance: the true one
/// still runs.
#[test]
fn future_fire_of_a_paused_instance_is_not_reported_for_items_that_come_to_it() {
    let mut cluster = Cluster::settled(2, &job_of(2));
    cluster.write("servers/10.0.0.1", "PAUSED");
    cluster.run_for(A_WHILE);
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let future = cluster.fire_by_own_clock(FIRST);
    cluster.show_registry_time(FIRST);
    cluster.run_for(A_WHILE);
    cluster.set_clock_ahead(FIRST, 0);
    cluster.crash(SECOND);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    let mut misses = cluster.misses(FIRST);
    misses.retain(|(_, fire, _)| *fire == future);
    assert_eq!(misses, [(None, future, MissReason::Paused)], "{}", cluster.trace());
}

#[test]
fn max_time_diff_applies_only_if_registry_time_is_known() {
    let rows = [
        ("within the default bound", MaxTimeDiff::Default, true, 60_000, true),
        ("beyond a lower bound", MaxTimeDiff::Seconds(2), true, 2_001, false),
        ("equal to that bound", MaxTimeDiff::Seconds(2), true, -2_000, true),
        ("within a higher bound", MaxTimeDiff::Seconds(300), true, 299_000, true),
        ("without a bound", MaxTimeDiff::Off, true, YEAR_MS, true),
        ("unknown registry time", MaxTimeDiff::Default, false, YEAR_MS, true),
    ];
    for (case, max_time_diff, known, ahead_ms, runs) in rows {
        let mut cluster =
            Cluster::settled(1, &job_of(1).with(|it| it.max_time_diff = max_time_diff));
        if known {
            cluster.show_registry_time(FIRST);
        }
        cluster.set_clock_ahead(FIRST, ahead_ms);
        cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run().len(), usize::from(runs), "{case}\n{}", cluster.trace());
    }
}

/// The instance learns the registry's time from the reply to its registration.
#[test]
fn future_fire_is_dropped_when_registry_time_becomes_known() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let fire = cluster.fire_by_own_clock(FIRST);
    let _held = cluster.plan_and_hold(FIRST, Duty::Claim);
    cluster.show_registry_time(FIRST);
    cluster.replace_session(FIRST);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.trace());
    cluster.set_clock_ahead(FIRST, 0);
    cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "{}", cluster.trace());
}

/// The clock is corrected after a timer has fired by the wrong time.
#[test]
fn fire_later_than_own_clock_runs_only_when_it_comes_again() {
    let unmonitored = job_of(2).with(|it| it.monitor_execution = false);
    for config in [job_of(2), unmonitored] {
        let mut cluster = Cluster::settled(1, &config);
        cluster.show_registry_time(FIRST);
        for early_ms in [YEAR_MS, 2_000] {
            let at = FireTime(cluster.wall_ms() + early_ms);
            let next = Some(FireTime(at.0 + 1_000));
            cluster.send_event(FIRST, Event::Fire { at, next, missed: Vec::new() });
        }
        cluster.run_for(Duration::from_secs(1));
        assert!(cluster.items_run().is_empty(), "{config:?}\n{}", cluster.trace());
        cluster.run_for(Duration::from_secs(1));
        let fire = cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{config:?}\n{}", cluster.trace());
        assert_eq!(reports(&cluster, FIRST), [""; 0], "{config:?}");
    }
}

/// The view shows the registration before the reply to it arrives.
#[test]
fn no_claim_before_reply_to_registration() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.join();
    cluster.set_clock_ahead(SECOND, YEAR_MS);
    cluster.deliver_all(SECOND);
    cluster.execute_all(SECOND);
    for _ in 0..20 {
        cluster.deliver_all(FIRST);
        cluster.execute_all(FIRST);
        cluster.reply_all(FIRST);
        cluster.deliver_all(SECOND);
    }
    assert_eq!(
        cluster
            .owner(0)
            .into_iter()
            .chain(cluster.owner(1))
            .filter(|id| *id == cluster.id_of(SECOND))
            .count(),
        1
    );
    cluster.fire_by_own_clock(SECOND);
    assert!(!cluster.has_queued_commit(SECOND, Duty::Claim), "{}", cluster.trace());
    cluster.reply_all(SECOND);
    let claims = cluster.has_queued_commit(SECOND, Duty::Claim);
    assert!(claims, "no claim although the time is known\n{}", cluster.trace());
}

/// Returns a cluster of two instances with a record of item 0 that is a year ahead. The instance
/// that wrote it did not know the registry's time, and is lost.
fn with_record_ahead() -> Cluster {
    let mut cluster = Cluster::settled(1, &job_of(1));
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    cluster.join();
    cluster.show_registry_time(SECOND);
    cluster.run_for(A_WHILE);
    cluster.crash(FIRST);
    cluster.run_for(A_WHILE);
    cluster
}

#[test]
fn new_records_do_not_start_in_the_future() {
    let mut cluster = with_record_ahead();
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    let fire = cluster.fire_by_own_clock(SECOND);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [1, 2], "{}", cluster.trace());
}

#[test]
fn recreated_records_do_not_start_in_the_future() {
    let mut cluster = with_record_ahead();
    cluster.remove("ledger/0");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire_by_own_clock(SECOND);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.trace());
}

/// The assignment record has the fire that was due when the leader wrote it.
#[test]
fn future_due_fire_is_not_inherited() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let fire = cluster.fire_by_own_clock(FIRST);
    let _held = cluster.plan_and_hold(FIRST, Duty::Claim);
    cluster.configure(&job_of(4));
    cluster.join();
    cluster.set_clock_ahead(SECOND, YEAR_MS + 1_000);
    cluster.show_registry_time(SECOND);
    cluster.run_for(A_WHILE);
    let by_second = cluster.runs_for(fire).filter(|(instance, _)| *instance == SECOND).count();
    assert_eq!(by_second, 0, "{}", cluster.trace());
    let due = cluster.data_of("coordination/assignment").unwrap_or_default();
    assert!(due.contains(&fire.0.to_string()), "the assignment lacks the due fire: {due}");
    assert!(cluster.ledger(item(0)).last_fire < Some(fire), "{}", cluster.trace());
}

/// Returns a settled cluster whose schedule has a fire each second.
fn scheduled(instances: usize, config: &JobConfig) -> Cluster {
    Cluster::settled_with(instances, config, |coordinator, _| {
        let fires = |_: &JobConfig, after: FireTime, before: FireTime, most| {
            let fires = (after.0.div_euclid(1_000) + 1..).map(|nth| FireTime(nth * 1_000));
            fires.take_while(|fire| *fire < before).take(most).collect()
        };
        coordinator.scheduled_by(Arc::new(fires))
    })
}

/// Returns the gaps that an instance has reported whose first fire is after `fire`.
fn gaps_since(cluster: &Cluster, instance: usize, fire: FireTime) -> Vec<Gap> {
    let gaps = cluster.events(instance).iter().filter_map(|event| match event {
        JobEvent::Gap { gap, .. } if gap.first > fire => Some(*gap),
        _ => None,
    });
    gaps.collect()
}

/// Returns a cluster of one instance whose record of item 0 was a year ahead, until an operator
/// settled it back. The instance is alive and has reported a gap of a year. Also returns the last
/// fire by the correct clock, and the fire time to which the operator has settled the record.
fn settled_back() -> (Cluster, FireTime, FireTime) {
    let mut cluster = scheduled(1, &job_of(1));
    let run = |cluster: &mut Cluster| {
        let fire = cluster.fire_by_own_clock(FIRST);
        cluster.run_for(Duration::from_millis(500));
        cluster.end_all_runs();
        cluster.run_for(Duration::from_millis(500));
        fire
    };
    let last = run(&mut cluster);
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let ahead = run(&mut cluster);
    cluster.set_clock_ahead(FIRST, 0);
    let reported = gaps_since(&cluster, FIRST, last);
    let [false_gap] = reported.as_slice() else { panic!("{reported:?}\n{}", cluster.trace()) };
    assert_eq!((false_gap.first, false_gap.until), (FireTime(last.0 + 1_000), ahead));
    let present = FireTime(cluster.wall_ms() - 1_000);
    let record = cluster.registry_view().item(item(0)).ledger.clone().unwrap();
    let ledger = Box::new(record.value.settle_back(present).unwrap());
    let step = OperatorStep::SettleBack { item: item(0), ledger, version: record.version };
    cluster.operate(&Layout::new(&job_of(1).job_name).change(&[step]));
    (cluster, last, present)
}

#[test]
fn fires_missed_after_settle_back_are_a_gap() {
    let (mut cluster, _, present) = settled_back();
    cluster.run_for(A_WHILE);
    let until = cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    let reported = gaps_since(&cluster, FIRST, present);
    let (first, config) = (FireTime(present.0 + 1_000), Some(Version(0)));
    let missed = Gap { first, until, count: Some(2), config, changed_to: None };
    assert_eq!(reported, [missed], "{}", cluster.trace());
}

#[test]
fn gap_of_settled_back_record_ends_now() {
    let (mut cluster, last, present) = settled_back();
    let gaps = &cluster.ledger(item(0)).gaps;
    let ends: Vec<_> = gaps.iter().map(|gap| (gap.first, gap.until, gap.count)).collect();
    let missed = (FireTime(last.0 + 1_000), FireTime(present.0 + 1), None);
    assert_eq!(ends.last(), Some(&missed), "{}", cluster.trace());
    cluster.run_for(A_WHILE);
    cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    let reported = gaps_since(&cluster, FIRST, last);
    assert!(reported.iter().any(|gap| gap.until == missed.1), "{reported:?}\n{}", cluster.trace());
}

/// The difference of the clocks is within the bound.
#[test]
fn new_items_owe_fires_by_registry_time_only() {
    for ahead_ms in [-50_000, 50_000] {
        let mut cluster = scheduled(1, &job_of(1));
        cluster.show_registry_time(FIRST);
        cluster.set_clock_ahead(FIRST, ahead_ms);
        let created = cluster.wall_ms();
        cluster.configure(&job_of(2));
        cluster.run_for(A_WHILE);
        cluster.set_clock_ahead(FIRST, 0);
        let until = cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        let gaps = cluster.events(FIRST).iter().filter_map(|event| match event {
            JobEvent::Gap { item, gap } if item.index() == 1 => Some((gap.first, gap.until)),
            _ => None,
        });
        let gaps: Vec<_> = gaps.collect();
        let first = FireTime(created + 1_000);
        assert_eq!(gaps, [(first, until)], "{ahead_ms} ms\n{}", cluster.trace());
    }
}
