//! Keys of a configuration that no other test is about.

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

/// A clock that notes for how long somebody waits, and until when somebody waits exactly.
#[derive(Debug)]
struct NotingClock {
    clock: Arc<dyn Clock>,
    waits: Mutex<Vec<Duration>>,
    alarms: Mutex<BTreeSet<Timestamp>>,
}

impl NotingClock {
    fn of(cluster: &Cluster) -> Arc<Self> {
        let clock = cluster.clock.clone();
        Arc::new(Self { clock, waits: Mutex::default(), alarms: Mutex::default() })
    }
}

impl Clock for NotingClock {
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
async fn fires_begin_by_alarms() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let clock = NotingClock::of(&cluster);
    let noting = clock.clone();
    let member = cluster.member_with(1, |builder| builder.clock(noting));
    let config = every_ten_seconds().build().unwrap();
    member.scheduler.schedule(config, runs.job()).await.unwrap();
    let seen = runs.until("fires", |seen| seen.len() >= 9).await;
    let alarms = clock.alarms.lock().clone();
    assert!(seen.iter().all(|run| alarms.contains(&run.fire)), "{seen:?}, {alarms:?}");
}

#[tokio::test(start_paused = true)]
async fn everything_is_looked_at_again_after_the_reconcile_interval_and_never_if_that_is_zero() {
    for minutes in [0, 7] {
        let cluster = Cluster::new();
        let clock = NotingClock::of(&cluster);
        let noting = clock.clone();
        let member = cluster.member_with(1, |builder| builder.clock(noting));
        let interval = Duration::from_secs(60 * minutes);
        let config = JobBuilder::new("job", 1).reconcile_interval(interval).build().unwrap();
        let runs = Runs::default();
        let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        cluster.pass(Duration::from_secs(3600)).await;
        let a_minute = Duration::from_secs(60);
        let waits: Vec<Duration> = clock.waits.lock().clone();
        // What is shorter is about something that happened, and the deadline of waiting to have joined is one of those.
        let long: Vec<Duration> = waits.into_iter().filter(|wait| *wait > a_minute).collect();
        let whole = long.iter().filter(|wait| **wait == interval).count();
        match minutes {
            0 => assert_eq!(long, [], "nobody looks"),
            _ => assert!(whole >= 8 && long.iter().all(|wait| *wait <= interval), "{long:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_monitored_runs_and_writes_nothing_for_it() {
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
fn an_interface_that_this_host_has_not_is_told_with_those_that_it_has() {
    let builder = || Scheduler::builder(Arc::new(MemoryRegistry::new().connect()));
    let error = builder().network_interface("no such interface").build().unwrap_err();
    let Error::Config(error) = error else { panic!("{error}") };
    assert_eq!((error.field, &*error.value), ("network_interface", "no such interface"));
    assert!(error.valid.contains("127.0.0.1"), "{error}");
    let error = builder().network("10.0.0.0/64").unwrap_err();
    assert!(matches!(error, Error::Config(error) if error.field == "network"));
    // Who names the address itself is asked for nothing else.
    let named = builder().network_interface("no such interface").server_ip("10.0.0.7").unwrap();
    assert_eq!(named.build().unwrap().server_ip().as_str(), "10.0.0.7");
    let loopback = builder().network("127.0.0.0/8").unwrap().build().unwrap();
    assert_eq!(loopback.server_ip().as_str(), "127.0.0.1");
}
