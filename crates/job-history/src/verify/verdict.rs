//! Verdicts about fires, and the result of a verification.

use std::fmt;

use jiff::Timestamp;
use sharding::ShardingItem;

use crate::{DropRecord, FireRecord};

/// Verdict about one fire of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It was run once: one run is completed, or ended as interrupted or cancelled. Or it was not
    /// run in its time, and a backfill has run it later.
    Run,
    /// Two runs of it are completed.
    RunTwice,
    /// It was not run, and the reason is on record.
    Missed,
    /// The records do not show what became of it.
    Unexplained,
    /// It is running, waits for a run, or is so young that its record may be on its way.
    Open,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 5] =
        [Self::Run, Self::RunTwice, Self::Missed, Self::Unexplained, Self::Open];

    /// Returns the verdict as a word, such as `run_twice`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::RunTwice => "run_twice",
            Self::Missed => "missed",
            Self::Unexplained => "unexplained",
            Self::Open => "open",
        }
    }

    /// Returns the verdict of a word.
    ///
    /// # Examples
    /// ```
    /// use job_history::Verdict;
    ///
    /// assert_eq!(Verdict::of_word("run_twice"), Some(Verdict::RunTwice));
    /// assert_eq!(Verdict::of_word("twice"), None);
    /// ```
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }

    /// Returns true for the verdicts that an operator has to look into: `run_twice`, `unexplained`.
    #[must_use]
    pub fn is_finding(self) -> bool {
        matches!(self, Self::RunTwice | Self::Unexplained)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A fire of an item with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgedFire {
    /// Scheduled fire time; for a manual request, the time of the request.
    pub fire: Timestamp,
    /// The item.
    pub item: ShardingItem,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason of the verdict, or error of the run.
    pub reason: Option<String>,
    /// Record of the fire; `None` if the history has none.
    pub record: Option<FireRecord>,
}

/// Numbers of fires of items by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts([u64; Verdict::ALL.len()]);

impl VerdictCounts {
    /// Returns the number of fires with a verdict.
    #[must_use]
    pub fn of(&self, verdict: Verdict) -> u64 {
        self.0[verdict as usize]
    }

    /// Returns the number of all judged fires.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(super) fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }
}

/// Time in which the fires of a job are not known, so that missing records are not found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnjudgedPeriod {
    /// Beginning.
    pub from: Timestamp,
    /// Exclusive end.
    pub until: Timestamp,
    /// Why the fires are not known.
    pub reason: String,
}

/// Result of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Number of fires by verdict, of all items.
    pub counts: VerdictCounts,
    /// The listed fires, earliest first.
    pub fires: Vec<JudgedFire>,
    /// True if more fires have a verdict that was asked for.
    pub has_more: bool,
    /// Times in which only the recorded fires are judged, earliest first.
    pub unjudged: Vec<UnjudgedPeriod>,
    /// Records of any job that the store has lost in the period.
    pub drops: Vec<DropRecord>,
}

impl Verification {
    /// Returns true if nothing ran twice, nothing is unexplained, and no time is left unjudged.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        let has_findings =
            Verdict::ALL.into_iter().any(|it| it.is_finding() && self.counts.of(it) > 0);
        !has_findings && self.unjudged.is_empty()
    }
}
