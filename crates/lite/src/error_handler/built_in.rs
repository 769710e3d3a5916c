//! The handlers that every worker has: log, ignore, stop.

use async_trait::async_trait;
use coordination::Outcome;

use super::{ErrorHandler, FailedIn, Reaction, RunFailure};
use crate::JobError;

/// Logs failures at the level *error*, in the span of the run. The type `LOG`, and what a job has that chooses nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogErrors;

/// Does nothing about failures: they are in the records of the job, and in the log at the level *debug*. The type `IGNORE`.
#[derive(Clone, Copy, Debug, Default)]
pub struct IgnoreErrors;

/// Logs a failure and stops the job here, until somebody has looked at it. The type `THROW`.
///
/// 1. At once, nothing of the job starts in this process any more. What runs goes on. Fires that come are recorded as missed,
///    with the reason *paused*.
/// 2. [`JobEvent::Stopped`](crate::JobEvent::Stopped) says why, and [`JobStatus::stopped`](crate::JobStatus::stopped) shows it.
/// 3. The server is paused for the job in the registry, in the way in which an operator does it, with the name of the instance, that of
///    the handler, the item and the fire, without the text of the error. Whoever asks there why the job does not run finds that.
///
/// Its items stay where they are. If the instance left the job instead, the item that fails would move to the next one, and stop one
/// after the other. Other servers go on with their items, and a restart of the process changes nothing: the job goes on when the
/// server is resumed for it, whatever of the pause this process has seen. Other instances of the job with the same address are paused
/// too. While the pause cannot be written it is tried again each second; a shutdown waits for it as long as it may.
///
/// In ElasticJob the handler of this name throws an exception in a thread of the pool, where nobody catches it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StopOnErrors;

impl RunFailure {
    /// Writes it to the log as an error.
    pub(crate) fn log(&self) {
        let (attempt, error) = (self.attempts, self.error());
        if let FailedIn::After { listener, outcome, .. } = &self.failed_in {
            tracing::error!(attempt, listener, %outcome, error, "listener failed after the run");
            return;
        }
        match self.outcome() {
            Outcome::TimedOut => tracing::error!(attempt, error, "item timed out"),
            Outcome::Panicked => tracing::error!(attempt, panic = error, "item panicked"),
            Outcome::Failed | Outcome::Succeeded | Outcome::Interrupted | Outcome::Disabled => {
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
