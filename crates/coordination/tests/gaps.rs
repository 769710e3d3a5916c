//! Scenario tests of fires that no instance ran. Each is reported, even if the instance that found
//! it is lost.

use std::sync::Arc;
use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    CatchUp, Coordinator, Event, FireRange, FireTime, Gap, JobConfig, JobEvent, Ledger, RunSource,
};
use reg_center::Version;
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const A_SECOND: Duration = Duration::from_secs(1);
/// Upper bound of the fire times for which gaps are ignored: those before the cluster was idle.
const SETTLED_AT: FireTime = FireTime(1_700_000_001_000);

fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Returns the period of a job, in milliseconds, from the first field of its cron expression: `*`
/// or `0/5`.
fn period(config: &JobConfig) -> Option<i64> {
    let seconds = config.cron.as_ref()?.split(' ').next()?;
    Some(match seconds.strip_prefix("0/") {
        Some(step) => 1_000 * step.parse::<i64>().unwrap(),
        None => 1_000,
    })
}

fn fires(config: &JobConfig, after: FireTime, before: FireTime, most: usize) -> Vec<FireTime> {
    let Some(period) = period(config) else { return Vec::new() };
    let fires = (after.0.div_euclid(period) + 1..).map(|nth| FireTime(nth * period));
    fires.take_while(|fire| *fire < before).take(most).collect()
}

fn scheduled(coordinator: Coordinator, _: usize) -> Coordinator {
    coordinator.scheduled_by(Arc::new(fires))
}

/// Returns a settled cluster whose instances can look up fires of the schedule.
fn cluster(instances: usize, config: &JobConfig) -> Cluster {
    Cluster::settled_with(instances, config, scheduled)
}

fn every(seconds: u32) -> JobConfig {
    job_of(1).with(|it| it.cron = Some(format!("0/{seconds} * * * * ?")))
}

/// Fires and runs all items to their end, within one second.
fn fire_and_run(cluster: &mut Cluster) -> FireTime {
    let fire = cluster.fire();
    for _ in 0..5 {
        cluster.run_for(Duration::from_millis(100));
        cluster.end_all_runs();
    }
    cluster.run_for(Duration::from_millis(500));
    fire
}

/// Advances the clocks without a fire, as in a stopped process.
fn sleep(cluster: &mut Cluster, seconds: u32) {
    cluster.run_for(A_SECOND * seconds);
}

fn after(fire: FireTime, seconds: i64) -> FireTime {
    FireTime(fire.0 + 1_000 * seconds)
}

/// Returns the gaps that an instance has reported, without those from before the cluster settled.
fn gaps(cluster: &Cluster, instance: usize) -> Vec<(u32, Gap)> {
    let mut gaps = all_gaps(cluster, instance);
    gaps.retain(|(_, gap)| gap.first > SETTLED_AT);
    gaps
}

fn all_gaps(cluster: &Cluster, instance: usize) -> Vec<(u32, Gap)> {
    let gaps = cluster.events(instance).iter().filter_map(|event| match event {
        JobEvent::Gap { item, gap } => Some((item.index(), *gap)),
        _ => None,
    });
    gaps.collect()
}

fn gap(first: FireTime, until: FireTime, count: u32) -> Gap {
    let config = Some(Version(0));
    Gap { first, until, count: Some(count), config, changed_to: None }
}

#[test]
fn next_claim_reports_unnoticed_gap() {
    let mut cluster = cluster(1, &job_of(1));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 3);
    let until = fire_and_run(&mut cluster);
    let expected = [(0, gap(after(last, 1), until, 3))];
    assert_eq!(gaps(&cluster, FIRST), expected, "{}", cluster.trace());
}

#[test]
fn gap_without_schedule_lookup_has_no_count() {
    let mut cluster = Cluster::settled(1, &job_of(1));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 3);
    let until = fire_and_run(&mut cluster);
    let expected = Gap { count: None, ..gap(after(last, 1), until, 3) };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

