//! What can go wrong between an application and its scheduler.

use std::net::SocketAddr;
use std::time::Duration;

use coordination::{Dialect, InvalidConfig, InvalidName, JobName, TemplateName};

/// Why a scheduler or a job could not be set up, or not be asked.
///
/// Nothing was written if it is [`Config`](Self::Config), [`Name`](Self::Name),
/// [`AlreadyScheduled`](Self::AlreadyScheduled), [`RuntimeJob`](Self::RuntimeJob), [`NoSuchJob`](Self::NoSuchJob),
/// [`AlreadyOffered`](Self::AlreadyOffered), [`Dialect`](Self::Dialect), [`Listen`](Self::Listen),
/// [`Stopped`](Self::Stopped) or [`ShutDown`](Self::ShutDown).
/// After [`Deadline`](Self::Deadline) and [`Registry`](Self::Registry) the configuration may have been written, and
/// trying again is harmless.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of the configuration cannot be used.
    #[error("invalid configuration: {0}")]
    Config(InvalidConfig),
    /// The server's address or the name of this life cannot be used.
    #[error("invalid identity: {0}")]
    Name(InvalidName),
    /// The scheduler has a job of this name that has not ended.
    #[error("job {job} is already scheduled here")]
    AlreadyScheduled {
        /// Which job.
        job: JobName,
    },
    /// The job was made at run time from a template: its code comes from there, and from nowhere else.
    #[error(
        "job {job} was made at run time from the template {template}; offer that template, remove the job, or take another name"
    )]
    RuntimeJob {
        /// Which job.
        job: JobName,
        /// The name of the template, or what is wrong with it.
        template: String,
    },
    /// A job that was made at run time is there no more.
    #[error("the registry has no job {job} any more")]
    NoSuchJob {
        /// Which job.
        job: JobName,
    },
    /// The scheduler offers a template of this name already.
    #[error("the template {template} is already offered here")]
    AlreadyOffered {
        /// Which template.
        template: TemplateName,
    },
    /// What is stored of the job is of another ElasticJob than the one that was asked for. Neither reads the other's nodes.
    #[error("job {job}: {shown_by} is of ElasticJob {stored}, and {wanted} was asked for")]
    Dialect {
        /// Which job.
        job: JobName,
        /// What shows it: `its stored configuration`; where there is none that can be read, `its node` and a path.
        shown_by: String,
        /// What is stored.
        stored: Dialect,
        /// What was asked for: by the scheduler, or by settings that only this dialect has.
        wanted: Dialect,
    },
    /// Something did not happen in time.
    #[error("job {job}: waited {waited:?} for {what}, in vain")]
    Deadline {
        /// Which job.
        job: JobName,
        /// How long.
        waited: Duration,
        /// For what.
        what: String,
    },
    /// The registry refused, and will go on refusing.
    #[error("job {job}: {act} failed")]
    Registry {
        /// Which job.
        job: JobName,
        /// What was attempted.
        act: String,
        /// What the registry said.
        #[source]
        source: reg_center::Error,
    },
    /// Nobody can listen at an address.
    #[error("cannot listen for dumps at {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The scheduler was shut down, and takes no more.
    #[error("the scheduler was shut down")]
    ShutDown,
    /// The job has ended and can be asked no more.
    #[error("job {job} has ended")]
    Stopped {
        /// Which job.
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
    /// Returns the configuration value that cannot be used, if that is what is wrong.
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
            | Self::Registry { .. }
            | Self::Listen { .. }
            | Self::Stopped { .. } => None,
        }
    }

    /// Returns true if the same call can succeed later without a change here.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Deadline { .. })
    }
}

/// The result of setting up or asking.
pub type Result<T, E = Error> = std::result::Result<T, E>;
