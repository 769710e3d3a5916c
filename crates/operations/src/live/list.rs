//! Summaries of all jobs, shared by all readers until a job changes.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use coordination::JobName;

use crate::{Attention, ItemBrief, JobBrief, JobState, attention};

/// A job in a [`JobList`]: its summary, and the times at which this process has seen its states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobLine {
    /// Summary of the job.
    pub brief: Arc<JobBrief>,
    /// Time at which this process first saw the present state, in milliseconds since 1970 UTC.
    pub state_since_ms: i64,
    /// Time at which this process first saw the present instances of the job ready, in
    /// milliseconds since 1970 UTC; see [`due_fire`](crate::due_fire).
    pub ready_ms: i64,
}

impl JobLine {
    /// Returns a job whose state and instances this process first saw at these times, in
    /// milliseconds since 1970 UTC.
    #[must_use]
    pub fn new(brief: Arc<JobBrief>, state_since_ms: i64, ready_ms: i64) -> Self {
        Self { brief, state_since_ms, ready_ms }
    }

    /// Returns why an operator should look at the job; see [`attention`].
    #[must_use]
    pub fn attention(&self, now_ms: i64) -> Option<Attention> {
        attention(&self.brief, self.state_since_ms, now_ms)
    }
}

impl Deref for JobLine {
    type Target = JobBrief;

    fn deref(&self) -> &JobBrief {
        &self.brief
    }
}

/// The summaries of all jobs of a [`LiveNamespace`](crate::LiveNamespace), as of one moment.
#[derive(Clone, Debug, Default)]
pub struct JobList {
    revision: u64,
    jobs: Vec<JobLine>,
    totals: Totals,
}

impl JobList {
    /// Returns the list of these summaries, which are sorted by name.
    #[must_use]
    pub fn new(revision: u64, jobs: Vec<JobLine>) -> Self {
        let totals = Totals::of(&jobs);
        Self { revision, jobs, totals }
    }

    /// Returns the number of this list: a later list with other summaries has a greater one. It is
    /// comparable only within one [`LiveNamespace`](crate::LiveNamespace).
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the summaries, sorted by name. Nodes without a configuration are no job.
    #[must_use]
    pub fn jobs(&self) -> &[JobLine] {
        &self.jobs
    }

    /// Returns the line of a job.
    #[must_use]
    pub fn get(&self, job: &str) -> Option<&JobLine> {
        let found = self.jobs.binary_search_by(|line| line.job_name.as_str().cmp(job));
        found.ok().and_then(|index| self.jobs.get(index))
    }

    /// Returns the number of jobs that need attention.
    #[must_use]
    pub fn needing_attention(&self, now_ms: i64) -> usize {
        self.jobs.iter().filter(|job| job.attention(now_ms).is_some()).count()
    }

    /// Returns the sums over all jobs.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Sums over all jobs of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Number of jobs in each state. States without jobs are absent.
    pub jobs: BTreeMap<JobState, usize>,
    /// Number of items.
    pub items: usize,
    /// Number of runs in progress.
    pub running_items: usize,
    /// Number of items whose last run failed, panicked, timed out or was interrupted.
    pub failing_items: usize,
    /// Number of items without a live owner.
    pub unowned_items: usize,
    /// Number of items that an operator has disabled.
    pub disabled_items: usize,
}

impl Totals {
    fn of(jobs: &[JobLine]) -> Self {
        let mut totals = Self::default();
        for job in jobs {
            *totals.jobs.entry(job.status).or_default() += 1;
            let items = job.sharding_total_count.unwrap_or_default();
            totals.items += usize::try_from(items).unwrap_or(usize::MAX);
            totals.running_items += job.running_items;
            totals.failing_items += job.failing_items;
            totals.unowned_items += job.unowned_items;
            totals.disabled_items += job.disabled_items;
        }
        totals
    }
}

/// A run in progress of any job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningItem {
    /// Job of the item.
    pub job: JobName,
    /// Summary of the slot of the item that the run has.
    pub item: ItemBrief,
    /// Start of the run in milliseconds since 1970 UTC, by its holder's clock. If no record shows
    /// it, this is the time of the mark by the registry's clock, if known.
    pub since_ms: Option<i64>,
}
