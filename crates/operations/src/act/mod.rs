//! Operator actions, one module each.
//!
//! Each is a pure function from a snapshot to the wanted steps, and the call that writes them.

mod backfill;
mod cancel;
mod config;
mod creation;
mod drain;
mod instances;
mod items;
mod job_action;
mod preview;
mod removal;
mod servers;
mod trigger;

use coordination::{JobName, ServerIp};

use crate::{Error, Result, ServerPattern};

pub use backfill::{
    BackfillPreview, BackfillProgress, BackfillRequest, BackfillState, RequestedBackfill,
};
pub use cancel::RunsToCancel;
pub(crate) use config::readable_by_peers;
pub use config::{FieldChange, StoredConfig, Updated, differences};
pub(crate) use creation::named;
pub use drain::{DrainMode, Drained, DrainedJob, DrainedServer};
pub use job_action::JobAction;
pub use preview::{Change, preview};
pub(crate) use removal::REMOVE_JOB;
pub use removal::{Removal, RemovalPreview, removal_preview};
pub use trigger::{ItemRun, RequestedRun, Triggered};

/// Jobs and servers that a change applies to.
///
/// Either one job with all its servers, or one server or the servers that match a pattern, in all
/// jobs that know them or in one job.
///
/// # Examples
/// ```
/// use coordination::{JobName, ServerIp};
/// use operations::Scope;
///
/// let (job, server) = (JobName::new("report")?, ServerIp::new("10.0.0.7")?);
/// assert!(Scope::new(Some(job.clone()), None).is_ok());
/// assert!(Scope::new(Some(job), Some(server)).is_ok());
/// let error = Scope::new(None, None).unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "neither a job nor a server is named; valid is a job, the ip of a server, or both"
/// );
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    job: Option<JobName>,
    server: Option<ServerIp>,
    pattern: Option<ServerPattern>,
}

impl Scope {
    /// Names a job, a server, or both.
    ///
    /// # Errors
    /// [`Error::NothingNamed`] if neither is named.
    pub fn new(job: Option<JobName>, server: Option<ServerIp>) -> Result<Self> {
        match (&job, &server) {
            (None, None) => Err(Error::NothingNamed),
            (Some(_), _) | (_, Some(_)) => Ok(Self { job, server, pattern: None }),
        }
    }

    /// Names all servers of a job.
    #[must_use]
    pub fn of_job(job: JobName) -> Self {
        Self { job: Some(job), server: None, pattern: None }
    }

    /// Names a server in all jobs that know it.
    #[must_use]
    pub fn of_server(server: ServerIp) -> Self {
        Self { job: None, server: Some(server), pattern: None }
    }

    /// Names one server of one job.
    #[must_use]
    pub fn of_both(job: JobName, server: ServerIp) -> Self {
        Self { job: Some(job), server: Some(server), pattern: None }
    }

    /// Names the servers that match a pattern, in one job or in all.
    #[must_use]
    pub fn matching(job: Option<JobName>, pattern: ServerPattern) -> Self {
        match pattern.exact() {
            Some(server) => Self { job, server: Some(server), pattern: None },
            None => Self { job, server: None, pattern: Some(pattern) },
        }
    }

    /// Returns the job, or `None` if the scope covers all jobs.
    #[must_use]
    pub fn job(&self) -> Option<&JobName> {
        self.job.as_ref()
    }

    /// Returns the server, or `None` if the scope covers all servers.
    #[must_use]
    pub fn server(&self) -> Option<&ServerIp> {
        self.server.as_ref()
    }

    /// Returns true if the scope covers this server.
    pub(crate) fn has(&self, ip: &ServerIp) -> bool {
        self.server.as_ref().is_none_or(|server| server == ip)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(ip))
    }

    /// Returns true if the scope names one server of one job, so that a missing server is reported.
    pub(crate) fn is_single(&self) -> bool {
        self.job.is_some() && self.server.is_some()
    }
}

/// Returns names for a sentence: the first eight, and the number of further ones.
pub(crate) fn listed(names: impl IntoIterator<Item = impl ToString>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > 8 => format!("{} and {} more", names[..8].join(", "), n - 8),
        _ => names.join(", "),
    }
}
