//! `max_time_diff` with a registry that has a clock of its own.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use jiff::SignedDuration;
use lite::{Clock, JobBuilder, JobConfig, JobEvent, JobEvents, MissReason, Scheduler, TokioClock};
use parking_lot::Mutex;
use reg_center::{
    ClockReading, Delegate, Error, MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Result,
};

use support::{Runs, event};

/// A registry in memory whose clock is ahead of the instance's, or cannot be read.
#[derive(Debug)]
struct WithClock {
    center: MemoryCenter,
    clock: Arc<TokioClock>,
    /// How far its clock is ahead; `None` if the clock cannot be read.
    ahead: Mutex<Option<Duration>>,
    /// Time from which it answers, counted from noon.
    answers_from: Duration,
    /// Age of the last reply that carried its time; `None` if replies carry no time.
    last_reply: Mutex<Option<Duration>>,
    /// How far its clock was ahead at that reply, if it was corrected since.
    ahead_then: Mutex<Option<Duration>>,
    asked: AtomicUsize,
}

impl WithClock {
    fn new(ahead: Option<Duration>, answers_from: Duration) -> Arc<Self> {
        Arc::new(Self {
            center: MemoryRegistry::new().connect(),
            clock: Arc::new(TokioClock::starting_at(support::noon())),
            ahead: Mutex::new(ahead),
            answers_from,
            last_reply: Mutex::new(None),
            ahead_then: Mutex::new(None),
            asked: AtomicUsize::new(0),
        })
    }

    fn scheduler(self: &Arc<Self>) -> Scheduler {
        Scheduler::builder(self.clone()).clock(self.clock.clone()).build().unwrap()
    }
}

/// A job of one item with a `max_time_diff` of its own.
fn with_own_bound(cron: &str) -> JobConfig {
    JobBuilder::new("job", 1).cron(cron).max_time_diff(Duration::from_secs(2)).build().unwrap()
}

#[async_trait]
impl Delegate for WithClock {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.clock.sleep_until(self.answers_from).await;
        let ahead = *self.ahead.lock();
        let ahead = ahead.ok_or(Error::Unavailable { call: "ask for the time" })?;
        *self.ahead_then.lock() = None;
        Ok(Some(SystemTime::from(self.clock.wall()) + ahead))
    }

    fn clock_reading(&self) -> Option<ClockReading> {
        let ahead = self.ahead_then.lock().or(*self.ahead.lock());
        let (age, ahead) = ((*self.last_reply.lock())?, ahead?);
        let time = SystemTime::from(self.clock.wall()) + ahead - age;
        Some(ClockReading { time, since_sent: age, since_received: age })
    }
}

