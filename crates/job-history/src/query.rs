//! Queries of a history, and their results.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use coordination::{AuditRecord, AuditSubject, FencingToken, GroupName, JobName, RunSource};
use jiff::Timestamp;
use lite::OutputStream;
use sharding::{InstanceId, ShardingItem};

use crate::FireOutcome;

/// Maximum number of rows in a page.
pub(crate) const MAX_PAGE: u32 = 1_000;

/// Conditions for fires. A fire must meet all of them.
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
    /// Selects fires with a run.
    pub(crate) has_run: bool,
    /// Selects fires whose last run was not of a request of an operator, nor its takeover.
    pub(crate) without_requests: bool,
    /// Selects fires whose last run was not a takeover.
    pub(crate) without_takeovers: bool,
    /// Selects fires whose gap lasts beyond this time.
    pub(crate) gap_beyond: Option<Timestamp>,
    /// Selects the runs of backfills for past fires from the first time to before the second, in
    /// milliseconds since 1970 UTC.
    pub(crate) past_fires: Option<(i64, i64)>,
}

impl FireQuery {
    /// Selects fires of this job.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Selects fires of this item.
    #[must_use]
    pub fn item(mut self, item: ShardingItem) -> Self {
        self.item = Some(item);
        self
    }

    /// Selects fires that were scheduled for this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Self {
        self.from = Some(time);
        self
    }

    /// Selects fires that were scheduled for a time before this one.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.until = Some(time);
        self
    }

    /// Selects fires with this outcome.
    #[must_use]
    pub fn outcome(mut self, outcome: FireOutcome) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// Selects fires that have had a run.
    #[must_use]
    pub fn with_run(mut self) -> Self {
        self.has_run = true;
        self
    }

    /// Selects fires whose last run was of this instance.
    #[must_use]
    pub fn instance(mut self, instance: InstanceId) -> Self {
        self.instance = Some(instance);
        self
    }
}

/// A fire of an item, with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FireRecord {
    /// Name of the job.
    pub job: String,
    /// The item.
    pub item: ShardingItem,
    /// Scheduled fire time; for a manual request, the time of the request.
    pub fire: Timestamp,
    /// Outcome, or the present state.
    pub outcome: FireOutcome,
    /// Reason why it did not run, or error or panic of its run; at most 4 000 characters.
    pub reason: Option<String>,
    /// Source of its last run; `None` if it had none.
    pub source: Option<RunSource>,
    /// Fencing token of its last run; 0 without monitoring.
    pub token: Option<FencingToken>,
    /// Instance of its last run.
    pub instance: Option<InstanceId>,
    /// Start of its last run, by the clock of that instance.
    pub began: Option<Timestamp>,
    /// End of its last run.
    pub ended: Option<Timestamp>,
    /// Instance that was gone before it completed a run of this fire.
    pub former_holder: Option<InstanceId>,
    /// Exclusive end of the gap that begins with this fire. If a fire within the gap has its own
    /// row, that row has the reason.
    pub gap_until: Option<Timestamp>,
    /// Number of fires of that gap, including this one; `None` if unknown.
    pub gap_count: Option<u32>,
    /// True if the run of `former_holder` waits for a takeover, or waited for one that is recorded
    /// here.
    pub failover: bool,
    /// Completed run with the smallest token. `None` if no run is completed, or a version before
    /// 0.2 has written the row.
    pub first_completed: Option<CompletedRun>,
    /// Completed run with the greatest token. It differs from the first one if the fire ran twice.
    pub last_completed: Option<CompletedRun>,
    /// Past fire that the run repeats, if it is of a backfill: `fire` is then the time of its
    /// request. `None` if a version before 0.2 has written the row.
    pub past_fire: Option<Timestamp>,
}

/// A run that ended with an outcome other than `interrupted`, `cancelled` and `disabled`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletedRun {
    /// Fencing token; 0 without monitoring.
    pub token: FencingToken,
    /// Instance that ran it.
    pub instance: InstanceId,
}

