//! What can go wrong between an operator and a namespace. In one line each: what, and what to do.

use std::time::Duration;

use coordination::{InvalidConfig, InvalidName, JobName};
use reg_center::Revision;

/// Why an operation has no regular answer. Unless [`is_unknown`](Self::is_unknown), or the job is removed already
/// ([`Remains`](Self::Remains)), nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The registry did not answer, or refused.
    #[error("{act}: {source}")]
    Registry {
        /// What was attempted.
        act: String,
        /// What the registry said.
        source: reg_center::Error,
    },
    /// It took too long.
    #[error("waited {waited:?} for {what}, in vain")]
    Deadline {
        /// What was waited for.
        what: String,
        /// How long.
        waited: Duration,
    },
    /// There is more than shall be read.
    #[error("{what} has more than {max}; raise the bound of the reader if that is meant")]
    TooMuch {
        /// What was read.
        what: String,
        /// How much is read at most, with its unit.
        max: String,
    },
    /// The registry has no such job.
    #[error("the registry has no job {job}")]
    NoSuchJob {
        /// Which.
        job: JobName,
    },
    /// The registry has a job of this name, or something is left of one.
    #[error("the registry has job {job} already: {found}; remove it, or take another name")]
    JobExists {
        /// Which.
        job: JobName,
        /// What there is.
        found: String,
    },
    /// The job has no such server, instance or item.
    #[error("job {job} has no {what} {name}; it has {known}")]
    NoSuch {
        /// Which job.
        job: JobName,
        /// `server`, `instance` or `item`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A name cannot be used.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// Neither a job nor a server was named.
    #[error("neither a job nor a server is named; valid is a job, the ip of a server, or both")]
    NothingNamed,
    /// Who makes a change, or why, is missing or too long.
    #[error("{field} is {found}; valid is a text of 1 to {max} bytes without control characters")]
    Unsaid {
        /// `who` or `why`.
        field: &'static str,
        /// What was given.
        found: String,
        /// The longest that it may be.
        max: usize,
    },
    /// A configuration is not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidConfig),
    /// The stored configuration cannot be read.
    #[error("the configuration of job {job} cannot be used: {reason}")]
    Unreadable {
        /// Which job.
        job: JobName,
        /// What is wrong with it.
        reason: String,
    },
    /// There is a configuration where one was to be stored.
    #[error("job {job} has a configuration already")]
    AlreadyThere {
        /// Which job.
        job: JobName,
    },
    /// Somebody else has changed the configuration meanwhile.
    #[error(
        "the configuration of job {job} is of revision {found}, not {expected}; read it again and repeat the change"
    )]
    StaleConfig {
        /// Which job.
        job: JobName,
        /// The revision that the change was made for.
        expected: Revision,
        /// The revision that is stored.
        found: Revision,
    },
    /// A removal was not confirmed.
    #[error("removing job {job} is confirmed by {valid:?} or its name, not by {given:?}")]
    NotConfirmed {
        /// Which job.
        job: JobName,
        /// What was given.
        given: String,
        /// What its preview returns now.
        valid: String,
    },
    /// Instances of the job live.
    #[error(
        "instances of job {job} live: {}; shut them down first, or force the removal",
        .instances.join(", ")
    )]
    StillLives {
        /// Which job.
        job: JobName,
        /// Who.
        instances: Vec<String>,
    },
    /// The job changes faster than the change could be made.
    #[error("job {job} has changed in each of {attempts} attempts; nothing was done")]
    Contended {
        /// Which job.
        job: JobName,
        /// How often it was tried.
        attempts: usize,
    },
    /// The change may have happened; look before you repeat it.
    #[error(
        "nobody can tell whether {act} of job {job} has happened ({cause}); look before it is repeated"
    )]
    Unknown {
        /// What was attempted.
        act: &'static str,
        /// Which job.
        job: JobName,
        /// What the registry said.
        cause: String,
    },
    /// The job is removed, and is no job any more; some of its nodes are still there.
    #[error("job {job} is removed, but nodes are left of it ({cause}); repeat the removal")]
    Remains {
        /// Which job.
        job: JobName,
        /// Why they are left.
        cause: String,
    },
    /// What the runs of a request are to be told is too much for one request.
    #[error(
        "parameter is a text of {bytes} bytes for {items} items of job {job}; valid are {max} bytes for all items together: a shorter text, or fewer items at a time"
    )]
    TooMuchToTell {
        /// Which job.
        job: JobName,
        /// How many bytes each run is to be told.
        bytes: usize,
        /// How many items were asked for.
        items: usize,
        /// How many bytes all of them may be told together.
        max: usize,
    },
    /// The wire formats have no place for it.
    #[error("{what} is not possible for job {job}: {why}")]
    NotSupported {
        /// What was asked for.
        what: &'static str,
        /// Which job.
        job: JobName,
        /// What it would take.
        why: String,
    },
}

impl Error {
    pub(crate) fn registry(act: impl Into<String>) -> impl FnOnce(reg_center::Error) -> Self {
        let act = act.into();
        move |source| Self::Registry { act, source }
    }

    /// Returns true if the change may have happened.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }

    /// Returns true if the registry has not answered, so that whoever asks it for something else waits in vain, too.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        if let Self::Registry { source, .. } = self {
            let is_over = source.is_session_lost() || *source == reg_center::Error::Closed;
            return source.is_retryable() || is_over;
        }
        matches!(self, Self::Deadline { .. } | Self::Unknown { .. })
    }

    /// After a change was sent and not answered, what goes wrong at the next look leaves open whether it has happened.
    pub(crate) fn or_unknown(self, is_in_doubt: bool, act: &'static str, job: &JobName) -> Self {
        match is_in_doubt {
            true => Self::Unknown { act, job: job.clone(), cause: self.to_string() },
            false => self,
        }
    }
}

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;
