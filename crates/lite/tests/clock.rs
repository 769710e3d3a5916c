//! `max_time_diff`: a registry with a clock of its own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use lite::{Clock, JobBuilder, JobEvent, MissReason, Scheduler, TokioClock};
use parking_lot::Mutex;
use reg_center::{
    Error, Feed, Limits, MemoryCenter, MemoryRegistry, Node, NodePath, RegistryCenter, Result,
    SessionChange, SessionFeed, SessionId, Txn, TxnOutcome,
};

use support::{Runs, event};

/// A registry in memory whose clock is ahead of ours, or cannot be read.
#[derive(Debug)]
struct WithClock {
    center: MemoryCenter,
    clock: Arc<TokioClock>,
    /// How far it is ahead; `None` if it does not answer.
    ahead: Mutex<Option<Duration>>,
}

#[async_trait]
impl RegistryCenter for WithClock {
    fn limits(&self) -> Limits {
        self.center.limits()
    }

    fn session(&self) -> Option<SessionChange> {
        self.center.session()
    }

    fn session_feed(&self) -> SessionFeed {
        self.center.session_feed()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.center.lease_remaining(session)
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.center.read(path).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        self.center.children(path).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.center.commit(txn).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.center.watch(root)
    }

    async fn sync(&self) -> Result<()> {
        self.center.sync().await
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        let ahead = *self.ahead.lock();
        let ahead = ahead.ok_or(Error::Unavailable { act: "ask for the time" })?;
        Ok(Some(SystemTime::from(self.clock.wall()) + ahead))
    }

    async fn close(&self) -> Result<()> {
        self.center.close().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_fire_is_run_only_if_the_clocks_agree_well_enough() {
    let clock = Arc::new(TokioClock::starting_at(support::noon()));
    let center = Arc::new(WithClock {
        center: MemoryRegistry::new().connect(),
        clock: clock.clone(),
        ahead: Mutex::new(Some(Duration::from_secs(2))),
    });
    let scheduler = Scheduler::builder(center.clone()).clock(clock).build().unwrap();
    let runs = Runs::default();
    let config = JobBuilder::new("job", 1)
        .cron(support::EVERY_TEN_SECONDS)
        .max_time_diff(Duration::from_secs(2))
        .build()
        .unwrap();
    let handle = scheduler.schedule(config, runs.job()).await.unwrap();
    let mut events = handle.events();
    runs.until("a fire with clocks that agree", |seen| seen.len() == 1).await;

    for ahead in [Some(Duration::from_millis(2_001)), None] {
        *center.ahead.lock() = ahead;
        let differs = |event: &JobEvent| {
            matches!(event, JobEvent::Missed { item: None, reason: MissReason::ClockDiffers, .. })
        };
        event(&mut events, "a refused fire", differs).await;
        assert_eq!(runs.all().len(), 1, "ahead by {ahead:?}");
    }

    *center.ahead.lock() = Some(Duration::ZERO);
    let seen = runs.until("a fire after the repair", |seen| seen.len() == 2).await;
    assert_eq!(seen[1].at(), 40);
}