/// End of a page of fires. Its text can be parsed again, such as for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireCursor {
    pub(crate) fire_ms: i64,
    pub(crate) job: String,
    pub(crate) item: i64,
}

impl fmt::Display for FireCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.fire_ms, self.item, self.job)
    }
}

impl FromStr for FireCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (fire_ms, item, job) = cursor_parts(text)?;
        Ok(Self { fire_ms, item, job })
    }
}

/// A text that is no cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cursor is {text:?}; valid is the cursor of an earlier page")]
#[non_exhaustive]
pub struct InvalidCursor {
    /// The text.
    pub text: String,
}

/// Splits the text of a cursor into two numbers and a name, which may contain the delimiter.
fn cursor_parts(text: &str) -> Result<(i64, i64, String), InvalidCursor> {
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse().ok());
    let parsed = (number(), number(), parts.next());
    let (Some(first), Some(second), Some(name)) = parsed else {
        return Err(InvalidCursor { text: text.to_owned() });
    };
    Ok((first, second, name.to_owned()))
}

/// One page of the selected fires, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FirePage {
    /// The fires.
    pub fires: Vec<FireRecord>,
    /// Cursor for the next page; `None` if this is the last one.
    pub next: Option<FireCursor>,
}

/// Number of fires of a job with one outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct OutcomeCount {
    /// Name of the job.
    pub job: String,
    /// The outcome.
    pub outcome: FireOutcome,
    /// Number of fires of items.
    pub fires: u64,
}

/// Conditions for events. An event must meet all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    pub(crate) job: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl EventQuery {
    /// Selects events of this job.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Selects events of this kind, a word of [`JobEvent::name`](coordination::JobEvent::name) such
    /// as `became_leader`.
    #[must_use]
    pub fn kind(mut self, word: impl Into<String>) -> Self {
        self.kind = Some(word.into());
        self
    }

    /// Selects events of this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Self {
        self.from = Some(time);
        self
    }

    /// Selects events before this time.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.until = Some(time);
        self
    }
}

/// An event of a job other than a claim or a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRecord {
    /// Time, by the clock of the instance.
    pub at: Timestamp,
    /// Name of the job.
    pub job: String,
    /// Instance that reported the event.
    pub instance: Option<InstanceId>,
    /// Kind, a word of [`JobEvent::name`](coordination::JobEvent::name).
    pub kind: String,
    /// Item, if the event is about one.
    pub item: Option<ShardingItem>,
    /// Scheduled fire time, if the event is about one fire.
    pub fire: Option<Timestamp>,
    /// Description in one sentence; at most 4 000 characters.
    pub text: String,
}

/// End of a page of events. Its text can be parsed again, such as for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventCursor {
    pub(crate) at_ms: i64,
    pub(crate) writer: String,
    pub(crate) seq: i64,
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.at_ms, self.seq, self.writer)
    }
}

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (at_ms, seq, writer) = cursor_parts(text)?;
        Ok(Self { at_ms, seq, writer })
    }
}

/// One page of the selected events, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRecord>,
    /// Cursor for the next page; `None` if this is the last one.
    pub next: Option<EventCursor>,
}

/// Selection of the output of a fire.
///
/// # Examples
/// ```
/// use job_history::OutputQuery;
/// use lite::OutputStream;
///
/// let noon = "2024-02-29T12:00:00Z".parse()?;
/// let errors = OutputQuery::of_fire("report", noon).stream(OutputStream::Stderr);
/// # let _ = errors;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputQuery {
    pub(crate) job: String,
    pub(crate) fire: Timestamp,
    pub(crate) item: Option<ShardingItem>,
    pub(crate) stream: Option<OutputStream>,
}

impl OutputQuery {
    /// Selects the lines of all runs of a fire of a job.
    #[must_use]
    pub fn of_fire(job: impl Into<String>, fire: Timestamp) -> Self {
        Self { job: job.into(), fire, item: None, stream: None }
    }

    /// Selects lines of this item.
    #[must_use]
    pub fn item(mut self, item: ShardingItem) -> Self {
        self.item = Some(item);
        self
    }

