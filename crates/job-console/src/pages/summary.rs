//! The numbers that each page shows, and the parts of a job that only some pages need.

use std::sync::Arc;

use jiff::Timestamp;
use operations::{
    DueFire, JobLine, JobList, JobSnapshot, JobState, late_fires, lateness_ms, slot_briefs,
};

use crate::findings::Found;
use crate::groups::shown;
use crate::namespaces::Namespace;

/// All jobs of a namespace at one moment, and the numbers that each page shows.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) list: Arc<JobList>,
    pub(crate) found: Arc<Found>,
    pub(crate) servers: usize,
    pub(crate) groups: usize,
    pub(crate) attention: usize,
    pub(crate) problems: usize,
    /// Violated expectations that are not silenced.
    pub(crate) violated: usize,
}

impl Summary {
    pub(crate) fn of(namespace: &Namespace, now: Timestamp) -> Self {
        let (list, found) = (namespace.live.list(), namespace.findings.found());
        Self {
            servers: namespace.live.servers().len(),
            groups: shown(&namespace.live).len(),
            attention: list.needing_attention(now.as_millisecond()),
            problems: found.problems(),
            violated: namespace.alerts.stored.open_violations(now),
            list,
            found,
        }
    }

    /// Returns the jobs in the order of their names.
    pub(crate) fn jobs(&self) -> &[JobLine] {
        self.list.jobs()
    }

    pub(crate) fn running(&self) -> usize {
        self.list.totals().running_items
    }
}

/// Begin of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// The registry has the time.
    Known(Timestamp),
    /// This console has first seen the state at this time.
    Seen(Timestamp),
}

impl Since {
    /// Returns the begin of the state of a job, by its records if they have it.
    pub(crate) fn of(line: &JobLine, job: Option<&JobSnapshot>) -> Option<Self> {
        let known = job.and_then(|job| known(job, line.status));
        known.map(Self::Known).or_else(|| Some(Self::Seen(moment(Some(line.state_since_ms))?)))
    }

    pub(crate) fn at(self) -> Timestamp {
        match self {
            Self::Known(at) | Self::Seen(at) => at,
        }
    }
}

fn known(job: &JobSnapshot, status: JobState) -> Option<Timestamp> {
    let changed_by = |acts: &[&str]| {
        let last = job.audit().rev().find(|record| acts.contains(&record.act.as_str()))?;
        moment(Some(last.at_ms))
    };
    match status {
        JobState::Failing => {
            let ends = slot_briefs(job).into_iter().filter(|item| item.failing);
            ends.filter_map(|item| moment(item.ended_ms)).min()
        }
        JobState::Paused => changed_by(&["pause"]),
        JobState::Disabled => changed_by(&["disable", "drain"]),
        JobState::Ok | JobState::Resharding | JobState::NoInstance | JobState::Crashed => None,
        _ => None,
    }
}

/// Late items of a job, by their fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Late {
    /// The earliest fire.
    pub(crate) first: DueFire,
    /// Numbers of all late items, that of the earliest fire first.
    pub(crate) items: Vec<u32>,
}

/// Returns the late items of a job.
pub(crate) fn late(line: &JobLine, job: &JobSnapshot, now: Timestamp) -> Option<Late> {
    // The search decodes the records of all items, and the summary says whether it is needed.
    lateness_ms(line, now.as_millisecond())?;
    let fires = late_fires(job, Some(line.ready_ms), now.as_millisecond());
    let items = fires.iter().map(|fire| fire.item.index()).collect();
    Some(Late { first: *fires.first()?, items })
}

pub(crate) fn moment(ms: Option<i64>) -> Option<Timestamp> {
    Timestamp::from_millisecond(ms?).ok()
}
