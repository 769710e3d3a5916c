//! Errors of operator actions. Each text is one line: the failure, and what to do.

use std::time::Duration;

use coordination::{GroupName, InvalidConfig, InvalidName, JobName, NodeKind, RecordError};
use reg_center::Revision;

/// Error of an operator action. Unless [`is_unknown`](Self::is_unknown), or the job is already
/// removed ([`Remains`](Self::Remains)), nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry did not answer, or rejected the request.
    #[error("{act}: {source}")]
    Registry {
        /// The attempted action.
        act: String,
        /// Error of the registry.
        source: reg_center::Error,
    },
    /// A deadline has passed.
    #[error("{what} did not finish within {waited:?}")]
    Deadline {
        /// The action that did not finish.
        what: String,
        /// Time limit.
        waited: Duration,
    },
    /// A job or namespace exceeds a limit of the reader.
    #[error("{what} has more than {max}; raise the limit of the reader if this size is expected")]
    TooMuch {
        /// The job or namespace that was read.
        what: String,
        /// The limit, with its unit.
        max: String,
    },
    /// The registry has no such job.
    #[error("the registry has no job {job}")]
    NoSuchJob {
        /// Job name.
        job: JobName,
    },
    /// The registry has a job of this name, or nodes of a removed one.
    #[error("the registry already has job {job}: {found}; remove it, or choose another name")]
    JobExists {
        /// Job name.
        job: JobName,
        /// Description of the nodes that exist.
        found: String,
    },
    /// The job has no such server, instance or item.
    #[error("job {job} has no {what} {name}; it has {known}")]
    NoSuch {
        /// Job name.
        job: JobName,
        /// `server`, `instance` or `item`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The limits of a group of jobs could not be changed.
    #[error("group {group}: {reason}")]
    Group {
        /// The group.
        group: GroupName,
        /// The reason.
        reason: String,
    },
    /// A name is not valid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// Neither a job nor a server was named.
    #[error("neither a job nor a server is named; valid is a job, the ip of a server, or both")]
    NothingNamed,
    /// The author or the reason of a change is blank or not valid.
    #[error("{field} is {found}; valid is a text of 1 to {max} bytes without control characters")]
    InvalidAuthorOrReason {
        /// `who` or `why`.
        field: &'static str,
        /// The given text, or its fault.
        found: String,
        /// Maximum length, in bytes.
        max: usize,
    },
    /// A configuration is not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidConfig),
    /// The stored configuration cannot be read.
    #[error("the configuration of job {job} cannot be used: {reason}")]
    Unreadable {
        /// Job name.
        job: JobName,
        /// Why it cannot be read.
        reason: String,
    },
    /// A later version of this project wrote a record that this one needs to read or to change.
    #[error("{node} of job {job} cannot be used: {reason}")]
    NewerRecord {
        /// Job name.
        job: JobName,
        /// Node of the record.
        node: String,
        /// Format version of the record, and what to do.
        reason: String,
    },
    /// A configuration exists where a new one was to be stored.
    #[error("job {job} already has a configuration")]
    AlreadyThere {
        /// Job name.
        job: JobName,
    },
    /// Another client has changed the configuration since it was read.
    #[error(
        "the configuration of job {job} has revision {found}, not {expected}; read it again and repeat the change"
    )]
    StaleConfig {
        /// Job name.
        job: JobName,
        /// The revision that the change is based on.
        expected: Revision,
        /// The revision that is stored.
        found: Revision,
    },
    /// A removal was not confirmed.
    #[error("removing job {job} is confirmed by {valid:?} or its name, not by {given:?}")]
    NotConfirmed {
        /// Job name.
        job: JobName,
        /// The given confirmation.
        given: String,
        /// The confirmation of its present preview.
        valid: String,
    },
    /// Instances of the job are alive.
    #[error(
        "instances of job {job} are alive: {}; shut them down first, or force the removal",
        .instances.join(", ")
    )]
    InstancesAlive {
        /// Job name.
        job: JobName,
        /// The live instances.
        instances: Vec<String>,
    },
    /// The job changed during each attempt.
    #[error("job {job} changed during each of {attempts} attempts; nothing was done")]
    Contended {
        /// Job name.
        job: JobName,
        /// Number of attempts.
        attempts: usize,
    },
    /// The outcome of the change is unknown; read the job before the change is repeated.
    #[error(
        "the outcome of {act} of job {job} is unknown ({cause}); check the job before you repeat it"
    )]
    Unknown {
        /// The attempted action.
        act: &'static str,
        /// Job name.
        job: JobName,
        /// Error of the registry.
        cause: String,
    },
    /// The job is removed, but some of its nodes are left.
    #[error("job {job} is removed, but some of its nodes are left ({cause}); repeat the removal")]
    Remains {
        /// Job name.
        job: JobName,
        /// Why nodes are left.
        cause: String,
    },
    /// The parameter of a request is too long for its number of items.
    #[error(
        "parameter is a text of {bytes} bytes for {items} items of job {job}; valid are up to {max} bytes for all items together: use a shorter text, or fewer items at a time"
    )]
    ParameterTooLarge {
        /// Job name.
        job: JobName,
        /// Length of the parameter, in bytes.
        bytes: usize,
        /// Number of requested items.
        items: usize,
        /// Limit for all items together, in bytes.
        max: usize,
    },
    /// A value of a request for a backfill is not valid.
    #[error("{field} is {found}; valid is {valid}")]
    InvalidBackfill {
        /// `from`, `to` or `concurrency`.
        field: &'static str,
        /// The given value.
        found: String,
        /// The valid values.
        valid: String,
    },
    /// A backfill of the job has not ended.
    #[error(
        "backfill {id} of job {job} is in progress ({done} of {total} fires); wait until it ends, or cancel it"
    )]
    BackfillInProgress {
        /// Job name.
        job: JobName,
        /// Id of the backfill.
        id: String,
        /// Number of fires that all items have ended.
        done: usize,
        /// Number of fires.
        total: usize,
    },
    /// The wire formats cannot express the request.
    #[error("{what} is not possible for job {job}: {why}")]
    NotSupported {
        /// The request.
        what: &'static str,
        /// Job name.
        job: JobName,
        /// Why the job cannot support it.
        why: String,
    },
}

impl Error {
    pub(crate) fn registry(act: impl Into<String>) -> impl FnOnce(reg_center::Error) -> Self {
        let act = act.into();
        move |source| Self::Registry { act, source }
    }

    pub(crate) fn newer_record(job: &JobName, kind: &NodeKind, error: &RecordError) -> Self {
        let (node, reason) = (kind.to_string(), error.to_string());
        Self::NewerRecord { job: job.clone(), node, reason }
    }

    /// Returns true if the change may have happened.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    /// Returns true if the registry has not answered, so that further requests would fail as well.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        if let Self::Registry { source, .. } = self {
            let is_over = source.is_session_lost() || *source == reg_center::Error::Closed;
            return source.is_retryable() || is_over;
        }
        matches!(self, Self::Deadline { .. } | Self::Unknown { .. })
    }

    /// Turns an error after an unanswered commit into [`Error::Unknown`].
    pub(crate) fn or_unknown(self, is_in_doubt: bool, act: &'static str, job: &JobName) -> Self {
        if is_in_doubt {
            Self::Unknown { act, job: job.clone(), cause: self.to_string() }
        } else {
            self
        }
    }
}

/// Result of an operator action.
pub type Result<T, E = Error> = std::result::Result<T, E>;
