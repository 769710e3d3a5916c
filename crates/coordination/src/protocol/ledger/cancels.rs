//! Requests to cancel a run, and what they forbid.

use std::sync::Arc;

use super::{Ledger, Outcome};
use crate::CancelRequest;

impl Ledger {
    /// Returns the request to cancel the run, or the one that the last run ended by.
    ///
    /// A request for another token is void. Instances of earlier versions keep the field when they
    /// write a later run.
    #[must_use]
    pub fn cancel_request(&self) -> Option<&CancelRequest> {
        self.cancel.as_deref().filter(|request| request.token() == self.token)
    }

    /// Returns the request to cancel the run in progress, or the orphaned one.
    #[must_use]
    pub fn cancels(&self) -> Option<&CancelRequest> {
        self.run().and(self.cancel_request())
    }

    /// Running or orphan → the same, with a request to cancel the run. `None` if the request is for
    /// another run, or if the run has one already.
    #[must_use]
    pub fn with_cancel_request(&self, request: CancelRequest) -> Option<Self> {
        let is_this_run = self.is_busy() && request.token() == self.token;
        let takes = is_this_run && self.cancel_request().is_none();
        takes.then(|| Self { cancel: Some(Arc::new(request)), ..self.clone() })
    }

    /// Returns true if another instance may continue the unfinished run: its cancellation is not
    /// requested.
    pub(crate) fn may_continue(&self) -> bool {
        self.is_busy() && self.cancel_request().is_none()
    }

    /// Returns the outcome to record for a run that ended so. The record alone decides if a run
    /// that was cut short was cancelled. Which instance writes the end does not matter.
    pub(super) fn outcome_of_end(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Interrupted | Outcome::Cancelled if self.cancel_request().is_some() => {
                Outcome::Cancelled
            }
            Outcome::Cancelled => Outcome::Interrupted,
            outcome => outcome,
        }
    }

    /// Returns the record without the request, before another run begins or the token changes.
    ///
    /// The outcome `cancelled` goes with it, because a record has the author and the reason of such
    /// an end, or does not have the end.
    pub(super) fn without_cancel_request(self) -> Self {
        let outcome = self.outcome.filter(|outcome| *outcome != Outcome::Cancelled);
        Self { cancel: None, outcome, ..self }
    }
}
