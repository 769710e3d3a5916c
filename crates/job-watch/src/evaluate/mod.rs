//! Judges the expectations of a job: pure functions of a snapshot, the memory, and a time.
//!
//! In reading order: this file (the result, and conditions of the job as a whole) · `items`
//! (conditions that each item must meet) · `describe` (the sentences).

mod describe;
mod items;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use operations::{JobSnapshot, JobState, WhyNot, job_state, why_not_running};

use crate::memory::count;
use crate::{Condition, ConditionKind, Expectation, Memory};

/// State of an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The condition holds.
    Ok,
    /// The condition does not hold now, or it cannot be known yet, and the deadline has not passed.
    Pending {
        /// The deadline.
        until: Timestamp,
    },
    /// The condition does not hold.
    Violated {
        /// Time since which it does not hold.
        since: Timestamp,
        /// A sentence with the item, its owner and the times.
        why: String,
    },
    /// The registry does not have the facts, for example of a Java job without records.
    Unknown {
        /// The missing fact.
        why: String,
    },
    /// The condition is not judged, because operators have paused or disabled the job, or because
    /// the job has no schedule.
    Suspended {
        /// The reason.
        why: String,
    },
}

impl State {
    /// Returns `ok`, `pending`, `violated`, `unknown` or `suspended`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Pending { .. } => "pending",
            Self::Violated { .. } => "violated",
            Self::Unknown { .. } => "unknown",
            Self::Suspended { .. } => "suspended",
        }
    }

    /// Returns the reason of a state that has one.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Ok | Self::Pending { .. } => None,
            Self::Violated { why, .. } | Self::Unknown { why } | Self::Suspended { why } => {
                Some(why)
            }
        }
    }
}

/// Result of judging one expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assessment {
    /// Kind of the condition.
    pub expectation: ConditionKind,
    /// State of the expectation.
    pub state: State,
    /// Earliest time at which the state can become another one although no node changes.
    pub due: Option<Timestamp>,
    /// Number of items that violate the condition.
    pub items: usize,
}

impl Assessment {
    /// Returns a result without a due time and without items. Set the fields that differ.
    #[must_use]
    pub const fn new(expectation: ConditionKind, state: State) -> Self {
        Self { expectation, state, due: None, items: 0 }
    }
}

/// Facts of a history, for jobs whose nodes do not have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryFacts {
    /// End of the last successful run of each item, in milliseconds since 1970 UTC.
    pub last_success: BTreeMap<u32, i64>,
    /// Failed runs of each item since its last successful run.
    pub failed: BTreeMap<u32, FailedRuns>,
    /// Time at which the history was read, in milliseconds since 1970 UTC; `None` for the time of
    /// the judgement. Successes after it are not known, so that no later deadline is judged.
    pub read_at: Option<i64>,
}

/// Failed runs of one item in a row, by a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedRuns {
    /// Number of runs, at least 1.
    pub count: u32,
    /// End of the first one, in milliseconds since 1970 UTC.
    pub since: i64,
    /// End of the last one, in milliseconds since 1970 UTC.
    pub last: i64,
    /// Cause of the last one, if it is known.
    pub cause: Option<String>,
}

impl FailedRuns {
    /// Returns a number of failed runs, with the ends of the first and the last one in milliseconds
    /// since 1970 UTC.
    #[must_use]
    pub fn new(count: u32, since: i64, last: i64, cause: Option<String>) -> Self {
        Self { count, since, last, cause }
    }
}

impl HistoryFacts {
    /// Returns the facts of a history that was read at a time, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn new(last_success: BTreeMap<u32, i64>, read_at: i64) -> Self {
        Self { last_success, failed: BTreeMap::new(), read_at: Some(read_at) }
    }

    /// Adds the failed runs of each item since its last successful run.
    #[must_use]
    pub fn failed(self, failed: BTreeMap<u32, FailedRuns>) -> Self {
        Self { failed, ..self }
    }
}

/// Facts of a history, by job name.
pub type HistoryByJob = BTreeMap<String, HistoryFacts>;

/// Facts by which a job is judged.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Seen<'a> {
    /// The job's nodes; `None` if it has none.
    pub job: Option<&'a JobSnapshot>,
    /// Earlier observations, including this one.
    pub memory: &'a Memory,
    /// Facts of a history, if there is one.
    pub history: Option<&'a HistoryFacts>,
}

impl<'a> Seen<'a> {
    /// Returns the facts of a job without a history.
    #[must_use]
    pub const fn new(job: Option<&'a JobSnapshot>, memory: &'a Memory) -> Self {
        Self { job, memory, history: None }
    }

    /// Adds the facts of a history.
    #[must_use]
    pub const fn history(self, history: Option<&'a HistoryFacts>) -> Self {
        Self { history, ..self }
    }