    /// Selects lines of this source.
    #[must_use]
    pub fn stream(mut self, stream: OutputStream) -> Self {
        self.stream = Some(stream);
        self
    }
}

/// A line of output of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputRecord {
    /// The item.
    pub item: ShardingItem,
    /// Fencing token of the run; 0 without monitoring.
    pub token: FencingToken,
    /// Random name of the history that wrote the line.
    pub writer: String,
    /// Number of the line within the run, from 0. If numbers are missing between two lines, lines
    /// were left out: the run has more than it may keep, or the store was too slow.
    pub seq: u64,
    /// Instance that ran the item.
    pub instance: InstanceId,
    /// Number of the attempt within the run, from 1.
    pub attempt: u32,
    /// Time of the line, by the clock of that instance.
    pub at: Timestamp,
    /// Source, a word of [`OutputStream`]; a later version can write others.
    pub stream: String,
    /// The text, without its end of line.
    pub text: String,
}

impl OutputRecord {
    /// Returns the cursor after which later lines follow.
    #[must_use]
    pub fn cursor(&self) -> OutputCursor {
        OutputCursor {
            item: i64::from(self.item.index()),
            token: i64::try_from(self.token.0).unwrap_or(i64::MAX),
            writer: self.writer.clone(),
            seq: i64::try_from(self.seq).unwrap_or(i64::MAX),
        }
    }

    /// Returns the number of lines that are missing between a line and this one, or before the
    /// first line of a run. Only meaningful in output that is not limited to a stream.
    #[must_use]
    pub fn missing_since(&self, before: Option<&Self>) -> u64 {
        let key = |line: &Self| (line.item, line.token, line.writer.clone());
        match before.filter(|before| key(before) == key(self)) {
            Some(before) => self.seq.saturating_sub(before.seq.saturating_add(1)),
            None => self.seq,
        }
    }
}

/// End of a page of output. Its text can be parsed again, such as for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputCursor {
    pub(crate) item: i64,
    pub(crate) token: i64,
    pub(crate) writer: String,
    pub(crate) seq: i64,
}

impl fmt::Display for OutputCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.item, self.seq, self.token, self.writer)
    }
}

impl FromStr for OutputCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let invalid = || InvalidCursor { text: text.to_owned() };
        let (item, seq, rest) = cursor_parts(text)?;
        let (token, writer) = rest.split_once(':').ok_or_else(invalid)?;
        let token = token.parse().map_err(|_| invalid())?;
        Ok(Self { item, token, writer: writer.to_owned(), seq })
    }
}

/// One page of the selected lines, in the order of items, runs and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputPage {
    /// The lines.
    pub lines: Vec<OutputRecord>,
    /// Cursor of the last line, or of the first one for the last lines of a fire; `None` without
    /// lines. Lines that are written later follow it.
    pub end: Option<OutputCursor>,
    /// True if there are more lines.
    pub has_more: bool,
}

/// Conditions for audited changes. A change must meet all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    pub(crate) job: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) from: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl AuditQuery {
    /// Selects changes of this job.
    #[must_use]
    pub fn job(mut self, name: impl Into<String>) -> Self {
        self.job = Some(name.into());
        self
    }

    /// Selects changes of this group of jobs.
    #[must_use]
    pub fn group(mut self, name: impl Into<String>) -> Self {
        self.group = Some(name.into());
        self
    }

    /// Selects changes of this time or later.
    #[must_use]
    pub fn from(mut self, time: Timestamp) -> Self {
        self.from = Some(time);
        self
    }

    /// Selects changes before this time.
    #[must_use]
    pub fn until(mut self, time: Timestamp) -> Self {
        self.until = Some(time);
        self
    }
}

/// Prefix of the name of a group in the column `job`. No name of a job has a slash.
const GROUP: &str = "group/";

/// Returns the value of the column `job` for the subject of a change.
pub(crate) fn stored_subject(subject: &AuditSubject) -> String {
    match subject {
        AuditSubject::Job(name) => name.to_string(),
        AuditSubject::Group(name) => stored_group(name.as_str()),
    }
}