#[tokio::test(start_paused = true)]
async fn a_fire_runs_only_if_the_clocks_agree_within_the_bound() {
    let center = WithClock::new(Some(Duration::from_secs(2)), Duration::ZERO);
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let config = with_own_bound(support::EVERY_TEN_SECONDS);
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    runs.until("a fire with clocks that agree", |seen| seen.len() == 1).await;

    for ahead in [Some(Duration::from_millis(2_001)), None] {
        *center.ahead.lock() = ahead;
        let differs = |event: &JobEvent| {
            matches!(event, JobEvent::Missed { item: None, reason: MissReason::ClockDiffers, .. })
        };
        event(&mut events, "a missed fire", differs).await;
        assert_eq!(runs.all().len(), 1, "ahead by {ahead:?}");
    }

    *center.ahead.lock() = Some(Duration::ZERO);
    let seen = runs.until("a fire after the clock was corrected", |seen| seen.len() == 2).await;
    assert_eq!(seen[1].at(), 40);
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[tokio::test(start_paused = true)]
async fn a_clock_that_differs_stops_fires_by_default_and_is_reported_once() {
    let center = WithClock::new(Some(YEAR), Duration::ZERO);
    *center.last_reply.lock() = Some(Duration::ZERO);
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();

    let missed = results(&mut events, 2).await;

    let differs = MissReason::ClockDiffers.to_string();
    assert_eq!(missed, [(10, differs.clone()), (20, differs)]);
    let behind = -SignedDuration::try_from(YEAR).unwrap();
    assert_eq!(handle.status().await.unwrap().clock_differs_by, Some(behind));
    *center.ahead.lock() = Some(Duration::from_secs(60));
    runs.until("a fire after the clock was corrected", |seen| seen.len() == 1).await;
    assert_eq!(handle.status().await.unwrap().clock_differs_by, None);
    assert_eq!(center.asked.load(Ordering::Relaxed), 1, "once a minute while the clocks differ");
}

/// The known time of the registry can be wrong, so the registry is asked before a fire is missed.
#[tokio::test(start_paused = true)]
async fn an_outdated_clock_reading_stops_no_fire() {
    let center = WithClock::new(Some(Duration::ZERO), Duration::ZERO);
    *center.last_reply.lock() = Some(Duration::from_secs(8));
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    runs.until("a fire with clocks that agree", |seen| seen.len() == 1).await;

    *center.ahead_then.lock() = Some(YEAR);
    let seen = runs.until("the next fire", |seen| seen.len() == 2).await;

    assert_eq!(seen[1].at(), 20, "no fire was missed");
    assert_eq!(handle.status().await.unwrap().clock_differs_by, None);
    assert_eq!(center.asked.load(Ordering::Relaxed), 1, "one request checks the reading");
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_are_compared_again_after_a_minute() {
    let center = WithClock::new(Some(YEAR), Duration::ZERO);
    *center.last_reply.lock() = Some(Duration::ZERO);
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    results(&mut events, 2).await;

    *center.ahead_then.lock() = Some(YEAR);
    *center.ahead.lock() = Some(Duration::ZERO);
    let seen = runs
        .until("a fire after the registry's clock was corrected", |seen| !seen.is_empty())
        .await;

    assert_eq!(seen[0].at(), 70, "the first fire came after 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_registry_without_a_clock_stops_no_fire_by_default() {
    let center = WithClock::new(None, Duration::ZERO);
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).build().unwrap();
    let _handle = scheduler.schedule(config, runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() == 1).await;
    assert_eq!(center.asked.load(Ordering::Relaxed), 0, "no request is sent");
}

#[tokio::test(start_paused = true)]
async fn clocks_that_are_not_compared_stop_no_fire() {
    let center = WithClock::new(Some(YEAR), Duration::ZERO);
    *center.last_reply.lock() = Some(Duration::ZERO);
    let scheduler = center.scheduler();
    let runs = Runs::default();
    let builder = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS);
    let config = builder.compare_clocks(false).build().unwrap();
    let _handle = scheduler.schedule(config, runs.job()).await.unwrap();
    runs.until("a fire", |seen| seen.len() == 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_registry_is_asked_only_if_no_reply_carried_its_time_in_the_last_hour() {
    let rows = [("an hour ago", 3_600, 0), ("longer ago", 3_601, 1)];
    for (case, age, n_asked) in rows {
        let center = WithClock::new(Some(Duration::ZERO), Duration::ZERO);
        *center.last_reply.lock() = Some(Duration::from_secs(age));
        let scheduler = center.scheduler();
        let runs = Runs::default();
        let config = with_own_bound(support::EVERY_TEN_SECONDS);
        let _handle = scheduler.schedule(config, runs.job()).await.unwrap();
        runs.until("a fire", |seen| seen.len() == 1).await;
        assert_eq!(center.asked.load(Ordering::Relaxed), n_asked, "{case}");
    }
}

/// Returns the result of a fire, if the event has one: claimed, or the reason why it was missed.
fn result(event: &JobEvent) -> Option<(i64, String)> {
    let (fire, result) = if let JobEvent::Claimed { fire, .. } = event {
        (fire, "claimed".to_owned())
    } else if let JobEvent::Missed { fire, reason, .. } = event {
        (fire, reason.to_string())
    } else {
        return None;
    };
    Some((fire.0 / 1_000 - support::noon().as_second(), result))
}

/// Waits until this many fires were missed or claimed, and returns them with their results, in
/// order.
async fn results(events: &mut JobEvents, n: usize) -> Vec<(i64, String)> {
    let mut results = Vec::new();
    while results.len() < n {
        let has_result = |event: &JobEvent| result(event).is_some();
        let record = event(events, "the result of a fire", has_result).await;
        results.extend(result(&record.event));
    }
    results
}

#[tokio::test(start_paused = true)]
async fn a_fire_during_the_clock_check_of_another_fire_is_not_lost() {
    let ahead = |seconds| Some(Duration::from_secs(seconds));
    let rows = [
        ("the clocks agree", ahead(0), 14, "claimed".to_owned()),
        ("the clocks differ", ahead(3), 14, MissReason::ClockDiffers.to_string()),
        ("the clock cannot be read", None, 14, MissReason::ClockDiffers.to_string()),
        ("the registry does not answer", ahead(0), 1_000, MissReason::ClockDiffers.to_string()),
    ];
    for (case, ahead, answers_from, expected) in rows {
        let center = WithClock::new(ahead, Duration::from_secs(answers_from));
        let scheduler = center.scheduler();
        let runs = Runs::default();
        let config = with_own_bound("10,13,30 * * * * ?");
        let handle = scheduler.schedule(config, runs.job()).await.unwrap();
        let mut events = handle.events();

        let results = results(&mut events, 2).await;

        assert_eq!(results, [(10, expected.clone()), (13, expected)], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fire_whose_clock_check_is_in_progress_when_the_job_ends_is_recorded_as_missed() {
    let center = WithClock::new(Some(Duration::ZERO), Duration::from_secs(1_000));
    let scheduler = center.scheduler();
    let config = with_own_bound("10,12 * * * * ?");
    let handle = scheduler.schedule(config, Runs::default().job()).await.unwrap();
    let mut events = handle.events();
    center.clock.sleep_until(Duration::from_secs(13)).await;

    let report = handle.shutdown(Duration::ZERO).await.unwrap();

    assert!(report.is_clean(), "{report:?}");
    let leaving = MissReason::Leaving.to_string();
    assert_eq!(results(&mut events, 2).await, [(10, leaving.clone()), (12, leaving)]);
}
