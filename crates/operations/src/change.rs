//! Author and reason of a change, and the report of its effects.

use std::fmt;

use coordination::{AuditRecord, JobName, OperatorStep};
use serde::Serialize;

use crate::act::REMOVE_JOB;
use crate::{Error, Result};

/// Author and reason of a change. Both are recorded with it.
///
/// # Examples
/// ```
/// use operations::By;
///
/// let by = By::new("anna", "release 12")?;
/// assert_eq!(by.to_string(), "anna: release 12");
/// assert!(By::new("anna", " ").is_err());
/// # Ok::<(), operations::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    who: String,
    why: String,
}

impl By {
    /// Creates the author and the reason of a change.
    ///
    /// # Errors
    /// [`Error::InvalidAuthorOrReason`] if one of them is blank, longer than
    /// [`AuditRecord::MAX_TEXT_BYTES`], or has control characters.
    pub fn new(who: impl Into<String>, why: impl Into<String>) -> Result<Self> {
        Ok(Self { who: validated("who", who.into())?, why: validated("why", why.into())? })
    }

    /// Returns the author of a change that is planned for a preview only, and never written.
    pub(crate) fn of_preview() -> Self {
        Self { who: "preview".to_owned(), why: "preview".to_owned() }
    }

    /// Returns the author.
    #[must_use]
    pub fn who(&self) -> &str {
        &self.who
    }

    /// Returns the reason.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

fn validated(field: &'static str, text: String) -> Result<String> {
    let max = AuditRecord::MAX_TEXT_BYTES;
    let found = if text.trim().is_empty() {
        "blank".to_owned()
    } else if text.len() > max {
        format!("{} bytes long", text.len())
    } else if text.chars().any(char::is_control) {
        format!("{text:?}")
    } else {
        return Ok(text);
    };
    Err(Error::InvalidAuthorOrReason { field, found, max })
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.who, self.why)
    }
}

/// Effects of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Report {
    /// Changes made, with their targets.
    pub done: Vec<Entry>,
    /// Targets left alone, with the reason.
    pub left: Vec<Entry>,
    /// Changes that failed, with the error.
    pub failed: Vec<Entry>,
    /// The error of each entry of `failed`, in the same order, for callers that decide by its kind.
    #[serde(skip)]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub causes: Vec<Error>,
    /// Audit records as stored: one for each changed job.
    pub records: Vec<Recorded>,
}

/// One target of a change, and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Entry {
    /// Job name.
    pub job: String,
    /// Target: a server, an instance, an item, or the configuration.
    pub target: String,
    /// Change made to the target, or why none was made.
    pub what: String,
    /// True if the target already is as wanted, or is a disabled item in a request for all items.
    pub as_wanted: bool,
}

impl Entry {
    /// Returns an entry of a target that is not as wanted.
    #[must_use]
    pub fn new(job: impl Into<String>, target: impl Into<String>, what: impl Into<String>) -> Self {
        Self { job: job.into(), target: target.into(), what: what.into(), as_wanted: false }
    }
}

/// A stored audit record, with its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Recorded {
    /// Job name.
    pub job: String,
    /// The record.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::schemas::AuditRecord))]
    pub record: AuditRecord,
}

impl Recorded {
    /// Returns true if the change has removed its job, so that no node is left to keep the record.
    #[must_use]
    pub fn is_removal_of_job(&self) -> bool {
        self.record.act == REMOVE_JOB
    }
}

impl Report {
    /// Appends the lists of another report, such as that of the next change.
    pub fn extend(&mut self, other: Self) {
        self.done.extend(other.done);
        self.left.extend(other.left);
        self.failed.extend(other.failed);
        self.causes.extend(other.causes);
        self.records.extend(other.records);
    }

    /// Adds a failed target, with its error.
    pub fn fail(&mut self, job: &str, target: &str, error: Error) {
        let what = error.to_string();
        let (job, target) = (job.to_owned(), target.to_owned());
        self.failed.push(Entry { job, target, what, as_wanted: false });
        self.causes.push(error);
    }

    /// Adds a target that was not tried, because the registry did not answer an earlier change.
    pub fn skip(&mut self, job: &str, target: &str) {
        let what = "not tried, as the registry did not answer".to_owned();
        let (job, target) = (job.to_owned(), target.to_owned());
        self.left.push(Entry { job, target, what, as_wanted: false });
    }

    /// Returns true if no target was changed, left alone or failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.left.is_empty() && self.failed.is_empty()
    }

    /// Returns true if the registry has not answered one of the changes. Further ones would wait
    /// for it as well.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.causes.iter().any(Error::is_unanswered)
    }

    /// Returns true if something was changed.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.done.is_empty()
    }
}

impl fmt::Display for Report {
    /// Writes one line for each entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [("done", &self.done), ("left alone", &self.left), ("failed", &self.failed)];
        for (word, entries) in rows {
            for Entry { job, target, what, .. } in entries {
                writeln!(f, "{word}: {job}, {target}: {what}")?;
            }
        }
        Ok(())
    }
}

/// Planned change of one job, based on one snapshot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Planned {
    pub(crate) steps: Vec<OperatorStep>,
    pub(crate) done: Vec<(String, String)>,
    pub(crate) left: Vec<(String, String)>,
    /// Targets left alone because they are as wanted.
    pub(crate) kept: Vec<(String, String)>,
}

impl Planned {
    pub(crate) fn change(
        &mut self,
        target: impl ToString,
        what: impl Into<String>,
        steps: impl IntoIterator<Item = OperatorStep>,
    ) {
        self.steps.extend(steps);
        self.done.push((target.to_string(), what.into()));
    }

    pub(crate) fn leave(&mut self, target: impl ToString, why: impl Into<String>) {
        self.left.push((target.to_string(), why.into()));
    }

    /// Leaves a target alone because it is as wanted.
    pub(crate) fn keep(&mut self, target: impl ToString, why: impl Into<String>) {
        self.kept.push((target.to_string(), why.into()));
    }

    /// Returns the changed targets for the audit record, shortened to its limit.
    pub(crate) fn target(&self) -> String {
        AuditRecord::list(self.done.iter().map(|(target, _)| target.as_str()))
    }

    /// Returns the effect for the audit record, shortened to its limit. Targets with the same
    /// effect as the one before them do not repeat it.
    pub(crate) fn effect(&self) -> String {
        let mut effects: Vec<&str> = self.done.iter().map(|(_, what)| what.as_str()).collect();
        effects.dedup();
        AuditRecord::text(&effects.join("; "))
    }

    pub(crate) fn report(self, job: &JobName, record: Option<AuditRecord>) -> Report {
        let entry = |(target, what)| Entry { job: job.to_string(), target, what, as_wanted: false };
        let kept = self.kept.into_iter().map(|kept| Entry { as_wanted: true, ..entry(kept) });
        let recorded = |record| Recorded { job: job.to_string(), record };
        Report {
            done: self.done.into_iter().map(entry).collect(),
            left: self.left.into_iter().map(entry).chain(kept).collect(),
            records: record.into_iter().map(recorded).collect(),
            ..Report::default()
        }
    }
}