#[test]
fn reported_missed_fire_is_still_part_of_gap() {
    let mut cluster = cluster(1, &job_of(1));
    let last = fire_and_run(&mut cluster);
    cluster.send_event(FIRST, Event::Paused);
    let missed = cluster.fire();
    cluster.run_for(A_SECOND);
    cluster.send_event(FIRST, Event::Resumed);
    sleep(&mut cluster, 3);
    let until = fire_and_run(&mut cluster);
    let is_miss =
        |event: &&JobEvent| matches!(event, JobEvent::Missed { fire, .. } if *fire == missed);
    assert_eq!(cluster.events(FIRST).iter().filter(is_miss).count(), 1, "{}", cluster.trace());
    let expected = [(0, gap(after(last, 1), until, 4))];
    assert_eq!(gaps(&cluster, FIRST), expected, "{}", cluster.trace());
}

#[test]
fn fires_between_noted_misfires_are_a_gap() {
    let mut cluster = cluster(1, &job_of(1));
    cluster.fire();
    cluster.run_for(A_SECOND);
    let noted = cluster.fire();
    cluster.run_for(A_SECOND);
    sleep(&mut cluster, 2);
    let later = cluster.fire();
    cluster.run_for(A_SECOND);
    let range = FireRange { first: noted, last: later, count: 2 };
    assert_eq!(cluster.ledger(item(0)).misfire, Some(range), "{}", cluster.trace());
    let expected = [(0, gap(after(noted, 1), later, 2))];
    assert_eq!(gaps(&cluster, FIRST), expected, "{}", cluster.trace());
    for _ in 0..2 {
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    sleep(&mut cluster, 1);
    let until = fire_and_run(&mut cluster);
    let next = (0, gap(after(later, 1), until, 5));
    assert_eq!(gaps(&cluster, FIRST).last(), Some(&next), "{}", cluster.trace());
}

#[test]
fn configuration_change_with_same_schedule_hides_no_gap() {
    let mut cluster = cluster(1, &job_of(1));
    let last = fire_and_run(&mut cluster);
    cluster.configure(&job_of(1).with(|it| it.job_parameter = "newer".into()));
    sleep(&mut cluster, 3);
    let until = fire_and_run(&mut cluster);
    let expected = [(0, gap(after(last, 1), until, 3))];
    assert_eq!(gaps(&cluster, FIRST), expected, "{}", cluster.trace());
}

#[test]
fn fires_of_former_schedule_missed_before_change_are_a_gap() {
    let mut cluster = cluster(1, &every(1));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 2);
    cluster.configure(&every(5));
    sleep(&mut cluster, 1);
    let until = fire_and_run(&mut cluster);
    let expected =
        Gap { count: None, changed_to: Some(Version(1)), ..gap(after(last, 1), until, 1) };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

#[test]
fn fires_of_former_schedule_after_change_are_no_gap() {
    let mut cluster = cluster(1, &every(1));
    let last = fire_and_run(&mut cluster);
    cluster.run_for(Duration::from_millis(0));
    // The next fire of the former schedule is one second after the last one, after the change.
    cluster.configure(&job_of(1).with(|it| it.cron = Some("0/3 * * * * ?".into())));
    let next = fires(&every(3), after(last, 1), FireTime(i64::MAX), 1)[0];
    let wait = u64::try_from(next.0 - after(last, 1).0).unwrap();
    cluster.run_for(Duration::from_millis(wait));
    cluster.fire();
    cluster.run_for(A_SECOND);
    assert_eq!(cluster.ledger(item(0)).last_fire, Some(next), "{}", cluster.trace());
    assert_eq!(gaps(&cluster, FIRST), [], "{}", cluster.trace());
}

#[test]
fn fires_of_current_schedule_missed_since_change_are_a_gap() {
    let mut cluster = cluster(1, &every(30));
    let last = fire_and_run(&mut cluster);
    cluster.configure(&every(1));
    sleep(&mut cluster, 3);
    let until = fire_and_run(&mut cluster);
    // The change is one second after the last fire. No fire is owed before it.
    let expected = Gap { config: Some(Version(1)), ..gap(after(last, 2), until, 2) };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

/// The change is delivered some time after the connection is back.
#[test]
fn change_during_outage_counts_from_its_registry_time() {
    let mut cluster = cluster(1, &every(30));
    let last = fire_and_run(&mut cluster);
    cluster.send_event(FIRST, Event::Suspended);
    cluster.configure(&every(1));
    cluster.advance_clocks(A_SECOND * 3);
    cluster.resume(FIRST);
    let until = fire_and_run(&mut cluster);
    // The change is one second after the last fire. No fire is owed before it.
    let expected = Gap { config: Some(Version(1)), ..gap(after(last, 2), until, 2) };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

/// The record has the version before the change, and the registry has the time of the change.
#[test]
fn newcomer_dates_single_change_by_registry_time() {
    let mut cluster = cluster(1, &every(30));
    let last = fire_and_run(&mut cluster);
    cluster.crash(FIRST);
    cluster.configure(&every(1));
    cluster.join();
    cluster.run_for(A_WHILE);
    let until = fire_and_run(&mut cluster);
    let count = u32::try_from((until.0 - after(last, 1).0) / 1_000).unwrap();
    let expected = Gap { config: Some(Version(1)), ..gap(after(last, 1), until, count) };
    assert_eq!(gaps(&cluster, SECOND), [(0, expected)], "{}", cluster.trace());
}

#[test]
fn newcomer_reports_uncounted_gap_when_versions_between_are_unknown() {
    let mut cluster = cluster(1, &every(30));
    let last = fire_and_run(&mut cluster);
    cluster.crash(FIRST);
    sleep(&mut cluster, 2);
    cluster.configure(&every(1));
    cluster.configure(&every(1).with(|it| it.job_parameter = "newer".into()));
    cluster.join();
    cluster.run_for(A_WHILE);
    let until = fire_and_run(&mut cluster);
    let expected =
        Gap { count: None, changed_to: Some(Version(2)), ..gap(after(last, 1), until, 1) };
    assert_eq!(gaps(&cluster, SECOND), [(0, expected)], "{}", cluster.trace());
}

#[test]
fn unmonitored_period_is_no_gap_and_hides_no_earlier_gap() {
    let mut cluster = cluster(1, &job_of(1));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 2);
    cluster.run_for(Duration::from_millis(500));
    let off = FireTime(cluster.wall_ms());
    cluster.configure(&job_of(1).with(|it| it.monitor_execution = false));
    cluster.run_for(Duration::from_millis(500));
    sleep(&mut cluster, 3);
    cluster.run_for(Duration::from_millis(500));
    let on = FireTime(cluster.wall_ms());
    cluster.configure(&job_of(1));
    cluster.run_for(Duration::from_millis(500));
    sleep(&mut cluster, 2);
    let until = fire_and_run(&mut cluster);
    let n_fires = |fires: &[FireTime]| u32::try_from(fires.len()).unwrap();
    let first = gap(after(last, 1), off, n_fires(&fires(&job_of(1), last, off, 9)));
    let present = fires(&job_of(1), FireTime(on.0 + 999), until, 9);
    let count = n_fires(&present);
    let second = Gap { config: Some(Version(2)), ..gap(present[0], until, count) };
    assert_eq!(gaps(&cluster, FIRST), [(0, first), (0, second)], "{}", cluster.trace());
}

#[test]
fn gap_includes_fires_of_intermediate_schedule() {
    let mut cluster = cluster(1, &every(30));
    let last = fire_and_run(&mut cluster);
    cluster.configure(&every(1));
    sleep(&mut cluster, 5);
    cluster.configure(&every(20));
    cluster.run_for(Duration::from_millis(100));
    let until = fires(&every(20), FireTime(cluster.wall_ms()), FireTime(i64::MAX), 1)[0];
    let wait = u64::try_from(until.0 - cluster.wall_ms()).unwrap();
    cluster.run_for(Duration::from_millis(wait));
    cluster.fire();
    cluster.run_for(A_SECOND);
    let expected = Gap {
        count: None,
        config: Some(Version(1)),
        changed_to: Some(Version(2)),
        ..gap(after(last, 2), until, 1)
    };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

/// The hosts' clocks agree, and the registry's differs by less than the bound.
#[test]
fn promptly_seen_schedule_change_is_no_gap() {
    for ahead_ms in [-300, 0, 300] {
        let mut cluster = cluster(1, &every(30));
        cluster.show_registry_time(FIRST);
        cluster.set_clock_ahead(FIRST, ahead_ms);
        fire_and_run(&mut cluster);
        cluster.configure(&every(1));
        cluster.run_for(A_SECOND);
        fire_and_run(&mut cluster);
        assert_eq!(gaps(&cluster, FIRST), [], "{ahead_ms} ms\n{}", cluster.trace());
    }
}

#[test]
fn caught_up_fire_of_former_schedule_owes_next_fire_of_that_schedule() {
    let catch_up = Some(CatchUp { window_seconds: 60, max: 1 });
    let catching_up = |seconds| every(seconds).with(|it| it.catch_up = catch_up);
    let mut cluster = cluster(1, &catching_up(1));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 3);
    cluster.configure(&catching_up(5));
    cluster.run_for(Duration::from_millis(100));
    let missed = after(last, 1);
    let due = cluster.fire_after(&[missed]);
    cluster.run_for(Duration::from_millis(100));
    let record = cluster.ledger(item(0));
    assert_eq!(record.last_fire, Some(missed), "{}", cluster.trace());
    assert_eq!((record.next_fire, record.next_config), (Some(after(last, 2)), Some(Version(0))));
    cluster.end_all_runs();
    cluster.run_for(Duration::from_millis(100));
    let expected = Gap { count: None, changed_to: Some(Version(1)), ..gap(after(last, 2), due, 1) };
    assert_eq!(gaps(&cluster, FIRST), [(0, expected)], "{}", cluster.trace());
}

#[test]
fn new_item_owes_first_fire_after_its_creation() {
    let mut cluster = cluster(1, &job_of(1));
    // The cluster took two seconds to settle, and the record was created within the first one.
    let until = fire_and_run(&mut cluster);
    let expected = [(0, gap(after(until, -1), until, 1))];
    assert_eq!(all_gaps(&cluster, FIRST), expected, "{}", cluster.trace());
}

/// The limit of the job holds the first run of an item back.
#[test]
fn new_item_catches_up_from_first_fire_after_its_creation() {
    let config = job_of(2).with(|it| {
        it.cluster_concurrency = Some(1);
        it.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
    });
    let mut cluster = cluster(1, &config);
    let first = cluster.fire();
    sleep(&mut cluster, 1);
    let second = cluster.fire_after(&[first]);
    for _ in 0..4 {
        cluster.end_all_runs();
        cluster.run_for(Duration::from_millis(100));
    }
    let runs = cluster.runs().map(|(_, start)| (start.item.index(), start.fire, start.source));
    let (normal, late) = (RunSource::Normal, RunSource::Misfire);
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|(item, fire, _)| (*item, *fire));
    let expected = [(0, first, normal), (0, second, normal), (1, first, late), (1, second, normal)];
    assert_eq!(runs, expected, "{}", cluster.trace());
    assert_eq!((gaps(&cluster, FIRST), cluster.misses(FIRST)), (vec![], vec![]));
}

#[test]
fn missed_fires_of_retired_item_are_reported() {
    let mut cluster = cluster(1, &job_of(2));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 2);
    cluster.configure(&job_of(1));
    cluster.run_for(A_SECOND);
    // The missed fires are 1, 2 and 3 seconds after the last one. The change comes with the third.
    let retired = gaps(&cluster, FIRST);
    let [(1, gap)] = retired.as_slice() else { panic!("{retired:?}\n{}", cluster.trace()) };
    assert_eq!((gap.first, gap.count), (after(last, 1), Some(3)), "{}", cluster.trace());
}

