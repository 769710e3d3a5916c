//! The runs of a job in this process: one task per item, whatever becomes of it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use coordination::{FencingToken, FireTime, JobConfig, Outcome, RunSource, StartItem};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::job_listener::Listeners;
use crate::prospect::{self, Prospect};
use crate::run::{Ending, MoreOnTheEnd, Run, RunRules};
use crate::runtime::LifeGuard;
use crate::seams::Seams;
use crate::{Job, ShardingContext};

/// How many bytes of what a run has said at its end stand in its span, and so in front of each line about it. The line that tells of the
/// failure has all of it.
const MAX_SPAN_CAUSE: usize = 256;

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
    /// What error handlers are told besides.
    pub(crate) more: MoreOnTheEnd,
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
    /// What is logged about the run is logged in here.
    pub(crate) span: Span,
    /// Asks the job's code to end.
    cancel: CancellationToken,
    /// Drops the job's future at its next await.
    abandon: CancellationToken,
    /// Tells the job's code what it can expect.
    prospect: watch::Sender<Prospect>,
}

/// The runs of one job in this process.
pub(crate) struct Executor {
    job: Arc<dyn Job>,
    seams: Seams,
    ends: mpsc::UnboundedSender<Box<FinishedRun>>,
    rules: RunRules,
    listeners: Listeners,
    guard: Option<Arc<LifeGuard>>,
    permits: Option<Arc<Semaphore>>,
    running: BTreeMap<RunNumber, RunningItem>,
    next: RunNumber,
}

impl Executor {
    pub(crate) fn new(
        job: Arc<dyn Job>,
        seams: &Seams,
        ends: mpsc::UnboundedSender<Box<FinishedRun>>,
        max_concurrency: Option<NonZeroUsize>,
        rules: RunRules,
        listeners: Listeners,
    ) -> Self {
        let permits = max_concurrency.map(|max| Arc::new(Semaphore::new(max.get())));
        let (seams, guard, running) = (seams.clone(), None, BTreeMap::new());
        Self { job, seams, ends, rules, listeners, guard, permits, running, next: 0 }
    }

    /// Lets the code and the listeners run only where this guard admits them.
    pub(crate) fn guarded_by(mut self, guard: Option<Arc<LifeGuard>>) -> Self {
        self.guard = guard;
        self
    }

    /// Starts an item and returns its run. Its end is told whatever happens to it.
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
        let prospect = Prospect::at_start(Arc::clone(&start.config));
        let context =
            ShardingContext::new(start, cancel.clone(), prospect.subscribe(), self.seams.clone());
        let span = item_span(job_span, &context);
        let running = RunningItem {
            item,
            token,
            fire,
            source,
            holder,
            began,
            span: span.clone(),
            cancel: cancel.clone(),
            abandon: abandon.clone(),
            prospect,
        };
        let (outcome, more) = (Outcome::Interrupted, MoreOnTheEnd::default());
        let finished = Box::new(FinishedRun { number, item, token, outcome, cause: None, more });
        let report = Report { finished, span: span.clone(), ends: self.ends.clone() };
        let run = Run {
            job: Arc::clone(&self.job),
            context,
            permits: self.permits.clone(),
            clock: Arc::clone(&self.seams.clock),
            rules: self.rules,
            listeners: self.listeners.clone(),
            guard: self.guard.clone(),
            cancel,
            abandon,
        };
        let task = async move { report.send(run.until_the_end().await) };
        self.seams.spawn.spawn(Box::pin(task.instrument(span)));
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

    /// Tells each run what it can expect.
    pub(crate) fn look_ahead(
        &self,
        config: &Arc<JobConfig>,
        may_stay: impl Fn(ShardingItem) -> bool,
    ) {
        for run in self.running.values() {
            prospect::tell(&run.prospect, !may_stay(run.item), config);
        }
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
    finished: Box<FinishedRun>,
    span: Span,
    ends: mpsc::UnboundedSender<Box<FinishedRun>>,
}

impl Report {
    fn send(mut self, ending: Ending) {
        self.finished.outcome = ending.outcome;
        self.finished.cause = ending.cause;
        self.finished.more = ending.more;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.span.record("outcome", self.finished.outcome.as_str());
        if let Some(cause) = &self.finished.cause {
            self.span.record("cause", &cause[..cause.floor_char_boundary(MAX_SPAN_CAUSE)]);
        }
        // The driver is gone if the scheduler was aborted; then nobody keeps the account.
        let _ = self.ends.send(self.finished.clone());
    }
}

/// Returns the span of a run, which lasts as long as its task and tells at its end how it ended.
///
/// It is a root that follows from the span of the job: who collects spans in traces gets one for each run when it ends, and not one
/// for all runs when the process does.
fn item_span(job_span: &Span, context: &ShardingContext) -> Span {
    let span = tracing::info_span!(
        parent: None,
        "item",
        job = %context.job_name(),
        instance = %context.instance(),
        item = context.item().index(),
        fire_time = %context.fire_time(),
        source = %context.source(),
        token = context.fencing_token(),
        task_id = %context.task_id(),
        outcome = Empty,
        cause = Empty,
    );
    span.follows_from(job_span);
    span
}
