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
        let room = Self::SEPARATOR.len() + Self::CUT.len();
        let mut text = String::new();
        for target in targets {
            let separator = if text.is_empty() { "" } else { Self::SEPARATOR };
            if text.len() + separator.len() + target.len() > Self::MAX_TEXT_BYTES - room {
                text.push_str(Self::SEPARATOR);
                text.push_str(Self::CUT);
                break;
            }
            text.push_str(separator);
            text.push_str(target);
        }
        text
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
    /// Maximum number of changes. The oldest ones are dropped.
    pub const MAX_RECORDS: usize = 32;

    /// Adds a change and drops the oldest ones beyond [`MAX_RECORDS`](Self::MAX_RECORDS).
    pub fn push(&mut self, record: AuditRecord) {
        self.0.push_back(AuditEntry { record, unknown: UnknownFields::default() });
        while self.0.len() > Self::MAX_RECORDS {
            self.0.pop_front();
        }
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