#[test]
fn all_noted_misfires_of_retired_item_are_reported() {
    let mut cluster = cluster(1, &job_of(2).with(|it| it.misfire = true));
    cluster.fire();
    cluster.run_for(A_SECOND);
    let noted = cluster.fire();
    cluster.run_for(A_SECOND);
    cluster.fire();
    // The pause keeps the noted fires from running before the item is retired.
    cluster.run_for(Duration::from_millis(100));
    cluster.send_event(FIRST, Event::Paused);
    cluster.end_all_runs();
    cluster.run_for(Duration::from_millis(100));
    cluster.configure(&job_of(1));
    cluster.run_for(Duration::from_millis(100));
    let retired = gaps(&cluster, FIRST);
    let [(1, gap)] = retired.as_slice() else { panic!("{retired:?}\n{}", cluster.trace()) };
    assert_eq!((gap.first, gap.count), (noted, Some(2)), "{}", cluster.trace());
}

#[test]
fn gap_found_by_lost_instance_is_reported_by_survivor() {
    let mut cluster = cluster(2, &job_of(2));
    let last = fire_and_run(&mut cluster);
    sleep(&mut cluster, 2);
    let until = cluster.fire();
    for instance in [FIRST, SECOND] {
        cluster.execute_all(instance);
    }
    let owner = cluster.ledger(item(0)).run().map(|run| run.holder.clone()).unwrap();
    let victim = usize::from(*cluster.id_of(FIRST) != owner);
    // It crashes before the reply to its claim.
    cluster.crash(victim);
    cluster.run_for(Duration::from_secs(5));
    assert_eq!(gaps(&cluster, victim), [], "{}", cluster.trace());
    let reported = gaps(&cluster, 1 - victim);
    let expected = (0, gap(after(last, 1), until, 2));
    assert!(reported.contains(&expected), "{reported:?}\n{}", cluster.trace());
}

