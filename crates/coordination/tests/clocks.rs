//! Stories of an instance whose wall clock is wrong: what it misses, and that nothing of its clock spreads.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    ClockDifference, Duty, Event, FireTime, Gap, JobConfig, JobEvent, Layout, MaxTimeDiff,
    MissReason, OperatorStep,
};
use reg_center::Version;
use script::{Cluster, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const YEAR_MS: i64 = 365 * 86_400_000;

fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Returns what an instance reported about its clock, and the fires that it missed because of it.
fn reports(cluster: &Cluster, instance: usize) -> Vec<String> {
    let about_clock = |event: &&JobEvent| match event {
        JobEvent::ClockDiffers { .. } | JobEvent::ClockAgrees => true,
        JobEvent::Missed { reason, .. } => *reason == MissReason::ClockDiffers,
        _ => false,
    };
    cluster.events(instance).iter().filter(about_clock).map(ToString::to_string).collect()
}

#[test]
fn a_fire_by_a_wrong_clock_is_missed_and_reported_once() {
    for ahead_ms in [YEAR_MS, -YEAR_MS, 60_001, -60_001] {
        let mut cluster = Cluster::settled(1, &job_of(2));
        cluster.show_registry_time(FIRST);
        cluster.set_clock_ahead(FIRST, ahead_ms);
        let fires = [cluster.fire_by_own_clock(FIRST), {
            cluster.run_for(A_WHILE);
            cluster.fire_by_own_clock(FIRST)
        }];
        cluster.run_for(A_WHILE);
        assert!(cluster.items_run().is_empty(), "{ahead_ms} ms\n{}", cluster.story());
        cluster.set_clock_ahead(FIRST, 0);
        cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run(), [0, 1], "{ahead_ms} ms\n{}", cluster.story());
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

#[test]
fn the_bound_is_that_of_the_configuration_and_an_unknown_clock_stops_nothing() {
    let rows = [
        ("the default, and the difference is within it", MaxTimeDiff::Default, true, 60_000, true),
        ("a closer bound", MaxTimeDiff::Seconds(2), true, 2_001, false),
        ("at that bound", MaxTimeDiff::Seconds(2), true, -2_000, true),
        ("a wider bound", MaxTimeDiff::Seconds(300), true, 299_000, true),
        ("no bound", MaxTimeDiff::Off, true, YEAR_MS, true),
        ("the registry's clock is not known", MaxTimeDiff::Default, false, YEAR_MS, true),
    ];
    for (case, max_time_diff, known, ahead_ms, runs) in rows {
        let mut cluster = Cluster::settled(1, &JobConfig { max_time_diff, ..job_of(1) });
        if known {
            cluster.show_registry_time(FIRST);
        }
        cluster.set_clock_ahead(FIRST, ahead_ms);
        cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run().len(), usize::from(runs), "{case}\n{}", cluster.story());
    }
}

/// The reply to the registration carries the time.
#[test]
fn a_fire_of_the_future_is_dropped_once_the_clock_is_known() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let fire = cluster.fire_by_own_clock(FIRST);
    let _late = cluster.hold_back(FIRST, Duty::Claim);
    cluster.show_registry_time(FIRST);
    cluster.reconnect(FIRST);
    cluster.run_for(A_WHILE);
    assert!(cluster.items_run_for(fire).is_empty(), "{}", cluster.story());
    cluster.set_clock_ahead(FIRST, 0);
    cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run(), [0, 1], "{}", cluster.story());
}

/// The clock is set right after a timer has fired by the wrong one.
#[test]
fn a_fire_that_is_later_than_the_clock_waits_until_it_comes_again() {
    let unmonitored = JobConfig { monitor_execution: false, ..job_of(2) };
    for config in [job_of(2), unmonitored] {
        let mut cluster = Cluster::settled(1, &config);
        cluster.show_registry_time(FIRST);
        for early_ms in [YEAR_MS, 2_000] {
            let at = FireTime(cluster.wall_ms() + early_ms);
            let next = Some(FireTime(at.0 + 1_000));
            cluster.tell(FIRST, Event::Fire { at, next, missed: Vec::new() });
        }
        cluster.run_for(Duration::from_secs(1));
        assert!(cluster.items_run().is_empty(), "{config:?}\n{}", cluster.story());
        cluster.run_for(Duration::from_secs(1));
        let fire = cluster.fire_by_own_clock(FIRST);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.items_run_for(fire), [0, 1], "{config:?}\n{}", cluster.story());
        assert_eq!(reports(&cluster, FIRST), [""; 0], "{config:?}");
    }
}

/// The view shows the registration before its reply comes.
#[test]
fn nothing_is_claimed_before_the_reply_to_the_registration() {
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
    assert!(!cluster.is_sending(SECOND, Duty::Claim), "{}", cluster.story());
    cluster.reply_all(SECOND);
    assert!(cluster.is_sending(SECOND, Duty::Claim), "the time stays unknown\n{}", cluster.story());
}

/// Returns a cluster of two instances whose item 0 was run ahead by a year, by an instance that did not know the registry's
/// time, and that is gone.
fn run_ahead() -> Cluster {
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
fn new_items_are_not_born_in_the_future() {
    let mut cluster = run_ahead();
    cluster.configure(&job_of(3));
    cluster.run_for(A_WHILE);
    let fire = cluster.fire_by_own_clock(SECOND);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [1, 2], "{}", cluster.story());
}

