//! Leaving in order: drain, cancel, drop, and report per item what happened.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use coordination::{FencingToken, FireTime, JobName, Outcome};
use sharding::ShardingItem;
use tokio::sync::oneshot;

use crate::executor::{FinishedRun, RunNumber, RunningItem};

/// What became of a job when it was shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Which job.
    pub job: JobName,
    /// What ran when the shutdown began, and what was claimed before and started later, by item, and how it ended.
    pub items: Vec<ItemReport>,
    /// Whether the registry has been told. If not, what the instance owns stays its own until its session ends: close
    /// the registry centre to hand it over.
    pub deregistered: bool,
    /// How long the shutdown took.
    pub took: Duration,
}

impl ShutdownReport {
    /// Returns true if every run ended by itself and the registry has been told.
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
    /// Which item.
    pub item: ShardingItem,
    /// For which fire.
    pub fire: FireTime,
    /// Under which token.
    pub token: FencingToken,
    /// How it ended.
    pub ending: ItemEnding,
}

/// How a run ended during a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemEnding {
    /// By itself, before the deadline.
    Finished(Outcome),
    /// In time after its cancellation token had fired at the deadline.
    Cancelled(Outcome),
    /// Its future was dropped when the grace after the deadline was over.
    Dropped,
    /// It did not come to an `await` in time and may still be running. Its token fences it.
    StillRunning,
}

/// What is done about runs that do not end by themselves.
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
    /// Plans the steps: cancel at the deadline, drop after the grace, and the grace once more for the registry.
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

    /// Comes to an earlier end if another caller is in more of a hurry.
    pub(crate) fn hurry(&mut self, now: Duration, deadline: Duration, grace: Duration) {
        let earlier = steps(now, deadline, grace);
        for (at, step) in &mut self.steps {
            let hurried = earlier.iter().find(|(_, other)| other == step).map(|(at, _)| *at);
            *at = hurried.map_or(*at, |hurried| hurried.min(*at));
        }
    }

    pub(crate) fn wait(&mut self, waiter: oneshot::Sender<ShutdownReport>) {
        self.waiters.push(waiter);
    }

    pub(crate) fn next_step(&self) -> Option<Duration> {
        self.steps.front().map(|(at, _)| *at)
    }

    /// Returns when the shutdown is over, whatever has not happened by then.
    pub(crate) fn gives_up_at(&self) -> Option<Duration> {
        self.steps.back().map(|(at, _)| *at)
    }

    pub(crate) fn due_step(&mut self, now: Duration) -> Option<Step> {
        let (_, step) = self.steps.pop_front_if(|(at, _)| *at <= now)?;
        self.last_step = Some(step);
        Some(step)
    }

    /// Returns what was done last about runs that do not end by themselves.
    pub(crate) fn last_step(&self) -> Option<Step> {
        self.last_step
    }

    /// Takes a run into the account that has started since the shutdown began: its claim was under way by then.
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

    /// Returns the report, and who waits for it.
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
