//! Errors between an application and its scheduler.

use std::net::SocketAddr;
use std::time::Duration;

use coordination::{Dialect, GroupName, InvalidConfig, InvalidName, JobName, TemplateName};

/// Error of setting up or using a scheduler or a job.
///
/// Nothing was written if it is [`Config`](Self::Config), [`Name`](Self::Name),
/// [`AlreadyScheduled`](Self::AlreadyScheduled), [`RuntimeJob`](Self::RuntimeJob),
/// [`NoSuchJob`](Self::NoSuchJob), [`AlreadyOffered`](Self::AlreadyOffered),
/// [`Dialect`](Self::Dialect), [`Listen`](Self::Listen), [`Stopped`](Self::Stopped) or
/// [`ShutDown`](Self::ShutDown). After [`Deadline`](Self::Deadline), [`Registry`](Self::Registry)
/// and [`Group`](Self::Group) the configuration may have been written, and a retry is safe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of the configuration cannot be used.
    #[error("invalid configuration: {0}")]
    Config(InvalidConfig),
    /// The address of the server or the chosen name in the instance id is not valid.
    #[error("invalid identity: {0}")]
    Name(InvalidName),
    /// The scheduler has a job of this name that has not ended.
    #[error("job {job} is already scheduled in this process")]
    AlreadyScheduled {
        /// The job.
        job: JobName,
    },
    /// The job was created at run time from a template, which is the only source of its code.
    #[error(
        "job {job} was made at run time from the template {template}; offer that template, remove the job, or take another name"
    )]
    RuntimeJob {
        /// The job.
        job: JobName,
        /// The name of the template, or the error in it.
        template: String,
    },
    /// A runtime job no longer exists in the registry.
    #[error("the registry has no job {job} any more")]
    NoSuchJob {
        /// The job.
        job: JobName,
    },
    /// The scheduler already offers a template of this name.
    #[error("this process already offers the template {template}")]
    AlreadyOffered {
        /// The template.
        template: TemplateName,
    },
    /// The stored nodes of the job have another dialect than the requested one. Neither dialect's
    /// instances read the nodes of the other.
    #[error("job {job}: {shown_by} is of ElasticJob {stored}, and {wanted} was asked for")]
    Dialect {
        /// The job.
        job: JobName,
        /// Node that shows the stored dialect: `its stored configuration`, or `its node` and a path
        /// if no configuration can be read.
        shown_by: String,
        /// The stored dialect.
        stored: Dialect,
        /// The dialect that the scheduler requires, or that the given Java settings belong to.
        wanted: Dialect,
    },
    /// The registry did not answer, or the job did not join, before the deadline.
    #[error("job {job}: timed out after {waited:?}, waiting for {what}")]
    Deadline {
        /// The job.
        job: JobName,
        /// Time that has passed.
        waited: Duration,
        /// Event that was waited for.
        what: String,
    },
    /// Runs of the job cannot be cancelled. Nothing was written for the item that the reason names.
    #[error("runs of job {job} cannot be cancelled: {reason}")]
    CannotCancel {
        /// The job.
        job: JobName,
        /// Fault, and what would be valid.
        reason: String,
    },
    /// The registry rejected a request, and would reject it again.
    #[error("job {job}: {act} failed")]
    Registry {
        /// The job.
        job: JobName,
        /// Action that failed.
        act: String,
        /// The error of the registry.
        #[source]
        source: reg_center::Error,
    },
    /// The limits of a group of jobs cannot be stored or read.
    #[error("group {group}: {reason}")]
    Group {
        /// The group.
        group: GroupName,
        /// The fault.
        reason: String,
    },
    /// The dump port cannot be opened.
    #[error("cannot listen for dumps at {address}")]
    Listen {
        /// Requested address.
        address: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The scheduler was shut down and accepts no more jobs.
    #[error("the scheduler was shut down")]
    ShutDown,
    /// The job has ended and accepts no more requests.
    #[error("job {job} has ended")]
    Stopped {
        /// The job.
        job: JobName,
    },
}

impl From<InvalidConfig> for Error {
    fn from(error: InvalidConfig) -> Self {
        Self::Config(error)
    }
}

impl From<InvalidName> for Error {
    fn from(error: InvalidName) -> Self {
        Self::Name(error)
    }
}

impl Error {
    /// Returns the invalid configuration value, if the error is about one.
    #[must_use]
    pub fn as_invalid_config(&self) -> Option<&InvalidConfig> {
        match self {
            Self::Config(error) => Some(error),
            Self::Name(_)
            | Self::AlreadyScheduled { .. }
            | Self::RuntimeJob { .. }
            | Self::NoSuchJob { .. }
            | Self::AlreadyOffered { .. }
            | Self::ShutDown
            | Self::Dialect { .. }
            | Self::Deadline { .. }
            | Self::CannotCancel { .. }
            | Self::Registry { .. }
            | Self::Group { .. }
            | Self::Listen { .. }
            | Self::Stopped { .. } => None,
        }
    }

    /// Returns true if the same call can succeed later without a change in this program.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Deadline { .. })
    }
}

/// Result of setting up or using a scheduler or a job.
pub type Result<T, E = Error> = std::result::Result<T, E>;