/// Returns the value of the column `job` for a group.
pub(crate) fn stored_group(name: &str) -> String {
    format!("{GROUP}{name}")
}

/// Parses a value of the column `job`.
pub(crate) fn subject_of_stored(text: &str) -> Option<AuditSubject> {
    match text.strip_prefix(GROUP) {
        Some(name) => GroupName::new(name).ok().map(AuditSubject::Group),
        None => JobName::new(text).ok().map(AuditSubject::Job),
    }
}

/// An audited change of a job or a group of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredAudit {
    /// The job or the group.
    pub subject: AuditSubject,
    /// The change.
    pub record: AuditRecord,
}

/// Returns the audited changes of a registry, and then those of a history that the registry no
/// longer has. A change has the same subject and the same id in both.
pub fn all_changes<'a>(
    registered: impl Iterator<Item = (AuditSubject, &'a AuditRecord)>,
    stored: &'a [StoredAudit],
) -> impl Iterator<Item = (AuditSubject, &'a AuditRecord)> {
    let mut seen = BTreeSet::new();
    let stored = stored.iter().map(|found| (found.subject.clone(), &found.record));
    registered
        .chain(stored)
        .filter(move |(subject, record)| seen.insert((subject.clone(), record.id.as_str())))
}

/// End of a page of audited changes. Its text can be parsed again, such as for an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCursor {
    pub(crate) at_ms: i64,
    /// The value of the column `job`.
    pub(crate) subject: String,
    pub(crate) id: String,
}

impl fmt::Display for AuditCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}{}", self.at_ms, self.subject.len(), self.subject, self.id)
    }
}

impl FromStr for AuditCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (at_ms, length, rest) = cursor_parts(text)?;
        let split = usize::try_from(length).ok().and_then(|at| rest.split_at_checked(at));
        let (subject, id) = split.ok_or_else(|| InvalidCursor { text: text.to_owned() })?;
        Ok(Self { at_ms, subject: subject.to_owned(), id: id.to_owned() })
    }
}

/// One page of the selected changes, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditPage {
    /// The changes.
    pub records: Vec<StoredAudit>,
    /// Cursor for the next page; `None` if this is the last one.
    pub next: Option<AuditCursor>,
}

/// Records that a process dropped because its queue was full.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DropRecord {
    /// Random name of the history that dropped them. Each opened history gets a new one.
    pub writer: String,
    /// Time of the first dropped record.
    pub first: Timestamp,
    /// Time of the last dropped record.
    pub last: Timestamp,
    /// Number of dropped records.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_parsed_from_its_own_text_only() {
        let fire = FireCursor { fire_ms: -1, job: "a:b".to_owned(), item: 7 };
        assert_eq!(fire.to_string().parse(), Ok(fire));
        let event = EventCursor { at_ms: 5, writer: "w".to_owned(), seq: 2 };
        assert_eq!(event.to_string().parse(), Ok(event));
        let output = OutputCursor { item: 3, token: 7, writer: "w".to_owned(), seq: 2 };
        assert_eq!(output.to_string().parse(), Ok(output));
        let audit = AuditCursor { at_ms: 3, subject: "a:b".to_owned(), id: "每:x".to_owned() };
        assert_eq!(audit.to_string().parse(), Ok(audit));
        for text in ["", "1:2", "a:1:job", "1:b:job"] {
            let error = text.parse::<FireCursor>().unwrap_err().to_string();
            let expected = format!("cursor is {text:?}; valid is the cursor of an earlier page");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn group_is_stored_apart_from_each_job() {
        let (job, group) = (JobName::new("group db").unwrap(), GroupName::new("db").unwrap());
        let subjects = [AuditSubject::from(&job), AuditSubject::from(&group)];
        for (subject, stored) in subjects.into_iter().zip(["group db", "group/db"]) {
            assert_eq!(stored_subject(&subject), stored);
            assert_eq!(subject_of_stored(stored), Some(subject));
        }
        assert_eq!(subject_of_stored("a/b"), None);
    }
}
