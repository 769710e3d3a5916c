//! Questions to a history, and what it answers.

use coordination::{FencingToken, RunSource};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

use crate::FireOutcome;

/// How many rows a page has at most.
pub(crate) const MAX_PAGE: u32 = 1_000;

/// Which fires. Every condition that is given must hold.
///
/// # Examples
/// ```
/// use job_history::{FireOutcome, FireQuery};
///
/// let since = "2024-02-29T12:00:00Z".parse()?;
/// let failed = FireQuery::default().job("report").outcome(FireOutcome::new("failed")).from(since);
/// # let _ = failed;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FireQuery {
    pub(crate) job: Option<String>,
    pub(crate) item: Option<ShardingItem>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    pub(crate) outcome: Option<FireOutcome>,
    pub(crate) instance: Option<InstanceId>,
}

impl FireQuery {
    /// Only those of this job.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Only those of this item.
    #[must_use]
    pub fn item(mut self, item: ShardingItem) -> Self {
        self.item = Some(item);
        self
    }

    /// Only those that were due at this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Self {
        self.from = Some(time);
        self
    }

    /// Only those that were due before this time.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.until = Some(time);
        self
    }

    /// Only those that ended so.
    #[must_use]
    pub fn outcome(mut self, outcome: FireOutcome) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// Only those that this instance ran last.
    #[must_use]
    pub fn instance(mut self, instance: InstanceId) -> Self {
        self.instance = Some(instance);
        self
    }
}

/// A fire of an item and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FireRecord {
    /// The name of the job.
    pub job: String,
    /// Which item.
    pub item: ShardingItem,
    /// When it was due; for a requested run, when it was asked for.
    pub fire: Timestamp,
    /// What became of it.
    pub outcome: FireOutcome,
    /// Why it is not run, or what the error or panic of its run said; at most 4 000 characters.
    pub reason: Option<String>,
    /// Why it ran last; `None` if it did not.
    pub source: Option<RunSource>,
    /// The token of its last run; 0 without monitoring.
    pub token: Option<FencingToken>,
    /// Who ran it last.
    pub instance: Option<InstanceId>,
    /// When its last run began, by the clock of that instance.
    pub began: Option<Timestamp>,
    /// When its last run ended.
    pub ended: Option<Timestamp>,
    /// Who left a run of it unfinished.
    pub left_by: Option<InstanceId>,
    /// The exclusive end of the gap that begins with it: it and the fires after it were not run. Fires in between that have a row
    /// of their own are explained by that.
    pub gap_until: Option<Timestamp>,
    /// How many fires that gap has, this one included; `None` if that is not known.
    pub gap_count: Option<u32>,
}

/// Where a page ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireCursor {
    pub(crate) fire_ms: i64,
    pub(crate) job: String,
    pub(crate) item: i64,
}

/// Some of the fires that were asked for, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirePage {
    /// The fires.
    pub fires: Vec<FireRecord>,
    /// Where the next page begins; `None` if this is the last one.
    pub next: Option<FireCursor>,
}

/// How many fires of a job ended in which way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct OutcomeCount {
    /// The name of the job.
    pub job: String,
    /// The outcome.
    pub outcome: FireOutcome,
    /// How many fires of items.
    pub fires: u64,
}

/// Which events. Every condition that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    pub(crate) job: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl EventQuery {
    /// Only those of this job.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Only those of this kind, a word of [`JobEvent::name`](coordination::JobEvent::name): `became_leader`.
    #[must_use]
    pub fn kind(mut self, word: impl Into<String>) -> Self {
        self.kind = Some(word.into());
        self
    }

    /// Only those of this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Self {
        self.from = Some(time);
        self
    }

    /// Only those before this time.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.until = Some(time);
        self
    }
}

/// Something that happened to a job besides its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// When, by the clock of the instance.
    pub at: Timestamp,
    /// The name of the job.
    pub job: String,
    /// Who tells it.
    pub instance: Option<InstanceId>,
    /// What, as a word of [`JobEvent::name`](coordination::JobEvent::name).
    pub kind: String,
    /// Of which item, if of one.
    pub item: Option<ShardingItem>,
    /// Of which fire, if of one.
    pub fire: Option<Timestamp>,
    /// What, as a sentence; at most 4 000 characters.
    pub text: String,
}

/// Where a page of events ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCursor {
    pub(crate) at_ms: i64,
    pub(crate) writer: String,
    pub(crate) seq: i64,
}

/// Some of the events that were asked for, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRecord>,
    /// Where the next page begins; `None` if this is the last one.
    pub next: Option<EventCursor>,
}

/// Records that a process had to drop because its queue was full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DropRecord {
    /// The history that dropped them, by the random name that it has for its life.
    pub writer: String,
    /// The time of the first of them.
    pub first: Timestamp,
    /// The time of the last of them.
    pub last: Timestamp,
    /// How many.
    pub dropped: u64,
}
