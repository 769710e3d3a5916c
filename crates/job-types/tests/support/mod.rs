//! Runs jobs on a scheduler with a registry in memory, and returns their outcomes.

#[path = "../../../lite/tests/support/log.rs"]
mod log;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use coordination::{ProgressRecord, decode_progress};
use lite::{Job, JobBuilder, JobConfig, JobEvent, JobHandle, Outcome, Registration, Scheduler};
use reg_center::{MemoryRegistry, NodePath, RegistryCenter as _};

pub(crate) use log::Log;

/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Awaits a future, and panics after the deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for {what} longer than {DEADLINE:?}"),
    }
}

/// One scheduler with its own registry.
pub(crate) struct Stage {
    pub(crate) registry: MemoryRegistry,
    pub(crate) scheduler: Scheduler,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let registry = MemoryRegistry::new();
        let center = Arc::new(registry.connect());
        let scheduler = Scheduler::builder(center).server_ip("10.0.0.1").unwrap();
        Self { registry, scheduler: scheduler.instance_name("1").build().unwrap() }
    }

    /// Registers a job and waits until the instance has joined it.
    pub(crate) async fn join(&self, registration: Registration) -> JobHandle {
        let handle = registration.await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handle
    }

    /// Runs a job once, and returns the outcome of its only item and the log.
    pub(crate) async fn run(job: impl Job) -> (Outcome, String) {
        Self::run_with(one_item(), job, |registration| registration).await
    }

    pub(crate) async fn run_with(
        config: JobConfig,
        job: impl Job,
        options: impl FnOnce(Registration) -> Registration,
    ) -> (Outcome, String) {
        let (outcome, log, _) = Self::run_reporting(config, job, options).await;
        (outcome, log)
    }

    /// Runs a job once, and also returns the progress that its only item has stored.
    pub(crate) async fn run_reporting(
        config: JobConfig,
        job: impl Job,
        options: impl FnOnce(Registration) -> Registration,
    ) -> (Outcome, String, Option<ProgressRecord>) {
        let (log, _guard) = Log::listen();
        let stage = Self::new();
        let handle = stage.join(options(stage.scheduler.schedule(config, job))).await;
        let outcome = run_once(&handle).await;
        let progress = stage.progress().await;
        stage.scheduler.abort();
        (outcome, log.text(), progress)
    }

    /// Returns the stored progress of the first item of the job `sj`.
    pub(crate) async fn progress(&self) -> Option<ProgressRecord> {
        let path = NodePath::parse("/sj/coordination/progress/0").unwrap();
        let node = self.registry.connect().read(&path).await.unwrap()?;
        Some(decode_progress(&node.data).unwrap())
    }
}

/// Requests a run, and waits until the first item is completed.
pub(crate) async fn run_once(handle: &JobHandle) -> Outcome {
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    within("the end of the run", async {
        while let Some(record) = events.next().await {
            if let JobEvent::Settled { outcome, .. } = record.event {
                return outcome;
            }
        }
        panic!("the job ended before its run was completed");
    })
    .await
}

/// Returns the configuration of a job of one item with parameters and without a schedule.
pub(crate) fn one_item() -> JobConfig {
    JobBuilder::new("sj", 1)
        .job_parameter("x=1&y")
        .sharding_item_parameters("0=A B")
        .build()
        .unwrap()
}
