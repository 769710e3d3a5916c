//! What operators did to a job, as it is kept in the registry: the last changes, each with who and why.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// A change that an operator made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Tells this change from all others of the job.
    pub id: String,
    /// When, by the operator's clock, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// Who made it.
    pub who: String,
    /// Why.
    pub why: String,
    /// What was done, in a word such as `disable`.
    pub act: String,
    /// To what, for people: servers, instances or items.
    pub target: String,
}

impl AuditRecord {
    /// The longest that any of its texts may be, in bytes.
    pub const MAX_TEXT_BYTES: usize = 512;
}

/// The last changes of a job, oldest first. Bounded, so that a node holds it: older ones are dropped.
///
/// # Examples
/// ```
/// use coordination::{AuditLog, AuditRecord};
///
/// let mut log = AuditLog::default();
/// for n in 0..100 {
///     let text = |text: &str| text.to_owned();
///     log.push(AuditRecord {
///         id: n.to_string(),
///         at_ms: n,
///         who: text("anna"),
///         why: text("release 12"),
///         act: text("pause"),
///         target: text("10.0.0.7"),
///     });
/// }
/// assert_eq!(log.records().count(), AuditLog::MAX_RECORDS);
/// assert!(log.has("99") && !log.has("0"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AuditLog(VecDeque<AuditRecord>);

impl AuditLog {
    /// How many changes are kept.
    pub const MAX_RECORDS: usize = 32;

    /// Adds a change, and drops the oldest ones beyond the bound.
    pub fn push(&mut self, record: AuditRecord) {
        self.0.push_back(record);
        while self.0.len() > Self::MAX_RECORDS {
            self.0.pop_front();
        }
    }

    /// Returns the changes, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &AuditRecord> {
        self.0.iter()
    }

    /// Returns true if a change is among them.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.iter().any(|record| record.id == id)
    }
}
