//! Stories of an instance whose wall clock is wrong: what it misses, and that nothing of its clock spreads.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::time::Duration;

use coordination::{ClockDifference, Duty, FireTime, JobConfig, JobEvent, MaxTimeDiff, MissReason};
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
