//! Summaries of all jobs, shared by all readers until a job changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::JobName;

use crate::{ItemBrief, JobBrief, JobState};

/// The summaries of all jobs of a [`LiveNamespace`](crate::LiveNamespace), as of one moment.
#[derive(Clone, Debug, Default)]
pub struct JobList {
    revision: u64,
    jobs: Vec<Arc<JobBrief>>,
    totals: Totals,
}

impl JobList {
    /// Returns the list of these summaries, which are sorted by name.
    #[must_use]
    pub fn new(revision: u64, jobs: Vec<Arc<JobBrief>>) -> Self {
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
    pub fn jobs(&self) -> &[Arc<JobBrief>] {
        &self.jobs
    }

    /// Returns the sums over all jobs.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// Sums over all jobs of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of jobs in each state. States without jobs are absent.
    pub jobs: BTreeMap<JobState, usize>,
    /// Number of items.
    pub items: usize,
    /// Number of running items.
    pub running_items: usize,
    /// Number of items whose last run failed, panicked or timed out.
    pub failing_items: usize,
    /// Number of items without a live owner.
    pub unowned_items: usize,
    /// Number of items that an operator has disabled.
    pub disabled_items: usize,
}

impl Totals {
    fn of(jobs: &[Arc<JobBrief>]) -> Self {
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

/// A running item of any job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningItem {
    /// Job of the item.
    pub job: JobName,
    /// Summary of the item.
    pub item: ItemBrief,
    /// Start of the run in milliseconds since 1970 UTC, by its holder's clock. If no record shows
    /// it, this is the time of the mark by the registry's clock, if known.
    pub since_ms: Option<i64>,
}