    /// Returns the last known success of an item, in milliseconds since 1970 UTC.
    pub(crate) fn last_success(&self, item: u32) -> Option<i64> {
        let history = self.history.and_then(|facts| facts.last_success.get(&item).copied());
        self.memory.last_success(item).max(history)
    }
}

/// Judges each expectation of a job. The result depends on the arguments alone.
///
/// # Examples
/// ```
/// use job_watch::{Memory, Seen, State, WatchFile, evaluate};
///
/// let file = WatchFile::parse("[[expect]]\njob = \"report\"\ninstances_at_least = 2\n")?;
/// let now = "2024-02-29T12:00:00Z".parse().unwrap();
/// let mut memory = Memory::default();
/// memory.observe(None, &file.expectations_of("report"), now);
/// let seen = Seen::new(None, &memory);
/// let found = evaluate(&file.expectations_of("report"), seen, now);
/// assert_eq!(found[0].expectation.as_str(), "exists");
/// assert!(matches!(found[0].state, State::Violated { .. }));
/// # Ok::<(), job_watch::WatchFileError>(())
/// ```
#[must_use]
pub fn evaluate(expectations: &[Expectation], seen: Seen<'_>, now: Timestamp) -> Vec<Assessment> {
    let judge = |expectation: &Expectation| {
        let judged = judge(expectation.condition, seen, now.as_millisecond());
        let items = judged.items;
        let (state, due) = with_tolerance(judged, expectation.tolerated, now);
        Assessment { expectation: expectation.condition.kind(), state, due, items }
    };
    expectations.iter().map(judge).collect()
}

/// A state, the time at which it can change by itself, and the number of violating items.
struct Judged {
    state: State,
    due: Option<i64>,
    items: usize,
}

impl Judged {
    fn of(state: State) -> Self {
        Self { state, due: None, items: 0 }
    }
}

fn judge(condition: Condition, seen: Seen<'_>, now: i64) -> Judged {
    let Some(job) = seen.job.filter(|job| job.has_config()) else {
        return match condition {
            Condition::Exists => {
                let since = seen.memory.absent_since.unwrap_or(now);
                violated(since, "the namespace has no job of this name".to_owned())
            }
            Condition::LateAfter(_)
            | Condition::MustSucceedWithin(_)
            | Condition::AtMost(_)
            | Condition::Failures(_)
            | Condition::InstancesAtLeast(_) => unknown("the job does not exist"),
        };
    };
    match condition {
        Condition::Exists => Judged::of(State::Ok),
        Condition::InstancesAtLeast(least) => instances(job, least, seen.memory, now),
        Condition::LateAfter(_)
        | Condition::MustSucceedWithin(_)
        | Condition::AtMost(_)
        | Condition::Failures(_) => {
            if let Some(fault) = job.config_fault() {
                return unknown(&format!("the configuration cannot be read: {fault}"));
            }
            items::judge(condition, job, seen, now)
        }
    }
}

fn instances(job: &JobSnapshot, least: u32, memory: &Memory, now: i64) -> Judged {
    let live = count(job);
    if live >= least {
        return Judged::of(State::Ok);
    }
    let since = memory.short_since.unwrap_or(now);
    violated(since, format!("{live} of at least {least} instances are alive"))
}

/// Returns why no item of a job starts: all of its servers are paused or disabled.
fn suspension(job: &JobSnapshot, now: i64) -> Option<String> {
    let state = job_state(job);
    if !matches!(state, JobState::Paused | JobState::Disabled) {
        return None;
    }
    let now = Timestamp::from_millisecond(now).unwrap_or(Timestamp::UNIX_EPOCH);
    let is_reason =
        |why: &WhyNot| matches!(why, WhyNot::Paused { .. } | WhyNot::NoAvailableInstance { .. });
    let reason = why_not_running(job, now).into_iter().find(is_reason);
    Some(reason.map_or_else(|| format!("the job is {}", state.as_str()), |why| why.to_string()))
}

/// A violation within the tolerated time is pending.
fn with_tolerance(
    judged: Judged,
    tolerated: Duration,
    now: Timestamp,
) -> (State, Option<Timestamp>) {
    let Judged { state, due, .. } = judged;
    let due = due.and_then(|due| Timestamp::from_millisecond(due).ok());
    if let State::Violated { since, .. } = &state
        && let Ok(until) = since.checked_add(tolerated)
        && until > now
    {
        return (State::Pending { until }, Some(until));
    }
    // A time that has passed changes nothing any more.
    (state, due.filter(|due| *due > now))
}

fn violated(since: i64, why: String) -> Judged {
    let since = Timestamp::from_millisecond(since).unwrap_or(Timestamp::UNIX_EPOCH);
    Judged::of(State::Violated { since, why })
}

fn unknown(why: &str) -> Judged {
    Judged::of(State::Unknown { why: why.to_owned() })
}

fn suspended(why: impl Into<String>) -> Judged {
    Judged::of(State::Suspended { why: why.into() })
}
