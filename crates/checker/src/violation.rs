//! Violations: which promise was broken, where, and how one can see it.

use std::fmt;

use serde::Serialize;

use crate::Property;

/// Where in a history something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct At {
    /// Which record of the merged history, from 0.
    pub record: usize,
    /// Nanoseconds on the clock that the run shares.
    pub mt: u64,
    /// The registry's revision, if the record is a commit.
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

/// Which job, and which item of it, a violation is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Which job; empty if it is about the cluster.
    pub job: String,
    /// Which item; `None` if it is about the whole job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which promise.
    pub property: Property,
    /// Where it shows.
    pub at: At,
    /// What it is about.
    pub subject: Subject,
    /// What was done, and what would have been allowed.
    pub message: String,
    /// The records that show it, by their places in the merged history, in ascending order.
    pub evidence: Vec<usize>,
    /// The records from the first to the last piece of evidence that matter to the subject, one line each. Filled in
    /// by [`check`](crate::check); an incremental [`Replay`](crate::Replay) has no records to show.
    pub window: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.property, self.at)?;
        match (&self.subject.job, self.subject.item) {
            (job, _) if job.is_empty() => write!(f, ": {}", self.message),
            (job, None) => write!(f, ", {job}: {}", self.message),
            (job, Some(item)) => write!(f, ", {job} item {item}: {}", self.message),
        }
    }
}
