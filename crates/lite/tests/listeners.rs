//! Listeners around the runs of items.

use crate::support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lite::{
    Clock, ItemEnding, JobBuilder, JobError, JobEvent, JobHandle, JobListener, Outcome,
    RetryPolicy, RunEnd, ShardingContext, TokioClock, job_fn,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use support::{Cluster, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// Calls of the listeners and the code, in order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn note(&self, call: impl Into<String>) {
        self.0.lock().push(call.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

/// Action of a callback after it has recorded its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Nothing,
    Fails,
    Panics,
    Hangs,
}

impl Does {
    async fn run(self) -> Result<(), JobError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Fails => Err("no lamp".into()),
            Self::Panics => panic!("a bug"),
            Self::Hangs => pending().await,
        }
    }
}

struct RecordingListener {
    name: &'static str,
    calls: Calls,
    before: Does,
    after: Does,
}

impl RecordingListener {
    fn new(name: &'static str, calls: &Calls) -> Self {
        Self { name, calls: calls.clone(), before: Does::Nothing, after: Does::Nothing }
    }
}

#[async_trait]
impl JobListener for RecordingListener {
    fn name(&self) -> &str {
        self.name
    }

    async fn before(&self, _: &ShardingContext) -> Result<(), JobError> {
        self.calls.note(format!("{}.before", self.name));
        self.before.run().await
    }

    async fn after(&self, _: &ShardingContext, end: &RunEnd) -> Result<(), JobError> {
        let RunEnd { outcome, attempts, .. } = end;
        self.calls.note(format!("{}.after {outcome} {attempts}", self.name));
        self.after.run().await
    }
}

fn on_request(items: u32) -> lite::JobConfig {
    JobBuilder::new("job", items).build().unwrap()
}

/// Requests a run and waits until its end is recorded.
async fn run_once(handle: &JobHandle) -> Outcome {
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    let is_end = |event: &JobEvent| matches!(event, JobEvent::Settled { .. });
    let record = event(&mut events, "the end of the run", is_end).await;
    let JobEvent::Settled { outcome, .. } = record.event else { unreachable!("{record:?}") };
    outcome
}

