//! Actions that apply to a whole job, so that one request can apply them to many jobs.

use std::fmt;

use coordination::JobName;

use super::{Change, RunsToCancel, Scope};
use crate::{By, Operations, Report, Result};

/// Action on a whole job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobAction {
    /// Request a run of all items.
    Run,
    /// Request a run of the items whose last run did not succeed.
    RerunFailed,
    /// Cancel all unfinished runs.
    Cancel,
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
    pub const ALL: [Self; 7] = [
        Self::Run,
        Self::RerunFailed,
        Self::Cancel,
        Self::Pause,
        Self::Resume,
        Self::Disable,
        Self::Enable,
    ];

    /// Returns the name, such as `rerun-failed`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::RerunFailed => "rerun-failed",
            Self::Cancel => "cancel",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Disable => "disable",
            Self::Enable => "enable",
        }
    }

    /// Returns the change of a job, for its [`preview`](crate::preview).
    #[must_use]
    pub fn change(self, job: &JobName) -> Change {
        let scope = Scope::of_job(job.clone());
        match self {
            Self::Run => Change::Run(None),
            Self::RerunFailed => Change::RerunFailed,
            Self::Cancel => Change::Cancel(RunsToCancel::All),
            Self::Pause => Change::Pause(scope),
            Self::Resume => Change::Resume(scope),
            Self::Disable => Change::Disable(scope),
            Self::Enable => Change::Enable(scope),
        }
    }
}

impl fmt::Display for JobAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Operations {
    /// Applies an action to a whole job.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger), [`rerun_failed`](Self::rerun_failed),
    /// [`cancel`](Self::cancel) or [`disable`](Self::disable).
    pub async fn act(&self, job: &JobName, action: JobAction, by: &By) -> Result<Report> {
        let scope = Scope::of_job(job.clone());
        match action {
            JobAction::Run => Ok(self.trigger(job, None, by).await?.report),
            JobAction::RerunFailed => Ok(self.rerun_failed(job, by).await?.report),
            JobAction::Cancel => self.cancel(job, &RunsToCancel::All, by).await,
            JobAction::Pause => self.pause(&scope, by).await,
            JobAction::Resume => self.resume(&scope, by).await,
            JobAction::Disable => self.disable(&scope, by).await,
            JobAction::Enable => self.enable(&scope, by).await,
        }
    }
}
