//! Actions that apply to a whole job, so that one request can apply them to many jobs.

use std::fmt;

use coordination::JobName;

use super::{Scope, servers, trigger};
use crate::{By, JobSnapshot, Operations, Report, Result};

/// Action on a whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobAction {
    /// Request a run of all items.
    Run,
    /// Request a run of the items whose last run did not succeed.
    RerunFailed,
    /// Pause all servers.
    Pause,
    /// Resume the paused servers.
    Resume,
    /// Disable all servers.
    Disable,
    /// Enable all servers.
    Enable,
}

impl JobAction {
    /// All actions.
    pub const ALL: [Self; 6] =
        [Self::Run, Self::RerunFailed, Self::Pause, Self::Resume, Self::Disable, Self::Enable];

    /// Returns the name, such as `rerun-failed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::RerunFailed => "rerun-failed",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Disable => "disable",
            Self::Enable => "enable",
        }
    }
}

impl fmt::Display for JobAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the report that an action would have now. Nothing is written.
///
/// # Errors
/// As the action itself, without errors of the registry.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{JobAction, JobSnapshot, preview_action};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// let report = preview_action(&nothing, JobAction::Pause)?;
/// assert!(!report.has_changed(), "the job has no server");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn preview_action(job: &JobSnapshot, action: JobAction) -> Result<Report> {
    let scope = Scope::of_job(job.job().clone());
    let planned = match action {
        JobAction::Run => trigger::preview(job, false)?,
        JobAction::RerunFailed => trigger::preview(job, true)?,
        JobAction::Pause => servers::pause(job, &scope),
        JobAction::Resume => servers::resume(job, &scope),
        JobAction::Disable => servers::disable(job, &scope),
        JobAction::Enable => servers::enable(job, &scope),
    };
    Ok(planned.report(job.job(), None))
}

impl Operations {
    /// Applies an action to a whole job.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger), [`rerun_failed`](Self::rerun_failed) or
    /// [`disable`](Self::disable).
    pub async fn act(&self, job: &JobName, action: JobAction, by: &By) -> Result<Report> {
        let scope = Scope::of_job(job.clone());
        match action {
            JobAction::Run => Ok(self.trigger(job, None, by).await?.report),
            JobAction::RerunFailed => Ok(self.rerun_failed(job, by).await?.report),
            JobAction::Pause => self.pause(&scope, by).await,
            JobAction::Resume => self.resume(&scope, by).await,
            JobAction::Disable => self.disable(&scope, by).await,
            JobAction::Enable => self.enable(&scope, by).await,
        }
    }
}