#[tokio::test(start_paused = true)]
async fn listeners_are_called_once_around_all_attempts_with_the_first_one_outermost() {
    let (cluster, calls) = (Cluster::new(), Calls::default());
    let member = cluster.member(1);
    let noted = calls.clone();
    let job = job_fn(move |context: ShardingContext| {
        noted.note(format!("attempt {}", context.attempt()));
        async move { if context.attempt() < 3 { Err("not yet".into()) } else { Ok(()) } }
    });
    let handle = member
        .scheduler
        .schedule(on_request(1), job)
        .listener(RecordingListener::new("a", &calls))
        .listener(RecordingListener::new("b", &calls))
        .retry(RetryPolicy::new(5))
        .await
        .unwrap();
    assert_eq!(run_once(&handle).await, Outcome::Succeeded);
    let expected = [
        "a.before",
        "b.before",
        "attempt 1",
        "attempt 2",
        "attempt 3",
        "b.after succeeded 3",
        "a.after succeeded 3",
    ];
    assert_eq!(calls.all(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_fails_before_the_run_ends_it_and_the_next_fire_runs() {
    let rows = [
        (Does::Fails, Outcome::Failed, "listener b: no lamp"),
        (Does::Panics, Outcome::Panicked, "listener b: a bug"),
        (Does::Hangs, Outcome::TimedOut, "listener b: the listener took longer than 5s"),
    ];
    for (before, outcome, cause) in rows {
        let (cluster, calls, causes) = (Cluster::new(), Calls::default(), Calls::default());
        let member = cluster.member(1);
        let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
        let noted = calls.clone();
        let job = job_fn(move |_| {
            noted.note("code");
            async { Ok(()) }
        });
        let handle = member
            .scheduler
            .schedule(config, job)
            .listener(RecordingListener::new("a", &calls))
            .listener(RecordingListener { before, ..RecordingListener::new("b", &calls) })
            .listener(RecordingListener::new("c", &calls))
            .listener_timeout(5 * SECOND)
            .retry(RetryPolicy::new(3))
            .event_subscriber(Causes(causes.clone()))
            .await
            .unwrap();
        let mut events = handle.events();
        settled(&mut events, outcome).await;
        settled(&mut events, outcome).await;
        let a_run = ["a.before".into(), "b.before".into(), format!("a.after {outcome} 0")];
        assert_eq!(calls.all(), [a_run.clone(), a_run].concat(), "{before:?}");
        assert_eq!(causes.all(), [cause, cause], "{before:?}");
    }
}

/// Records the causes of run reports.
struct Causes(Calls);

impl lite::EventSubscriber for Causes {
    fn on_event(&self, _: &lite::JobRecord) {}

    fn on_run_ended(&self, report: &lite::RunReport) {
        self.0.note(report.cause.clone().unwrap_or_default());
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_fails_after_the_run_does_not_change_its_outcome() {
    for after in [Does::Fails, Does::Panics, Does::Hangs] {
        let (cluster, calls) = (Cluster::new(), Calls::default());
        let member = cluster.member(1);
        let handle = member
            .scheduler
            .schedule(on_request(1), job_fn(|_| async { Ok(()) }))
            .listener(RecordingListener::new("a", &calls))
            .listener(RecordingListener { after, ..RecordingListener::new("b", &calls) })
            .listener_timeout(5 * SECOND)
            .await
            .unwrap();
        let began = cluster.clock.monotonic();
        assert_eq!(run_once(&handle).await, Outcome::Succeeded, "{after:?}");
        let took = cluster.clock.monotonic() - began;
        let late = if after == Does::Hangs { 5 * SECOND } else { Duration::ZERO };
        assert!(took >= late && took < late + SECOND, "{after:?}: {took:?}");
        let expected = ["a.before", "b.before", "b.after succeeded 1", "a.after succeeded 1"]
            .map(String::from);
        assert_eq!(calls.all(), expected, "{after:?}");
    }
}

/// A listener whose `before` waits until the run is cancelled.
struct WaitsForCancellation(Arc<Notify>, Calls);

#[async_trait]
impl JobListener for WaitsForCancellation {
    async fn before(&self, context: &ShardingContext) -> Result<(), JobError> {
        self.0.notify_one();
        context.cancelled().await;
        Ok(())
    }

    async fn after(&self, _: &ShardingContext, end: &RunEnd) -> Result<(), JobError> {
        self.1.note(format!("after {} {}", end.outcome, end.attempts));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_before_its_code_is_called_is_interrupted() {
    let (cluster, calls, begun) = (Cluster::new(), Calls::default(), Arc::new(Notify::new()));
    let member = cluster.member(1);
    let noted = calls.clone();
    let job = job_fn(move |_| {
        noted.note("code");
        async { Ok(()) }
    });
    let handle = member
        .scheduler
        .schedule(on_request(1), job)
        .listener(WaitsForCancellation(begun.clone(), calls.clone()))
        .await
        .unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    within("the listener", begun.notified()).await;
    let report = within("the shutdown", handle.shutdown(Duration::ZERO)).await.unwrap();
    assert_eq!(report.items[0].ending, ItemEnding::Cancelled(Outcome::Interrupted));
    assert_eq!(calls.all(), ["after interrupted 0"]);
}

#[tokio::test(start_paused = true)]
async fn listeners_are_dropped_together_with_their_run() {
    let (cluster, calls) = (Cluster::new(), Calls::default());
    let member = cluster.member(1);
    let handle = member
        .scheduler
        .schedule(on_request(1), job_fn(|_| async { Ok(()) }))
        .listener(RecordingListener::new("a", &calls))
        .listener(RecordingListener { before: Does::Hangs, ..RecordingListener::new("b", &calls) })
        .listener_timeout(Duration::from_secs(3600))
        .shutdown_grace(2 * SECOND)
        .await
        .unwrap();
    within("joining", handle.joined()).await.unwrap();
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    let is_claim = |event: &JobEvent| matches!(event, JobEvent::Claimed { .. });
    event(&mut events, "a claim", is_claim).await;
    let report = within("the shutdown", handle.shutdown(SECOND)).await.unwrap();
    assert_eq!(report.items[0].ending, ItemEnding::Dropped);
    assert!(report.deregistered && report.took < 5 * SECOND, "{report:?}");
    assert_eq!(calls.all(), ["a.before", "b.before"]);
}

/// Counts the runs between `before` and `after`.
struct ConcurrencyProbe {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
    clock: Arc<TokioClock>,
}

#[async_trait]
impl JobListener for ConcurrencyProbe {
    async fn before(&self, _: &ShardingContext) -> Result<(), JobError> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.clock.sleep_until(self.clock.monotonic() + SECOND).await;
        Ok(())
    }

    async fn after(&self, _: &ShardingContext, _: &RunEnd) -> Result<(), JobError> {
        self.clock.sleep_until(self.clock.monotonic() + SECOND).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_keeps_its_place_while_its_listeners_are_called() {
    for (max, expected) in [(1, 1), (3, 3), (9, 5)] {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let most = Arc::new(AtomicU32::new(0));
        let listener = ConcurrencyProbe {
            now: Arc::default(),
            most: most.clone(),
            clock: cluster.clock.clone(),
        };
        let handle = member
            .scheduler
            .schedule(on_request(5), job_fn(|_| async { Ok(()) }))
            .max_concurrency(max)
            .listener(listener)
            .await
            .unwrap();
        let mut events = handle.events();
        within("joining", handle.joined()).await.unwrap();
        handle.trigger().await.unwrap();
        for _ in 0..5 {
            settled(&mut events, Outcome::Succeeded).await;
        }
        assert_eq!(most.load(Ordering::SeqCst), expected, "{max} at a time");
    }
}

#[tokio::test(start_paused = true)]
async fn timeouts_of_zero_are_rejected() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let registration = || member.scheduler.schedule(on_request(1), job_fn(|_| async { Ok(()) }));
    let before = cluster.everything();
    let rows = [
        ("listener_timeout", registration().listener_timeout(Duration::ZERO)),
        ("error_handler_timeout", registration().error_handler_timeout(Duration::ZERO)),
    ];
    for (field, registration) in rows {
        let error = registration.await.unwrap_err();
        assert_eq!(error.as_invalid_config().unwrap().field, field);
        assert_eq!(cluster.everything(), before);
    }
}
