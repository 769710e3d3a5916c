//! Violations: the broken promise, its place in the history, and the evidence.

use std::fmt;

use serde::Serialize;

use crate::Property;
use crate::history::is_first_slot;
use crate::slot::Slot;

/// Place in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct At {
    /// Index of the record in the merged history.
    pub record: usize,
    /// Time in nanoseconds on the shared clock.
    pub mt: u64,
    /// Revision of the registry, if the record is a commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zxid: Option<i64>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.mt / 1_000_000_000, self.mt / 1_000_000 % 1_000)?;
        match self.zxid {
            Some(zxid) => write!(f, ", revision {zxid}"),
            None => Ok(()),
        }
    }
}

/// Job and item of a violation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Job name; empty if the violation concerns the cluster.
    pub job: String,
    /// Item; `None` if the violation concerns the whole job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// Number of the slot of the item; 0 for the item itself.
    #[serde(skip_serializing_if = "is_first_slot")]
    pub slot: u32,
}

impl Subject {
    /// Returns a job, or a slot of one of its items.
    pub(crate) fn of(job: &str, slot: Option<Slot>) -> Self {
        let number = slot.map_or(0, |slot| slot.number);
        Self { job: job.to_owned(), item: slot.map(|slot| slot.item), slot: number }
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The promise.
    pub property: Property,
    /// Place of the violation.
    pub at: At,
    /// Job and item.
    pub subject: Subject,
    /// The observed action, and the valid one where it is not obvious.
    pub message: String,
    /// Indices of the records that show the violation, ascending.
    pub evidence: Vec<usize>,
    /// Records from the first to the last piece of evidence that concern the subject, one line
    /// each.
    ///
    /// [`check`](crate::check) fills it in. An incremental [`Replay`](crate::Replay) keeps no
    /// records to show.
    pub window: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.property, self.at)?;
        match (&self.subject.job, self.subject.item) {
            (job, _) if job.is_empty() => write!(f, ": {}", self.message),
            (job, None) => write!(f, ", {job}: {}", self.message),
            (job, Some(item)) => {
                let slot = Slot { item, number: self.subject.slot };
                write!(f, ", {job} item {slot}: {}", self.message)
            }
        }
    }
}