#[test]
fn items_whose_record_was_made_again_are_not_born_in_the_future() {
    let mut cluster = run_ahead();
    cluster.remove("ledger/0");
    cluster.run_for(A_WHILE);
    let fire = cluster.fire_by_own_clock(SECOND);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.items_run_for(fire), [0], "{}", cluster.story());
}

/// The record of the assignment has the fire that was due when the leader wrote it.
#[test]
fn a_due_fire_of_the_future_is_not_taken_over() {
    let mut cluster = Cluster::settled(1, &job_of(2));
    cluster.set_clock_ahead(FIRST, YEAR_MS);
    let fire = cluster.fire_by_own_clock(FIRST);
    let _late = cluster.hold_back(FIRST, Duty::Claim);
    cluster.configure(&job_of(4));
    cluster.join();
    cluster.set_clock_ahead(SECOND, YEAR_MS + 1_000);
    cluster.show_registry_time(SECOND);
    cluster.run_for(A_WHILE);
    let taken = cluster.runs_for(fire).filter(|(instance, _)| *instance == SECOND).count();
    assert_eq!(taken, 0, "{}", cluster.story());
    let due = cluster.data_of("coordination/assignment").unwrap_or_default();
    assert!(due.contains(&fire.0.to_string()), "the record has the fire: {due}");
    assert!(cluster.ledger(item(0)).last_fire < Some(fire), "{}", cluster.story());
}

/// The schedule of these stories has a fire each second.
fn scheduled(instances: usize, config: &JobConfig) -> Cluster {
    Cluster::settled_with(instances, config, |coordinator, _| {
        let fires = |_: &JobConfig, after: FireTime, before: FireTime, most| {
            let fires = (after.0.div_euclid(1_000) + 1..).map(|nth| FireTime(nth * 1_000));
            fires.take_while(|fire| *fire < before).take(most).collect()
        };
        coordinator.scheduled_by(Arc::new(fires))
    })
}

/// The gaps that an instance has reported, without those from before a fire.
fn gaps_since(cluster: &Cluster, instance: usize, fire: FireTime) -> Vec<Gap> {
    let gaps = cluster.events(instance).iter().filter_map(|event| match event {
        JobEvent::Gap { gap, .. } if gap.first > fire => Some(*gap),
        _ => None,
    });
    gaps.collect()
}

/// Returns a cluster of one instance whose item 0 was run ahead by a year and then set back by an operator, with the last fire
/// by the right clock and the present one of the operator. The instance has reported a gap of a year, and lives on.
fn set_back() -> (Cluster, FireTime, FireTime) {
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
    let [false_gap] = reported.as_slice() else { panic!("{reported:?}\n{}", cluster.story()) };
    assert_eq!((false_gap.first, false_gap.until), (FireTime(last.0 + 1_000), ahead));
    let present = FireTime(cluster.wall_ms() - 1_000);
    let record = cluster.truth().item(item(0)).ledger.clone().unwrap();
    let ledger = Box::new(record.value.settle_back(present).unwrap());
    let step = OperatorStep::SettleBack { item: item(0), ledger, version: record.version };
    cluster.operate(&Layout::new(&job_of(1).job_name).change(&[step]));
    (cluster, last, present)
}

#[test]
fn fires_that_are_missed_after_an_item_was_set_back_are_a_gap() {
    let (mut cluster, _, present) = set_back();
    cluster.run_for(A_WHILE);
    let until = cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    let reported = gaps_since(&cluster, FIRST, present);
    let (first, config) = (FireTime(present.0 + 1_000), Some(Version(0)));
    let missed = Gap { first, until, count: Some(2), config, changed_to: None };
    assert_eq!(reported, [missed], "{}", cluster.story());
}

#[test]
fn a_gap_of_a_record_that_was_set_back_ends_now() {
    let (mut cluster, last, present) = set_back();
    let gaps = &cluster.ledger(item(0)).gaps;
    let ends: Vec<_> = gaps.iter().map(|gap| (gap.first, gap.until, gap.count)).collect();
    let missed = (FireTime(last.0 + 1_000), FireTime(present.0 + 1), None);
    assert_eq!(ends.last(), Some(&missed), "{}", cluster.story());
    cluster.run_for(A_WHILE);
    cluster.fire_by_own_clock(FIRST);
    cluster.run_for(A_WHILE);
    let reported = gaps_since(&cluster, FIRST, last);
    assert!(reported.iter().any(|gap| gap.until == missed.1), "{reported:?}\n{}", cluster.story());
}

/// The difference is within the bound.
#[test]
fn new_items_owe_no_fires_of_a_leader_with_a_wrong_clock() {
    for ahead_ms in [-50_000, 50_000] {
        let mut cluster = scheduled(1, &job_of(1));
        cluster.show_registry_time(FIRST);
        cluster.set_clock_ahead(FIRST, ahead_ms);
        let made = cluster.wall_ms();
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
        let first = FireTime(made + 1_000);
        assert_eq!(gaps, [(first, until)], "{ahead_ms} ms\n{}", cluster.story());
    }
}
