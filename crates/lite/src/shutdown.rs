//! Orderly shutdown of a job: drain, cancel, drop, and a report per item.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use coordination::{FencingToken, FireTime, JobName, Outcome};
use sharding::ShardingItem;
use tokio::sync::oneshot;

use crate::executor::{FinishedRun, RunNumber, RunningItem};

/// Result of a job's shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// The job.
    pub job: JobName,
    /// Runs that were in progress when the shutdown began, and runs that were claimed before and
    /// started later, by item.
    pub items: Vec<ItemReport>,
    /// True if the registry has recorded that the instance left. Otherwise the instance keeps its
    /// items until its session ends: close the registry centre to hand them over.
    pub deregistered: bool,
    /// Duration of the shutdown.
    pub took: Duration,
}

impl ShutdownReport {
    /// Returns true if every run ended by itself and the registry has recorded that the instance
    /// left.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let ended = |item: &ItemReport| matches!(item.ending, ItemEnding::Finished(_));
        self.deregistered && self.items.iter().all(ended)
    }
}

/// A run that was in progress during the shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemReport {
    /// The item.
    pub item: ShardingItem,
    /// The fire.
    pub fire: FireTime,
    /// The fencing token.
    pub token: FencingToken,
    /// End of the run.
    pub ending: ItemEnding,
}

/// End of a run during a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemEnding {
    /// The run ended by itself, before the deadline.
    Finished(Outcome),
    /// The run ended within the grace, after its cancellation token had fired at the deadline.
    Cancelled(Outcome),
    /// The future was dropped after the grace.
    Dropped,
    /// The code did not reach an `await` in time and may still be running. Its token fences it.
    StillRunning,
}

/// Steps against runs that do not end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    CancelRuns,
    DropRuns,
    GiveUp,
}

/// A shutdown in progress.
#[derive(Debug)]
pub(crate) struct Shutdown {
    began: Duration,
    steps: VecDeque<(Duration, Step)>,
    last_step: Option<Step>,
    items: BTreeMap<RunNumber, ItemReport>,
    waiters: Vec<oneshot::Sender<ShutdownReport>>,
}

impl Shutdown {
    /// Plans the steps: cancel at the deadline, drop after the grace, and a second grace for the
    /// registry.
    pub(crate) fn begin<'a>(
        now: Duration,
        deadline: Duration,
        grace: Duration,
        running: impl Iterator<Item = (RunNumber, &'a RunningItem)>,
    ) -> Self {
        Self {
            began: now,
            steps: steps(now, deadline, grace),
            last_step: None,
            items: running.map(|(number, run)| (number, still_running(run))).collect(),
            waiters: Vec::new(),
        }
    }

    /// Brings the steps forward if another caller requests an earlier deadline.
    pub(crate) fn bring_forward(&mut self, now: Duration, deadline: Duration, grace: Duration) {
        let earlier = steps(now, deadline, grace);
        for (at, step) in &mut self.steps {
            let requested = earlier.iter().find(|(_, other)| other == step).map(|(at, _)| *at);
            *at = requested.map_or(*at, |requested| requested.min(*at));
        }
    }

    pub(crate) fn wait(&mut self, waiter: oneshot::Sender<ShutdownReport>) {
        self.waiters.push(waiter);
    }

    pub(crate) fn next_step(&self) -> Option<Duration> {
        self.steps.front().map(|(at, _)| *at)
    }

    /// Returns the time at which the shutdown ends at the latest.
    pub(crate) fn gives_up_at(&self) -> Option<Duration> {
        self.steps.back().map(|(at, _)| *at)
    }

    pub(crate) fn due_step(&mut self, now: Duration) -> Option<Step> {
        let (_, step) = self.steps.pop_front_if(|(at, _)| *at <= now)?;
        self.last_step = Some(step);
        Some(step)
    }

    /// Returns the last step taken against runs that do not end by themselves.
    pub(crate) fn last_step(&self) -> Option<Step> {
        self.last_step
    }

    /// Adds a run that started after the beginning of the shutdown, because its claim was in
    /// progress.
    pub(crate) fn expect(&mut self, number: RunNumber, run: &RunningItem) {
        self.items.insert(number, still_running(run));
    }

    pub(crate) fn note(&mut self, run: &FinishedRun) {
        let ending = match self.last_step {
            None => ItemEnding::Finished(run.outcome),
            Some(Step::CancelRuns) => ItemEnding::Cancelled(run.outcome),
            Some(Step::DropRuns | Step::GiveUp) => ItemEnding::Dropped,
        };
        if let Some(report) = self.items.get_mut(&run.number) {
            report.ending = ending;
        }
    }

    /// Returns the report, and the callers that wait for it.
    pub(crate) fn end(
        self,
        now: Duration,
        job: JobName,
        deregistered: bool,
    ) -> (ShutdownReport, Vec<oneshot::Sender<ShutdownReport>>) {
        let mut items: Vec<_> = self.items.into_values().collect();
        items.sort_by_key(|report| (report.item, report.token));
        let took = now.saturating_sub(self.began);
        (ShutdownReport { job, items, deregistered, took }, self.waiters)
    }
}

fn still_running(run: &RunningItem) -> ItemReport {
    let RunningItem { item, fire, token, .. } = *run;
    ItemReport { item, fire, token, ending: ItemEnding::StillRunning }
}

fn steps(now: Duration, deadline: Duration, grace: Duration) -> VecDeque<(Duration, Step)> {
    let cancel = now.saturating_add(deadline);
    let drop = cancel.saturating_add(grace);
    let give_up = drop.saturating_add(grace);
    VecDeque::from([(cancel, Step::CancelRuns), (drop, Step::DropRuns), (give_up, Step::GiveUp)])
}
