//! Executor: the runs of a job in this process, one task per run.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{
    CancelItem, FencingToken, FireTime, JobConfig, JobName, Outcome, RunSource, StartItem,
};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};
use tokio::sync::{mpsc, watch};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::cancellation::Cancellation;
use crate::job_listener::Listeners;
use crate::job_record::Subscribers;
use crate::output::LoggedRun;
use crate::places::WaitsOfJob;
use crate::run::{EndDetails, Ending, Run, RunLimits, RunRules, Waited};
use crate::runtime::GenerationGuard;
use crate::seams::Seams;
use crate::wind_down::{self, RunUpdates};
use crate::{Job, ShardingContext};

/// Maximum length of the failure text in a run's span, in bytes.
const MAX_SPAN_CAUSE: usize = 256;

/// Number of a run in its executor. Tokens cannot serve as one: without monitoring all runs have
/// token 0.
pub(crate) type RunNumber = u64;

/// A run that has ended, or whose task was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedRun {
    pub(crate) number: RunNumber,
    pub(crate) item: ShardingItem,
    pub(crate) slot: u32,
    pub(crate) token: FencingToken,
    pub(crate) outcome: Outcome,
    /// Text of the error or panic, if the run failed.
    pub(crate) cause: Option<String>,
    /// Further data for error handlers.
    pub(crate) details: EndDetails,
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct RunningItem {
    pub(crate) item: ShardingItem,
    pub(crate) slot: u32,
    pub(crate) token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) past_fire: Option<FireTime>,
    pub(crate) source: RunSource,
    pub(crate) holder: InstanceId,
    pub(crate) began: Timestamp,
    /// Span of all log lines about the run.
    pub(crate) span: Span,
    /// Time that the run has waited for places.
    pub(crate) waited: Waited,
    /// Cuts the run short.
    cancellation: Cancellation,
    /// Sends updates to the job's code.
    updates: watch::Sender<RunUpdates>,
}

/// The runs of one job in this process.
pub(crate) struct Executor {
    job: Arc<dyn Job>,
    seams: Seams,
    subscribers: Arc<Subscribers>,
    ends: mpsc::UnboundedSender<Box<FinishedRun>>,
    rules: RunRules,
    listeners: Listeners,
    guard: Option<Arc<GenerationGuard>>,
    limits: RunLimits,
    running: BTreeMap<RunNumber, RunningItem>,
    next: RunNumber,
}

impl Executor {
    pub(crate) fn new(
        job: Arc<dyn Job>,
        seams: &Seams,
        subscribers: Arc<Subscribers>,
        ends: mpsc::UnboundedSender<Box<FinishedRun>>,
        limits: RunLimits,
        rules: RunRules,
        listeners: Listeners,
    ) -> Self {
        let (seams, guard, running) = (seams.clone(), None, BTreeMap::new());
        Self { job, seams, subscribers, ends, rules, listeners, guard, limits, running, next: 0 }
    }

    /// Sets a guard that must admit each run before the code and the listeners are called.
    pub(crate) fn guarded_by(mut self, guard: Option<Arc<GenerationGuard>>) -> Self {
        self.guard = guard;
        self
    }

    /// Starts an item and returns its run. Its end is reported even if its task is dropped.
    pub(crate) fn start(
        &mut self,
        start: StartItem,
        began: Timestamp,
        job_span: &Span,
    ) -> (RunNumber, &RunningItem) {
        let number = self.next;
        self.next += 1;
        let cancellation = Cancellation::default();
        let StartItem { item, slot, token, fire, past_fire, source, .. } = start;
        let holder = start.holder.clone();
        let updates = RunUpdates::at_start(Arc::clone(&start.config));
        let (clock, limit) = (&self.seams.clock, self.rules.output_bytes);
        let log = LoggedRun::new(&start, &self.subscribers, clock, limit);
        let (seams, subscribed) = (self.seams.clone(), updates.subscribe());
        let context =
            ShardingContext::new(start, &cancellation, subscribed, seams, Arc::clone(&log));
        let span = item_span(job_span, &context);
        let running = RunningItem {
            item,
            slot,
            token,
            fire,
            past_fire,
            source,
            holder,
            began,
            span: span.clone(),
            waited: Waited::default(),
            cancellation: cancellation.clone(),
            updates,
        };
        let waited = running.waited.clone();
        let (outcome, details) = (Outcome::Interrupted, EndDetails::default());
        let finished =
            Box::new(FinishedRun { number, item, slot, token, outcome, cause: None, details });
        let report = Report {
            finished,
            cancellation: cancellation.clone(),
            span: span.clone(),
            log,
            ends: self.ends.clone(),
        };
        let progress = context.progress_writer(&cancellation);
        let run = Run {
            job: Arc::clone(&self.job),
            context,
            limits: self.limits.clone(),
            waited: waited.clone(),
            clock: Arc::clone(&self.seams.clock),
            rules: self.rules,
            listeners: self.listeners.clone(),
            guard: self.guard.clone(),
            cancellation,
        };
        let task = async move { report.send(progress.beside(run.run_to_end()).await) };
        self.seams.spawn.spawn(Box::pin(task.instrument(span)));
        (number, self.running.entry(number).or_insert(running))
    }

