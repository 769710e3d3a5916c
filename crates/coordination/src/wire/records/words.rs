//! The words and the small objects that ledger records consist of.

use reg_center::Version;
use serde::{Deserialize, Serialize};

use crate::{FireRange, FireTime, Gap, Outcome, RunKind, RunSource};

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StateDoc {
    Idle,
    Running,
    Orphan,
    Retired,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum SourceDoc {
    Normal,
    Misfire,
    Failover,
    Manual,
}

/// The kind of a run. Only `manual` is written, so that records of scheduled runs stay small.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KindDoc {
    Scheduled,
    Manual,
}

impl KindDoc {
    /// Returns the word to write for a kind.
    pub(super) fn written(kind: RunKind) -> Option<Self> {
        match kind {
            RunKind::Scheduled => None,
            RunKind::Manual => Some(Self::Manual),
        }
    }
}

impl From<KindDoc> for RunKind {
    fn from(doc: KindDoc) -> Self {
        match doc {
            KindDoc::Scheduled => Self::Scheduled,
            KindDoc::Manual => Self::Manual,
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutcomeDoc {
    Succeeded,
    Failed,
    Panicked,
    #[serde(rename = "timed_out")]
    TimedOut,
    Interrupted,
    Disabled,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct GapDoc {
    pub(super) first: i64,
    pub(super) until: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<u32>,
    /// The configuration in force at its end, if the schedule may have changed within the gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changed: Option<u32>,
}

impl From<&Gap> for GapDoc {
    fn from(gap: &Gap) -> Self {
        Self {
            first: gap.first.0,
            until: gap.until.0,
            count: gap.count,
            config: gap.config.map(|version| version.0),
            changed: gap.changed_to.map(|version| version.0),
        }
    }
}

impl From<GapDoc> for Gap {
    fn from(doc: GapDoc) -> Self {
        Self {
            first: FireTime(doc.first),
            until: FireTime(doc.until),
            count: doc.count,
            config: doc.config.map(Version),
            changed_to: doc.changed.map(Version),
        }
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct RangeDoc {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) count: u32,
}

/// Noted fires. Earlier versions drop `each`, and run the fires as one.
#[derive(Serialize, Deserialize)]
pub(super) struct NotedDoc {
    first: i64,
    last: i64,
    count: u32,
    /// The fires, if each of them gets a run of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    each: Vec<i64>,
}

impl NotedDoc {
    pub(super) fn new(range: FireRange, queued: &[FireTime]) -> Self {
        let each = queued.iter().map(|fire| fire.0).collect();
        Self { first: range.first.0, last: range.last.0, count: range.count, each }
    }

    /// Returns the range of the fires, and the queued ones.
    ///
    /// # Errors
    /// The queued fires do not ascend, or are not those of the range.
    pub(super) fn decode(self) -> Result<(FireRange, Vec<FireTime>), String> {
        let Self { first, last, count, each } = self;
        let range = RangeDoc { first, last, count }.into();
        let queued: Vec<_> = each.into_iter().map(FireTime).collect();
        let ascends = queued.is_sorted_by(|one, other| one < other);
        if queued.is_empty() || (ascends && FireRange::of(&queued) == Some(range)) {
            return Ok((range, queued));
        }
        let fires: Vec<_> = queued.iter().map(|fire| fire.0).collect();
        Err(format!(
            "misfire has each {fires:?}; valid are {count} ascending fires from {first} to {last}"
        ))
    }
}

impl From<FireRange> for RangeDoc {
    fn from(range: FireRange) -> Self {
        Self { first: range.first.0, last: range.last.0, count: range.count }
    }
}

impl From<RangeDoc> for FireRange {
    fn from(doc: RangeDoc) -> Self {
        Self { first: FireTime(doc.first), last: FireTime(doc.last), count: doc.count }
    }
}

impl From<RunSource> for SourceDoc {
    fn from(source: RunSource) -> Self {
        match source {
            RunSource::Normal => Self::Normal,
            RunSource::Misfire => Self::Misfire,
            RunSource::Failover => Self::Failover,
            // Earlier versions do not read another word. The past fire in the record shows that
            // the run belongs to a backfill.
            RunSource::Manual | RunSource::Backfill => Self::Manual,
        }
    }
}

impl From<SourceDoc> for RunSource {
    fn from(doc: SourceDoc) -> Self {
        match doc {
            SourceDoc::Normal => Self::Normal,
            SourceDoc::Misfire => Self::Misfire,
            SourceDoc::Failover => Self::Failover,
            SourceDoc::Manual => Self::Manual,
        }
    }
}

impl From<Outcome> for OutcomeDoc {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeded => Self::Succeeded,
            Outcome::Failed => Self::Failed,
            Outcome::Panicked => Self::Panicked,
            Outcome::TimedOut => Self::TimedOut,
            // Earlier versions do not read another word. The request in the record shows that the
            // run was cancelled.
            Outcome::Interrupted | Outcome::Cancelled => Self::Interrupted,
            Outcome::Disabled => Self::Disabled,
        }
    }
}

impl From<OutcomeDoc> for Outcome {
    fn from(doc: OutcomeDoc) -> Self {
        match doc {
            OutcomeDoc::Succeeded => Self::Succeeded,
            OutcomeDoc::Failed => Self::Failed,
            OutcomeDoc::Panicked => Self::Panicked,
            OutcomeDoc::TimedOut => Self::TimedOut,
            OutcomeDoc::Interrupted => Self::Interrupted,
            OutcomeDoc::Disabled => Self::Disabled,
        }
    }
}
