//! Running the code of a job: one task per item, in which panics, errors and cancellations become outcomes.

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{FencingToken, FireTime, Outcome, RunSource, StartItem};
use futures_util::FutureExt;
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};
use tokio::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::inbox::Answer;
use crate::seams::Spawn;
use crate::{Job, JobError, ShardingContext};

/// Numbers the runs of an executor. A token does not: without monitoring all runs have token 0.
pub(crate) type RunNumber = u64;

/// A run that has ended, or whose task is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedRun {
    pub(crate) number: RunNumber,
    pub(crate) item: ShardingItem,
    pub(crate) token: FencingToken,
    pub(crate) outcome: Outcome,
    /// What the job's code said, if it failed.
    pub(crate) cause: Option<String>,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct RunningItem {
    pub(crate) item: ShardingItem,
    pub(crate) token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    pub(crate) holder: InstanceId,
    pub(crate) began: Timestamp,
    /// Asks the job's code to end.
    cancel: CancellationToken,
    /// Drops the job's future at its next await.
    abandon: CancellationToken,
}

/// The runs of one job in this process.
pub(crate) struct Executor {
    job: Arc<dyn Job>,
    spawn: Arc<dyn Spawn>,
    answers: mpsc::UnboundedSender<Answer>,
    permits: Option<Arc<Semaphore>>,
    running: BTreeMap<RunNumber, RunningItem>,
    next: RunNumber,
}

impl Executor {
    pub(crate) fn new(
        job: Arc<dyn Job>,
        spawn: Arc<dyn Spawn>,
        answers: mpsc::UnboundedSender<Answer>,
        max_concurrency: Option<NonZeroUsize>,
    ) -> Self {
        let permits = max_concurrency.map(|max| Arc::new(Semaphore::new(max.get())));
        Self { job, spawn, answers, permits, running: BTreeMap::new(), next: 0 }
    }

    /// Starts an item and returns its run. It is answered with [`Answer::Finished`] whatever happens to it.
    pub(crate) fn start(
        &mut self,
        start: StartItem,
        began: Timestamp,
        job_span: &Span,
    ) -> (RunNumber, &RunningItem) {
        let number = self.next;
        self.next += 1;
        let (cancel, abandon) = (CancellationToken::new(), CancellationToken::new());
        let StartItem { item, token, fire, source, .. } = start;
        let holder = start.holder.clone();
        let context = ShardingContext::new(start, cancel.clone());
        let span = item_span(job_span, &context);
        let running = RunningItem {
            item,
            token,
            fire,
            source,
            holder,
            began,
            cancel: cancel.clone(),
            abandon: abandon.clone(),
        };
        let outcome = Outcome::Interrupted;
        let finished = FinishedRun { number, item, token, outcome, cause: None };
        let report = Report { finished, answers: self.answers.clone() };
        let run = Run {
            job: Arc::clone(&self.job),
            context,
            permits: self.permits.clone(),
            cancel,
            abandon,
        };
        let task = async move { report.send(run.until_the_end().await) };
        self.spawn.spawn(Box::pin(task.instrument(span)));
        (number, self.running.entry(number).or_insert(running))
    }

    /// Forgets a run that has ended, and returns what was known of it.
    pub(crate) fn forget(&mut self, number: RunNumber) -> Option<RunningItem> {
        self.running.remove(&number)
    }

    /// Returns the runs in progress.
    pub(crate) fn running(&self) -> impl Iterator<Item = (RunNumber, &RunningItem)> {
        self.running.iter().map(|(number, item)| (*number, item))
    }

    /// Asks all runs to end.
    pub(crate) fn cancel_all(&self) {
        self.running.values().for_each(|item| item.cancel.cancel());
    }

    /// Asks all runs to end and drops their futures at their next await.
    pub(crate) fn abandon_all(&self) {
        self.cancel_all();
        self.running.values().for_each(|item| item.abandon.cancel());
    }
}

/// The job's own panics are caught; its tasks outlive a scheduler that was dropped, but not by more than an await.
impl Drop for Executor {
    fn drop(&mut self) {
        self.abandon_all();
    }
}

/// Answers for a run exactly once, also if its task is dropped.
struct Report {
    finished: FinishedRun,
    answers: mpsc::UnboundedSender<Answer>,
}

impl Report {
    fn send(mut self, ending: Ending) {
        self.finished.outcome = ending.outcome;
        self.finished.cause = ending.cause;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // The driver is gone if the scheduler was aborted; then nobody keeps the account.
        let _ = self.answers.send(Answer::Finished(self.finished.clone()));
    }
}

/// How a run ended, and what the job's code said if it failed.
struct Ending {
    outcome: Outcome,
    cause: Option<String>,
}

impl Ending {
    const INTERRUPTED: Self = Self { outcome: Outcome::Interrupted, cause: None };
}

/// One run, in its task.
struct Run {
    job: Arc<dyn Job>,
    context: ShardingContext,
    permits: Option<Arc<Semaphore>>,
    cancel: CancellationToken,
    abandon: CancellationToken,
}

impl Run {
    async fn until_the_end(self) -> Ending {
        let abandon = self.abandon.clone();
        select! {
            biased;
            () = abandon.cancelled() => Ending::INTERRUPTED,
            ending = self.execute() => ending,
        }
    }

    async fn execute(self) -> Ending {
        let Some(_permit) = self.permit().await else { return Ending::INTERRUPTED };
        tracing::debug!("item started");
        let code = AssertUnwindSafe(self.job.execute(self.context)).catch_unwind();
        ending(code.await, self.cancel.is_cancelled())
    }

    /// Waits for a free place; `None` if the run is cancelled before it gets one.
    async fn permit(&self) -> Option<Option<OwnedSemaphorePermit>> {
        let Some(permits) = &self.permits else { return Some(None) };
        select! {
            biased;
            () = self.cancel.cancelled() => None,
            permit = Arc::clone(permits).acquire_owned() => permit.ok().map(Some),
        }
    }
}

fn ending(result: Result<Result<(), JobError>, Box<dyn Any + Send>>, cancelled: bool) -> Ending {
    match result {
        Ok(Ok(())) => Ending { outcome: Outcome::Succeeded, cause: None },
        Ok(Err(error)) if cancelled => {
            tracing::info!(%error, "item stopped because it was cancelled");
            Ending { outcome: Outcome::Interrupted, cause: Some(error.to_string()) }
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "item failed");
            Ending { outcome: Outcome::Failed, cause: Some(error.to_string()) }
        }
        Err(panic) => {
            let panic = panic_text(&*panic);
            tracing::error!(panic, "item panicked");
            Ending { outcome: Outcome::Panicked, cause: Some(panic.to_owned()) }
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

fn item_span(job_span: &Span, context: &ShardingContext) -> Span {
    tracing::info_span!(
        parent: job_span,
        "item",
        item = %context.item(),
        task_id = %context.task_id(),
        fire_time = %context.fire_time(),
        source = %context.source(),
        token = context.fencing_token(),
    )
}
