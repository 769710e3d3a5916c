//! The built-in error handlers: log, ignore, stop.

use async_trait::async_trait;
use coordination::Outcome;

use super::{ErrorHandler, FailedIn, Reaction, RunFailure};
use crate::JobError;

/// Logs failures at the level *error*, in the span of the run. Its type is `LOG`, the default of
/// all jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogErrors;

/// Ignores failures: they are only in the job's event records, and in the log at the level *debug*.
/// Its type is `IGNORE`.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreErrors;

/// Logs a failure and stops the job on this server until an operator resumes it. Its type is
/// `THROW`.
///
/// 1. At once this process starts no more items of the job. Runs in progress go on. Fires are
///    recorded as missed, with the reason *paused*.
/// 2. [`JobEvent::Stopped`](crate::JobEvent::Stopped) gives the reason, and
///    [`JobStatus::stopped`](crate::JobStatus::stopped) shows it.
/// 3. The registry shows the server as paused for the job, as after an operator's pause. The
///    audited change names the instance, the handler, the item and the fire, but not the text of
///    the error.
///
/// The items of the instance stay assigned to it. If the instance left the job instead, the failing
/// item would move to the next instance and stop one after the other. Other servers go on with
/// their items. A restart of the process does not resume the job: an operator resumes the server
/// for it, even if this process has not seen the pause. Other instances of the job with the same
/// address are paused too. While the pause cannot be written, the write is retried each second, and
/// a shutdown waits for it up to its deadline.
///
/// The handler of this name in ElasticJob throws an exception in a pool thread, where no code
/// catches it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopOnErrors;

impl RunFailure {
    /// Logs the failure as an error.
    pub(crate) fn log(&self) {
        let (attempt, error) = (self.attempts, self.error());
        if let FailedIn::After { listener, outcome, .. } = &self.failed_in {
            tracing::error!(attempt, listener, %outcome, error, "listener failed after the run");
            return;
        }
        match self.outcome() {
            Outcome::TimedOut => tracing::error!(attempt, error, "item timed out"),
            Outcome::Panicked => tracing::error!(attempt, panic = error, "item panicked"),
            Outcome::Failed
            | Outcome::Succeeded
            | Outcome::Interrupted
            | Outcome::Cancelled
            | Outcome::Disabled => {
                tracing::error!(attempt, error, "item failed");
            }
        }
    }
}

#[async_trait]
impl ErrorHandler for LogErrors {
    fn name(&self) -> &str {
        "LOG"
    }

    fn handle_now(&self, failure: &RunFailure) -> Option<Reaction> {
        failure.log();
        Some(Reaction::GoOn)
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        failure.log();
        Ok(Reaction::GoOn)
    }
}

#[async_trait]
impl ErrorHandler for IgnoreErrors {
    fn name(&self) -> &str {
        "IGNORE"
    }

    fn handle_now(&self, _: &RunFailure) -> Option<Reaction> {
        Some(Reaction::GoOn)
    }

    async fn handle(&self, _: &RunFailure) -> Result<Reaction, JobError> {
        Ok(Reaction::GoOn)
    }
}

#[async_trait]
impl ErrorHandler for StopOnErrors {
    fn name(&self) -> &str {
        "THROW"
    }

    fn handle_now(&self, failure: &RunFailure) -> Option<Reaction> {
        failure.log();
        Some(Reaction::StopJob)
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        failure.log();
        Ok(Reaction::StopJob)
    }
}
