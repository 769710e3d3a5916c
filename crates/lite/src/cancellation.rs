//! The ways in which a run is cut short, shared by the run and its executor.

use std::sync::Arc;

use coordination::{CancelRequest, Outcome};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

/// Signals to one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancellation {
    /// Asks the job's code to end.
    pub(crate) cancel: CancellationToken,
    /// Drops the job's future at its next await.
    pub(crate) abandon: CancellationToken,
    /// The request from outside, if there is one: the future is dropped after a grace.
    request: Arc<SetOnce<Arc<CancelRequest>>>,
}

impl Cancellation {
    /// Asks the job's code to end, because the run's record has this request.
    pub(crate) fn request(&self, request: Arc<CancelRequest>) {
        // The coordinator passes on one request for each run.
        let _ = self.request.set(request);
        self.cancel.cancel();
    }

    /// Asks the job's code to end, and drops its future at its next await.
    pub(crate) fn abandon(&self) {
        self.cancel.cancel();
        self.abandon.cancel();
    }

    /// Waits for a request from outside.
    pub(crate) async fn requested(&self) {
        self.request.wait().await;
    }

    /// Returns the outcome and the cause of a run that ended so. A run that was cut short after a
    /// request from outside is cancelled, with the author and the reason as its cause.
    pub(crate) fn name(
        &self,
        outcome: Outcome,
        cause: Option<String>,
    ) -> (Outcome, Option<String>) {
        match self.request.get() {
            Some(request) if outcome == Outcome::Interrupted => {
                (Outcome::Cancelled, Some(request.cause(cause.as_deref())))
            }
            Some(_) | None => (outcome, cause),
        }
    }
}
