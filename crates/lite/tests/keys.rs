//! Configuration keys that have no other test.

use crate::support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use lite::{Clock, Error, JobBuilder, Scheduler};
use parking_lot::Mutex;
use reg_center::MemoryRegistry;

use support::{Cluster, Runs, every_ten_seconds, within};

/// A clock that records the durations of sleeps and the times of alarms.
#[derive(Debug)]
struct RecordingClock {
    clock: Arc<dyn Clock>,
    waits: Mutex<Vec<Duration>>,
    alarms: Mutex<BTreeSet<Timestamp>>,
}

impl RecordingClock {
    fn of(cluster: &Cluster) -> Arc<Self> {
        let clock = cluster.clock.clone();
        Arc::new(Self { clock, waits: Mutex::default(), alarms: Mutex::default() })
    }
}

impl Clock for RecordingClock {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }

    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().push(deadline.saturating_sub(self.monotonic()));
        self.clock.sleep_until(deadline)
    }

    fn alarm(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.alarms.lock().insert(self.wall() + deadline.saturating_sub(self.monotonic()));
        self.clock.alarm(deadline)
    }
}

#[tokio::test(start_paused = true)]
async fn fires_start_by_alarms() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let clock = RecordingClock::of(&cluster);
    let recording = clock.clone();
    let member = cluster.member_with(1, |builder| builder.clock(recording));
    let config = every_ten_seconds().build().unwrap();
    member.scheduler.schedule(config, runs.job()).await.unwrap();
    let seen = runs.until("fires", |seen| seen.len() >= 9).await;
    let alarms = clock.alarms.lock().clone();
    assert!(seen.iter().all(|run| alarms.contains(&run.fire)), "{seen:?}, {alarms:?}");
}

#[tokio::test(start_paused = true)]
async fn the_reconcile_interval_is_the_longest_wait_and_zero_turns_reconciling_off() {
    for minutes in [0, 7] {
        let cluster = Cluster::new();
        let clock = RecordingClock::of(&cluster);
        let recording = clock.clone();
        let member = cluster.member_with(1, |builder| builder.clock(recording));
        let interval = Duration::from_secs(60 * minutes);
        let config = JobBuilder::new("job", 1).reconcile_interval(interval).build().unwrap();
        let runs = Runs::default();
        let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        cluster.pass(Duration::from_secs(3600)).await;
        let a_minute = Duration::from_secs(60);
        let waits: Vec<Duration> = clock.waits.lock().clone();
        // Shorter waits follow an event, such as the deadline of `joined`.
        let long: Vec<Duration> = waits.into_iter().filter(|wait| *wait > a_minute).collect();
        let whole = long.iter().filter(|wait| **wait == interval).count();
        match minutes {
            0 => assert!(long.is_empty(), "there is no wait for reconciling: {long:?}"),
            _ => assert!(whole >= 8 && long.iter().all(|wait| *wait <= interval), "{long:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_without_monitoring_writes_nothing_for_its_runs() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let config = every_ten_seconds().monitor_execution(false).build().unwrap();
    member.scheduler.schedule(config, runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() >= 3).await;
    let before = cluster.registry.snapshot();
    let seen = runs.until("ten fires", |seen| seen.len() >= 30).await;
    assert!(seen.iter().all(|run| run.token == 0), "{seen:?}");
    assert_eq!(cluster.registry.snapshot().revision(), before.revision());
}

#[test]
fn the_error_of_a_missing_interface_lists_those_of_this_host() {
    let builder = || Scheduler::builder(Arc::new(MemoryRegistry::new().connect()));
    let error = builder().network_interface("no such interface").build().unwrap_err();
    let Error::Config(error) = error else { panic!("{error}") };
    assert_eq!((error.field, &*error.value), ("network_interface", "no such interface"));
    assert!(error.valid.contains("127.0.0.1"), "{error}");
    let error = builder().network("10.0.0.0/64").unwrap_err();
    assert!(matches!(error, Error::Config(error) if error.field == "network"));
    // A given address makes the interface irrelevant.
    let named = builder().network_interface("no such interface").server_ip("10.0.0.7").unwrap();
    assert_eq!(named.build().unwrap().server_ip().as_str(), "10.0.0.7");
    let loopback = builder().network("127.0.0.0/8").unwrap().build().unwrap();
    assert_eq!(loopback.server_ip().as_str(), "127.0.0.1");
}
