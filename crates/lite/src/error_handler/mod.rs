//! Error handlers: who is told of runs that have failed, and what becomes of the job then.

mod built_in;
mod choice;
mod clerk;
mod desk;
mod stop;
mod types;

use std::fmt;

use async_trait::async_trait;
use coordination::Outcome;

use crate::context::timestamp;
use crate::{JobError, RunReport};

pub use built_in::{IgnoreErrors, LogErrors, StopOnErrors};
pub(crate) use choice::Selection;
pub(crate) use desk::{ErrorDesk, Rules};
pub(crate) use stop::Stop;
pub use types::{ErrorHandlerType, ErrorHandlers, HandlerSettings};

/// Is told of runs of a job that have failed in this process.
///
/// | is told of | is not told of |
/// |---|---|
/// | runs that end as *failed*, *timed out* or *panicked*, after their last attempt | runs that succeed |
/// | listeners that fail before or after a run | runs that are *interrupted*: they are nobody's fault |
///
/// Give a job its handlers with [`Registration::error_handler`](crate::Registration::error_handler), or let its stored configuration
/// choose one by its [type](ErrorHandlers). Nothing waits for a handler: the end of a run is recorded meanwhile, and the next
/// fire comes. Failures are handed on one after the other, in the order in which they happened; each call has
/// [`Registration::error_handler_timeout`](crate::Registration::error_handler_timeout), 30 s by default, and its future is dropped
/// then. If the handler fails, panics or is late, if 1024 failures of the job wait for it, or if the job has ended before, the failure
/// is logged in its stead.
///
/// # Examples
/// ```
/// use async_trait::async_trait;
/// use lite::{ErrorHandler, JobError, Reaction, RunFailure};
///
/// struct Pager;
///
/// #[async_trait]
/// impl ErrorHandler for Pager {
///     async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
///         println!("wake somebody: {failure}");
///         Ok(Reaction::GoOn)
///     }
/// }
/// ```
#[async_trait]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error handler",
    note = "implement `lite::ErrorHandler` for a type, with `#[lite::async_trait]` above the `impl`"
)]
pub trait ErrorHandler: Send + Sync + 'static {
    /// Returns the name of the handler in logs and records. The name of its type, unless it is implemented.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Deals with a failure at once, in the task that makes the decisions: it must be quick and not block. `None`, unless it is
    /// implemented, leaves the failure to [`handle`](Self::handle).
    fn handle_now(&self, failure: &RunFailure) -> Option<Reaction> {
        let _ = failure;
        None
    }

    /// Deals with a failure.
    ///
    /// # Errors
    /// Any error is logged, and so is the failure. It must not hold secrets.
    ///
    /// # Cancel safety
    /// The future is dropped when its time is over.
    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError>;

    /// Is called when no more failures will come: the job has ended here, or another handler was chosen. Does nothing unless it
    /// is implemented. It has as long as a call of [`handle`](Self::handle); a shutdown waits for it within its deadline.
    async fn close(&self) {}
}

/// What becomes of a job after a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaction {
    /// It goes on.
    #[default]
    GoOn,
    /// It stops here: see [`StopOnErrors`].
    StopJob,
}

/// A run that has failed, or a listener after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFailure {
    /// The run: its job, item, fire, token, times, outcome and error. If only a listener has failed after it, the outcome and
    /// the error are those of the run nevertheless.
    pub run: RunReport,
    /// How often the job's code was called: 0 if a listener has failed before.
    pub attempts: u32,
    /// What has failed.
    pub failed_in: FailedIn,
}

/// What has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailedIn {
    /// The job's code.
    #[default]
    Code,
    /// A listener, before the job's code was called.
    Before {
        /// Which one.
        listener: String,
    },
    /// A listener, when the run had ended.
    After {
        /// Which one.
        listener: String,
        /// Whether it failed, panicked or timed out.
        outcome: Outcome,
        /// What it said.
        error: String,
    },
}

impl RunFailure {
    /// Returns what the error or panic said, with its causes. It is as long as the job's code has made it.
    #[must_use]
    pub fn error(&self) -> &str {
        match &self.failed_in {
            FailedIn::Code | FailedIn::Before { .. } => {
                self.run.cause.as_deref().unwrap_or("no more is known")
            }
            FailedIn::After { error, .. } => error,
        }
    }

    /// Returns how what has failed has ended.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match &self.failed_in {
            FailedIn::Code | FailedIn::Before { .. } => self.run.outcome,
            FailedIn::After { outcome, .. } => *outcome,
        }
    }

    /// Returns what has happened in a few words, without the error: `item 3 failed for the fire of 2024-02-29T12:00:00Z`.
    #[must_use]
    pub fn summary(&self) -> String {
        let (item, fire, outcome) = (self.run.item, timestamp(self.run.fire), self.outcome());
        match &self.failed_in {
            FailedIn::Code | FailedIn::Before { .. } => {
                format!("item {item} {outcome} for the fire of {fire}")
            }
            FailedIn::After { listener, .. } => {
                format!("listener {listener} {outcome} after item {item} for the fire of {fire}")
            }
        }
    }
}

impl fmt::Display for RunFailure {
    /// One line, unless the error has several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, attempts, .. } = self;
        let RunReport { job, instance, source, token, .. } = run;
        let (summary, error) = (self.summary(), self.error());
        write!(
            f,
            "job {job}, {summary} on {instance} ({source}, token {token}, attempts {attempts}): {error}"
        )
    }
}
