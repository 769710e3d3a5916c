//! Scenario tests of a schedule that has ended: its last fire met no instance, and no later fire
//! would find it.

use std::sync::Arc;
use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{CatchUp, Coordinator, Event, FireTime, JobConfig, RunSource};

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
/// Fires of the job: one each ten seconds, until the last one.
const STEP_MS: i64 = 10_000;
const LAST: FireTime = FireTime(1_700_000_020_000);
/// Runs of an item of `missed_since`, which has missed its first fire as well.
const RUNS: [(FireTime, RunSource); 2] =
    [(FireTime(LAST.0 - STEP_MS), RunSource::Misfire), (LAST, RunSource::Normal)];
const MINUTE: CatchUp = CatchUp { window_seconds: 60, max: 5 };

fn fires(_: &JobConfig, after: FireTime, before: FireTime, most: usize) -> Vec<FireTime> {
    let fires = (after.0.div_euclid(STEP_MS) + 1..).map(|nth| FireTime(nth * STEP_MS));
    fires.take_while(|fire| *fire < before && *fire <= LAST).take(most).collect()
}

fn scheduled(coordinator: Coordinator, _: usize) -> Coordinator {
    coordinator.scheduled_by(Arc::new(fires))
}

/// Returns a job whose only instance is gone, this long after the last fire.
fn missed_since(past: Duration, config: &JobConfig) -> Cluster {
    let mut cluster = Cluster::settled_with(1, config, scheduled);
    cluster.crash(FIRST);
    let until_last = u64::try_from(LAST.0 - cluster.wall_ms()).unwrap();
    cluster.run_for(Duration::from_millis(until_last) + past);
    cluster
}

fn catching_up(items: u32) -> JobConfig {
    job_of(items).with(|it| it.catch_up = Some(MINUTE))
}

fn run_through(cluster: &mut Cluster) {
    for _ in 0..4 {
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
    }
    cluster.run_for(A_WHILE);
}

/// Returns the fires of all runs since the count, with their sources.
fn runs_since(cluster: &Cluster, before: usize) -> Vec<(FireTime, RunSource)> {
    cluster.runs().skip(before).map(|(_, start)| (start.fire, start.source)).collect()
}

#[test]
fn joining_instance_runs_missed_last_fire_once() {
    let mut cluster = missed_since(Duration::from_secs(30), &catching_up(2));
    for joined in 1..4 {
        cluster.join();
        run_through(&mut cluster);
        let expected = [RUNS[0], RUNS[0], RUNS[1], RUNS[1]];
        assert_eq!(runs_since(&cluster, 0), expected, "{joined}\n{}", cluster.trace());
        cluster.crash(joined);
        cluster.run_for(A_WHILE);
    }
}

#[test]
fn missed_last_fire_needs_catch_up_and_its_window() {
    let rows = [
        ("within the window", 60, Some(MINUTE), 2),
        ("beyond the window", 61, Some(MINUTE), 0),
        ("without catch-up", 30, None, 0),
    ];
    for (case, seconds, catch_up, runs) in rows {
        let config = job_of(1).with(|it| it.catch_up = catch_up);
        let mut cluster = missed_since(Duration::from_secs(seconds), &config);
        cluster.join();
        run_through(&mut cluster);
        assert_eq!(runs_since(&cluster, 0).len(), runs, "{case}\n{}", cluster.trace());
    }
}

#[test]
fn earlier_missed_fires_run_before_the_last_one() {
    let mut cluster = Cluster::settled_with(1, &catching_up(1), scheduled);
    let first = cluster.fire();
    run_through(&mut cluster);
    cluster.crash(FIRST);
    let past = u64::try_from(LAST.0 - cluster.wall_ms()).unwrap();
    cluster.run_for(Duration::from_millis(past) + A_WHILE);
    let n_before = cluster.runs().count();
    cluster.join();
    run_through(&mut cluster);
    assert!(first < FireTime(LAST.0 - STEP_MS));
    assert_eq!(runs_since(&cluster, n_before), RUNS, "{}", cluster.trace());
}

#[test]
fn paused_instance_runs_missed_last_fire_once_resumed() {
    let mut cluster = missed_since(A_WHILE, &catching_up(1));
    cluster.join();
    cluster.send_event(SECOND, Event::Paused);
    run_through(&mut cluster);
    assert_eq!(runs_since(&cluster, 0), [], "{}", cluster.trace());
    cluster.send_event(SECOND, Event::Resumed);
    run_through(&mut cluster);
    assert_eq!(runs_since(&cluster, 0), RUNS, "{}", cluster.trace());
}

/// The item did not exist when the last fire came.
#[test]
fn new_item_does_not_owe_missed_last_fire() {
    let mut cluster = missed_since(A_WHILE, &catching_up(1));
    cluster.configure(&catching_up(3));
    cluster.join();
    run_through(&mut cluster);
    assert_eq!(cluster.items_run_for(LAST), [0], "{}", cluster.trace());
}

/// A fire that jitter still delays begins with its own event.
#[test]
fn last_fire_within_its_jitter_is_not_missed_yet() {
    let config = catching_up(1).with(|it| it.jitter_ms = Some(20_000));
    let mut cluster = missed_since(Duration::from_secs(5), &config);
    cluster.join();
    cluster.run_for(A_WHILE);
    assert_eq!(runs_since(&cluster, 0), [], "{}", cluster.trace());
    cluster.run_for(Duration::from_secs(15));
    cluster.touch("config");
    run_through(&mut cluster);
    assert_eq!(runs_since(&cluster, 0), RUNS, "{}", cluster.trace());
}
