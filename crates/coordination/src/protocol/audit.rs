//! Audited changes: the last operator actions of a job or a group, each with its author and its
//! reason.

use std::collections::VecDeque;
use std::fmt;

use serde::Serialize;

use crate::{GroupName, JobName, UnknownFields};

/// An audited change. The programs of operators print it by its `Serialize`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AuditRecord {
    /// Identity of the change, unique within the job.
    pub id: String,
    /// Time of the change by the operator's clock, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// Author.
    pub who: String,
    /// Reason.
    pub why: String,
    /// Operator action as a word, such as `disable`.
    pub act: String,
    /// Servers, instances or items that were changed, as text.
    pub target: String,
    /// Effect on the targets, with the old and the new value of each changed field; masked where a
    /// value may be a secret. Empty in records of earlier versions.
    pub what: String,
}

impl AuditRecord {
    /// Maximum length of each text of a record, in bytes.
    pub const MAX_TEXT_BYTES: usize = 512;
    /// Separator of the targets in [`target`](Self::target).
    pub const SEPARATOR: &str = ", ";
    /// End of a text, or last entry of a list, that was shortened to the limit of a record.
    pub const CUT: &str = "…";
    /// Action of the leader that removed enabled servers without instances. It takes nothing back
    /// that an operator wants, so that the log drops such records first.
    pub const EXPIRED: &str = "expired";
    /// Action of the leader that removed paused or disabled servers without instances.
    pub(crate) const EXPIRED_HELD_BACK: &str = "expired while held back";

    /// Returns targets as the text of a record, shortened to its limit.
    ///
    /// # Examples
    /// ```
    /// use coordination::AuditRecord;
    ///
    /// assert_eq!(AuditRecord::list(["item 1", "item 2"]), "item 1, item 2");
    /// ```
    #[must_use]
    pub fn list<'a>(targets: impl IntoIterator<Item = &'a str>) -> String {
        let targets: Vec<&str> = targets.into_iter().collect();
        let listed = Self::n_listed(targets.iter().copied());
        let mut text = targets[..listed].join(Self::SEPARATOR);
        if listed < targets.len() {
            text.push_str(Self::SEPARATOR);
            text.push_str(Self::CUT);
        }
        text
    }

    /// Returns the number of the first targets that a list of them names.
    pub(crate) fn n_listed<'a>(targets: impl IntoIterator<Item = &'a str>) -> usize {
        let room = Self::MAX_TEXT_BYTES - Self::CUT.len();
        let mut bytes = 0;
        let fits = |target: &&str| {
            bytes += target.len() + Self::SEPARATOR.len();
            bytes <= room
        };
        targets.into_iter().take_while(fits).count()
    }

    /// Returns a text that a record can store: without control characters, shortened to the limit
    /// of a record.
    ///
    /// # Examples
    /// ```
    /// use coordination::AuditRecord;
    ///
    /// assert_eq!(AuditRecord::text("2 lines\n"), "2 lines");
    /// assert!(AuditRecord::text(&"x".repeat(1_000)).ends_with('…'));
    /// ```
    #[must_use]
    pub fn text(text: &str) -> String {
        let mut shown: String = text.chars().filter(|c| !c.is_control()).collect();
        if shown.len() > Self::MAX_TEXT_BYTES {
            shown.truncate(shown.floor_char_boundary(Self::MAX_TEXT_BYTES - Self::CUT.len()));
            shown.push_str(Self::CUT);
        }
        shown
    }
}

/// Subject of an audited change.
///
/// # Examples
/// ```
/// use coordination::{AuditSubject, GroupName, JobName};
///
/// let job = AuditSubject::from(&JobName::new("report")?);
/// let group = AuditSubject::from(&GroupName::new("database")?);
/// assert_eq!([job.to_string(), group.to_string()], ["report", "group database"]);
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuditSubject {
    /// A job, which may be removed since.
    Job(JobName),
    /// A group of jobs.
    Group(GroupName),
}

impl From<&JobName> for AuditSubject {
    fn from(name: &JobName) -> Self {
        Self::Job(name.clone())
    }
}

impl From<&GroupName> for AuditSubject {
    fn from(name: &GroupName) -> Self {
        Self::Group(name.clone())
    }
}

impl fmt::Display for AuditSubject {
    /// Writes the name of a job alone, and that of a group after `group`, as reports do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(name) => write!(f, "{name}"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// The last changes of a job, oldest first.
///
/// The number of changes is bounded, so that the log fits one node.
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
///         what: text("paused"),
///     });
/// }
/// assert_eq!(log.records().count(), AuditLog::MAX_RECORDS);
/// assert!(log.has("99") && !log.has("0"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuditLog(VecDeque<AuditEntry>);

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AuditEntry {
    pub(crate) record: AuditRecord,
    pub(crate) unknown: UnknownFields,
}

impl AuditLog {
    /// Maximum number of changes. [`push`](Self::push) drops those beyond it.
    pub const MAX_RECORDS: usize = 32;

    /// Adds a change. Of earlier ones beyond [`MAX_RECORDS`](Self::MAX_RECORDS) it drops the oldest
    /// expiry of servers, or the oldest one if there is none: pods come and go more often than
    /// operators act.
    pub fn push(&mut self, record: AuditRecord) {
        while self.0.len() >= Self::MAX_RECORDS {
            let expiry = self.records().position(|record| record.act == AuditRecord::EXPIRED);
            self.0.remove(expiry.unwrap_or(0));
        }
        self.0.push_back(AuditEntry { record, unknown: UnknownFields::default() });
    }

    /// Returns the changes, oldest first.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &AuditRecord> {
        self.0.iter().map(|entry| &entry.record)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &AuditEntry> {
        self.0.iter()
    }

    /// Returns true if the log has a change with this id.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.records().any(|record| record.id == id)
    }
}

impl FromIterator<AuditEntry> for AuditLog {
    fn from_iter<T: IntoIterator<Item = AuditEntry>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(acts: impl IntoIterator<Item = (&'static str, usize)>) -> Vec<(String, i64)> {
        let mut log = AuditLog::default();
        let acts = acts.into_iter().flat_map(|(act, n)| std::iter::repeat_n(act, n));
        for (at_ms, act) in (0..).zip(acts) {
            let text = String::new;
            let (id, act) = (at_ms.to_string(), act.to_owned());
            let (who, why, target, what) = (text(), text(), text(), text());
            log.push(AuditRecord { id, at_ms, who, why, act, target, what });
        }
        log.records().map(|record| (record.act.clone(), record.at_ms)).collect()
    }

    #[test]
    fn expiries_are_dropped_before_changes_of_operators() {
        let log = pushed([("pause", 31), (AuditRecord::EXPIRED, 50)]);
        assert_eq!(log.len(), AuditLog::MAX_RECORDS);
        assert_eq!([&log[0], &log[30]], [&("pause".to_owned(), 0), &("pause".to_owned(), 30)]);
        assert_eq!(log[31], (AuditRecord::EXPIRED.to_owned(), 80), "the last expiry stays");

        let log = pushed([(AuditRecord::EXPIRED, 40), ("pause", 31), ("resume", 2)]);
        assert_eq!([&log[0], &log[31]], [&("pause".to_owned(), 41), &("resume".to_owned(), 72)]);

        // It ended a pause or a disablement.
        let log = pushed([("pause", 1), (AuditRecord::EXPIRED_HELD_BACK, 31), ("resume", 1)]);
        assert_eq!(log[0], (AuditRecord::EXPIRED_HELD_BACK.to_owned(), 1));
    }
}
