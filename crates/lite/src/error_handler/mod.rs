//! Error handlers: they receive failed runs and decide whether the job goes on.

mod built_in;
mod choice;
mod dispatcher;
mod handler_worker;
mod stop;
mod types;

use std::fmt;

use async_trait::async_trait;
use coordination::Outcome;

use crate::context::timestamp;
use crate::{JobError, RunReport};

pub use built_in::{IgnoreErrors, LogErrors, StopOnErrors};
pub(crate) use choice::Selection;
pub(crate) use dispatcher::{ErrorDispatcher, Rules};
pub(crate) use stop::Stop;
pub use types::{ErrorHandlerType, ErrorHandlers, HandlerSettings};

/// Receives failures of a job's runs in this process.
///
/// | receives | does not receive |
/// |---|---|
/// | runs that fail, time out or panic, after the last attempt | runs that succeed |
/// | listeners that fail before or after a run | runs that end as *interrupted* |
///
/// Add handlers to a job with [`Registration::error_handler`](crate::Registration::error_handler),
/// or let its stored configuration choose one by its [type](ErrorHandlers). The scheduler does not
/// wait for a handler: meanwhile it records the end of the run and starts the next fire. Handlers
/// receive failures one after the other, in the order in which they happened. Each call is limited
/// by [`Registration::error_handler_timeout`](crate::Registration::error_handler_timeout), 30 s by
/// default; then its future is dropped.
///
/// The scheduler logs the failure itself if the handler fails, panics or exceeds the limit. It also
/// does if 1024 failures of the job already wait, or if the job ended before the handler was done.
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
///         println!("call the engineer on duty: {failure}");
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
    /// Returns the name of the handler in logs and records. By default it is the name of the Rust
    /// type.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Handles a failure at once, in the job's event loop: it must be quick and not block. `None`,
    /// the default, leaves the failure to [`handle`](Self::handle).
    fn handle_now(&self, failure: &RunFailure) -> Option<Reaction> {
        let _ = failure;
        None
    }

    /// Handles a failure.
    ///
    /// # Errors
    /// The scheduler logs the error and the failure. The error must not contain secrets.
    ///
    /// # Cancel safety
    /// The future is dropped at the limit of the call.
    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError>;

    /// Closes the handler. It is called when no more failures follow, because the job has ended in
    /// this process or another handler was chosen. By default it does nothing. It has the same
    /// limit as a call of [`handle`](Self::handle), and a shutdown waits for it within its
    /// deadline.
    async fn close(&self) {}
}

/// Decision about a job after a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reaction {
    /// The job goes on.
    #[default]
    GoOn,
    /// The job stops on this server: see [`StopOnErrors`].
    StopJob,
}

/// A failed run, or a failed listener after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunFailure {
    /// The run: its job, item, fire, token, times, outcome and error. If only a listener failed
    /// after it, the outcome and the error are still those of the run.
    pub run: RunReport,
    /// Number of calls of the job's code: 0 if a listener failed before.
    pub attempts: u32,
    /// Code that failed.
    pub failed_in: FailedIn,
}

/// Code that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailedIn {
    /// The job's code.
    #[default]
    Code,
    /// A listener before the run.
    Before {
        /// Name of the listener.
        listener: String,
    },
    /// A listener after the run.
    After {
        /// Name of the listener.
        listener: String,
        /// Outcome of the listener: failed, panicked or timed out.
        outcome: Outcome,
        /// Text of its error.
        error: String,
    },
}

impl RunFailure {
    /// Returns a failure of the job's code in its first attempt. Set the fields that differ, for
    /// example in a test of a handler.
    #[must_use]
    pub const fn new(run: RunReport) -> Self {
        Self { run, attempts: 1, failed_in: FailedIn::Code }
    }

    /// Returns the text of the error or panic, with its causes. Its length is not limited.
    #[must_use]
    pub fn error(&self) -> &str {
        match &self.failed_in {
            FailedIn::Code | FailedIn::Before { .. } => {
                self.run.cause.as_deref().unwrap_or("no error text")
            }
            FailedIn::After { error, .. } => error,
        }
    }

    /// Returns the outcome of the code that failed.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match &self.failed_in {
            FailedIn::Code | FailedIn::Before { .. } => self.run.outcome,
            FailedIn::After { outcome, .. } => *outcome,
        }
    }

    /// Returns a summary without the error: `item 3 failed for the fire of 2024-02-29T12:00:00Z`.
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
    /// Writes one line, or more if the error has more.
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
