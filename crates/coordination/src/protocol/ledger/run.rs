//! A run of an item: its source, its holder, the fires it stands for, and its outcome.

use std::fmt;

use reg_center::Version;
use sharding::InstanceId;

use crate::{FireTime, GroupPermit, RequestParameter};

/// Source of a run: the reason why an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunSource {
    /// A scheduled fire.
    Normal,
    /// Fires that did not run in their time: all noted misfires at once, one queued fire, or one
    /// missed fire of a job that catches up.
    Misfire,
    /// A takeover of an orphaned run.
    Failover,
    /// A manual request of an operator.
    Manual,
    /// A past fire that an operator requested to run again.
    Backfill,
}

impl RunSource {
    /// Returns the word on the wire: `NORMAL`, `MISFIRE`, `FAILOVER`, `MANUAL` or
    /// `BACKFILL`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Misfire => "MISFIRE",
            Self::Failover => "FAILOVER",
            Self::Manual => "MANUAL",
            Self::Backfill => "BACKFILL",
        }
    }
}

impl fmt::Display for RunSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Kind of a run: what its fire time stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunKind {
    /// The run is for a scheduled fire.
    Scheduled,
    /// The run is for a manual request.
    Manual,
}

impl RunKind {
    /// Returns the kind of a run that is not a takeover.
    pub(crate) fn of_first_run(source: RunSource) -> Self {
        match source {
            RunSource::Manual | RunSource::Backfill => Self::Manual,
            RunSource::Normal | RunSource::Misfire | RunSource::Failover => Self::Scheduled,
        }
    }
}

/// Outcome of a fire of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The job's code returned without an error.
    Succeeded,
    /// The job's code returned an error.
    Failed,
    /// The job's code panicked.
    Panicked,
    /// The job's code did not end within its time limit.
    TimedOut,
    /// The run was cut short, or its holder was lost, and no instance takes it over.
    Interrupted,
    /// The run ended because an operator or a program requested its cancellation. The record has
    /// the request.
    Cancelled,
    /// The item was disabled when the fire was due.
    Disabled,
}

impl Outcome {
    /// Returns true if the run ended before its code had returned by itself.
    #[must_use]
    pub fn is_cut_short(self) -> bool {
        matches!(self, Self::Interrupted | Self::Cancelled)
    }

    /// Returns the outcome as a word, in lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Scheduled fires that were merged into one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FireRange {
    /// First fire.
    pub first: FireTime,
    /// Last fire. Its time identifies the run that stands for all of them.
    pub last: FireTime,
    /// Number of noted fires, at least 1. Fires in between that no instance noted are gaps.
    pub count: u32,
}

impl FireRange {
    pub(super) fn has(self, fire: FireTime) -> bool {
        (self.first..=self.last).contains(&fire)
    }

    /// Returns the range of these fires, which ascend. `None` if there are none.
    pub(crate) fn of(fires: &[FireTime]) -> Option<Self> {
        let (first, last) = (*fires.first()?, *fires.last()?);
        Some(Self { first, last, count: u32::try_from(fires.len()).unwrap_or(u32::MAX) })
    }

    pub(super) fn extended_by(range: Option<Self>, fire: FireTime) -> Self {
        match range {
            // A fire that comes late, or twice, must not lower the end.
            Some(range) if range.last >= fire => range,
            Some(range) => Self { last: fire, count: range.count.saturating_add(1), ..range },
            None => Self { first: fire, last: fire, count: 1 },
        }
    }
}

impl fmt::Display for FireRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "the fire of {}", self.last),
            count => write!(f, "{count} fires from {} to {}", self.first, self.last),
        }
    }
}

/// The instance that claims an item, with the time and the configuration of the claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    /// Id of the instance, for this incarnation.
    pub holder: InstanceId,
    /// Registry version of the configuration that the run will use.
    pub config: Version,
    /// Time of the claim by the clock of the claimant, in milliseconds since 1970 UTC.
    pub now_ms: i64,
}

/// A run in progress, or an orphaned one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Instance that claimed the run.
    pub holder: InstanceId,
    /// Scheduled fire time, or the time of the request.
    pub fire: FireTime,
    /// Source of the run.
    pub source: RunSource,
    /// Kind of the run. A takeover keeps it.
    pub kind: RunKind,
    /// Fires that the run stands for, if more than its own.
    pub merged: Option<FireRange>,
    /// Parameter of the manual request. A takeover keeps it.
    pub parameter: Option<RequestParameter>,
    /// Number of its permit, if the job limits the runs at the same time. An orphaned run has given
    /// it back, and a takeover has another one.
    pub permit: Option<u32>,
    /// Its permit of the job's group, if the group limits the runs at the same time. As for
    /// `permit`, a takeover has another one.
    pub group_permit: Option<GroupPermit>,
    /// Past fire that the run is for, if it belongs to a backfill. A takeover keeps it.
    pub past_fire: Option<FireTime>,
}

impl Run {
    /// Returns a run for one scheduled fire.
    pub(super) fn scheduled(holder: InstanceId, source: RunSource, fire: FireTime) -> Self {
        let (kind, merged, parameter) = (RunKind::Scheduled, None, None);
        let (permit, group_permit, past_fire) = (None, None, None);
        Self { holder, fire, source, kind, merged, parameter, permit, group_permit, past_fire }
    }

    /// Returns true if the run is for this fire, or stands for it among others. The run of a
    /// backfill is for its past fire, and for the time of its request.
    #[must_use]
    pub fn stands_for(&self, fire: FireTime) -> bool {
        let is_for = self.fire == fire || self.past_fire == Some(fire);
        is_for || self.merged.is_some_and(|range| range.has(fire))
    }

    /// Returns true if a later fire of a job with `overlap = cancel` ends the run.
    ///
    /// A run that an operator requested is not the schedule's to end. A run that stands for noted
    /// fires completes: otherwise no run of a job whose runs outlast its period ever would.
    #[must_use]
    pub fn yields_to_later_fire(&self) -> bool {
        self.is_scheduled() && self.merged.is_none()
    }

    /// Returns true if the run, or the run that it took over, is for a scheduled fire.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.kind == RunKind::Scheduled
    }
}