#[test]
fn reported_gap_stays_in_record_until_next_claim() {
    let mut cluster = cluster(1, &job_of(1));
    fire_and_run(&mut cluster);
    sleep(&mut cluster, 2);
    fire_and_run(&mut cluster);
    let kept = |ledger: &Ledger| ledger.gaps.iter().filter(|gap| gap.first > SETTLED_AT).count();
    assert_eq!(kept(cluster.ledger(item(0))), 1, "{}", cluster.trace());
    fire_and_run(&mut cluster);
    assert_eq!(kept(cluster.ledger(item(0))), 0, "{}", cluster.trace());
    assert_eq!(gaps(&cluster, FIRST).len(), 1, "{}", cluster.trace());
}

/// Returns the misfires of a lost instance that the next owner reports, and the fire of the lost
/// run.
fn reported_after_loss(noted: u32) -> (Vec<FireRange>, FireTime) {
    let config = job_of(1).with(|it| it.misfire = true);
    let mut cluster = cluster(2, &config);
    let run = cluster.fire();
    cluster.run_for(A_SECOND);
    for _ in 0..noted {
        cluster.fire();
        cluster.run_for(A_SECOND);
    }
    let owner = cluster.runs_for(run).next().map(|(instance, _)| instance).unwrap();
    cluster.crash(owner);
    cluster.run_for(A_WHILE);
    for _ in 0..3 {
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    let replayed = cluster.runs().any(|(_, start)| start.source == RunSource::Misfire);
    assert!(replayed, "{}", cluster.trace());
    let noted = cluster.events(1 - owner).iter().filter_map(|event| match event {
        JobEvent::MisfireNoted { waiting, .. } => Some(*waiting),
        _ => None,
    });
    (noted.collect(), run)
}

#[test]
fn next_owner_reports_misfires_noted_by_lost_instance() {
    let (noted, run) = reported_after_loss(2);
    let last: Vec<_> = noted.iter().map(|range| range.last).collect();
    assert_eq!(last, [after(run, 1), after(run, 2)]);
}

#[test]
fn many_misfires_noted_by_lost_instance_are_reported_by_one_event() {
    assert_eq!(reported_after_loss(100).0.len(), 100);
    let (noted, run) = reported_after_loss(101);
    assert_eq!(noted, [FireRange { first: after(run, 1), last: after(run, 101), count: 101 }]);
}
