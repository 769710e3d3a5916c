//! Requests to cancel a run, and what they forbid.

use std::sync::Arc;

use super::{Ledger, Outcome, Run};
use crate::{CancelRequest, FireTime};

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

    /// Busy → busy: the same, with a request to cancel the run for the scheduled fire that met it,
    /// in a job with `overlap = cancel`. A run that does not yield, or that has a request already,
    /// stays as it is.
    #[must_use]
    pub fn yielding_to(self, fire: FireTime, now_ms: i64) -> Self {
        let yields = self.run().is_some_and(Run::yields_to_later_fire);
        if !yields || self.cancel_request().is_some() {
            return self;
        }
        let request = CancelRequest::for_fire(self.token, fire, now_ms);
        Self { cancel: Some(Arc::new(request)), ..self }
    }

    /// Returns true if another instance may continue the unfinished run: its cancellation is not
    /// requested.
    pub(crate) fn may_continue(&self) -> bool {
        self.is_busy() && self.cancel_request().is_none()
    }

    /// Returns the outcome to record for a run that ended so. The record alone decides if a run
    /// that was cut short was cancelled. Which instance writes the end does not matter.
    pub(super) fn outcome_of_end(&self, outcome: Outcome) -> Outcome {
        if !outcome.is_cut_short() {
            return outcome;
        }
        let is_requested = self.cancel_request().is_some();
        if is_requested { Outcome::Cancelled } else { Outcome::Interrupted }
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