    /// Removes a run that has ended, and returns its data.
    pub(crate) fn forget(&mut self, number: RunNumber) -> Option<RunningItem> {
        self.running.remove(&number)
    }

    /// Returns the runs of this job that wait for a place of the process, and the number of places.
    pub(crate) fn waits(&self, job: &JobName) -> Option<(usize, WaitsOfJob)> {
        let places = self.limits.of_process.as_ref()?;
        Some((places.limit(), places.waits_of(job)?))
    }

    /// Returns true if a run of this job may wait for a place of the process.
    pub(crate) fn may_wait(&self) -> bool {
        self.limits.of_process.is_some() && !self.running.is_empty()
    }

    /// Returns the runs in progress.
    pub(crate) fn running(&self) -> impl Iterator<Item = (RunNumber, &RunningItem)> {
        self.running.iter().map(|(number, item)| (*number, item))
    }

    /// Sends each run the configuration in force, and whether it should wind down.
    pub(crate) fn update_runs(
        &self,
        config: &Arc<JobConfig>,
        may_stay: impl Fn(ShardingItem) -> bool,
    ) {
        for run in self.running.values() {
            wind_down::publish(&run.updates, !may_stay(run.item), config);
        }
    }

    /// Asks one run to end, and drops its future after the grace.
    pub(crate) fn cancel(&self, cancel: &CancelItem) {
        let runs = self.running.values();
        let key = (cancel.item, cancel.slot, cancel.token);
        for run in runs.filter(|run| (run.item, run.slot, run.token) == key) {
            let (by, why) = (cancel.request.by(), cancel.request.why());
            run.span.in_scope(|| tracing::warn!(by, why, grace = ?self.rules.grace, "cancelling"));
            run.cancellation.request(Arc::clone(&cancel.request));
        }
    }

    /// Asks all runs to end.
    pub(crate) fn cancel_all(&self) {
        self.running.values().for_each(|run| run.cancellation.cancel.cancel());
    }

    /// Asks all runs to end and drops their futures at their next await.
    pub(crate) fn abandon_all(&self) {
        self.running.values().for_each(|run| run.cancellation.abandon());
    }
}

/// Abandons the runs, so that their futures end at the next await after the scheduler was dropped.
impl Drop for Executor {
    fn drop(&mut self) {
        self.abandon_all();
    }
}

/// Sends the end of a run exactly once, also if its task is dropped.
struct Report {
    finished: Box<FinishedRun>,
    cancellation: Cancellation,
    span: Span,
    log: Arc<LoggedRun>,
    ends: mpsc::UnboundedSender<Box<FinishedRun>>,
}

impl Report {
    fn send(mut self, ending: Ending) {
        self.finished.outcome = ending.outcome;
        self.finished.cause = ending.cause;
        self.finished.details = ending.details;
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.log.close();
        let (outcome, cause) = (self.finished.outcome, self.finished.cause.take());
        (self.finished.outcome, self.finished.cause) = self.cancellation.name(outcome, cause);
        self.span.record("outcome", self.finished.outcome.as_str());
        // If the driver is gone, the scheduler was aborted and the report is discarded.
        let _ = self.ends.send(self.finished.clone());
    }
}

/// Records the cause of a failure in the span of its run. Log lines of the run show the fields of
/// its span, so that the cause is recorded after the line of the failure, which has the full text.
pub(crate) fn record_cause(span: &Span, cause: &str) {
    span.record("cause", &cause[..cause.floor_char_boundary(MAX_SPAN_CAUSE)]);
}

/// Returns the span of a run. It lasts as long as the task and records the outcome at its end.
///
/// It is a root that follows from the job's span. A tracing collector thus receives one trace per
/// run when the run ends, not one for all runs when the process ends.
fn item_span(job_span: &Span, context: &ShardingContext) -> Span {
    let span = tracing::info_span!(
        parent: None,
        "item",
        job = %context.job_name(),
        instance = %context.instance(),
        item = context.item().index(),
        slot = (context.slot() > 0).then(|| context.slot()),
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
