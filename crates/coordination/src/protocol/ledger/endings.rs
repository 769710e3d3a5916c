//! Transitions that end a run, or leave it for a takeover.

use sharding::InstanceId;

use super::{Ledger, LedgerState, Outcome, Run, RunSource};
use crate::{FailureReason, FencingToken, FireTime};

impl Ledger {
    /// Running → idle: the run ended. An interrupted run ends as cancelled if, and only if, its
    /// cancellation was requested.
    #[must_use]
    pub fn complete(&self, outcome: Outcome, now_ms: i64) -> Option<Self> {
        self.running()?;
        Some(self.with_ended_run(outcome, now_ms))
    }

    /// Sets the reason of the failure, if there is one.
    #[must_use]
    pub fn because(self, failure: Option<FailureReason>) -> Self {
        Self { failure: failure.or(self.failure), ..self }
    }

    /// Running → orphan: the holder is gone, or gave the run up. Not if its cancellation is
    /// requested: such a run ends.
    #[must_use]
    pub fn orphan(&self) -> Option<Self> {
        let run = self.running().filter(|_| self.may_continue())?.clone();
        Some(Self { state: LedgerState::Orphan(run), ..self.clone() })
    }

    /// Idle → orphan: a Java instance, which writes no records, is gone and has not completed this
    /// fire.
    #[must_use]
    pub(crate) fn orphan_of(&self, holder: &InstanceId, fire: FireTime) -> Option<Self> {
        if !self.is_idle() || self.last_fire >= Some(fire) {
            return None;
        }
        let run = Run::scheduled(holder.clone(), RunSource::Normal, fire);
        // The fire is settled as well, so that it is taken over but never claimed again.
        let settled = self.clone().without_cancel_request().with_last_fire(fire, None);
        Some(Self { state: LedgerState::Orphan(run), ..settled })
    }

    /// Running or orphan → idle: no instance completes the run.
    #[must_use]
    pub fn abandon(&self, now_ms: i64) -> Option<Self> {
        self.run()?;
        Some(self.with_ended_run(Outcome::Interrupted, now_ms))
    }

    /// Raises the fencing token to `token` if it is lower.
    #[must_use]
    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
        match token.filter(|token| *token > self.token) {
            // A restored record does not show whether a later run was cancelled.
            Some(token) => Self { token, ..self.without_cancel_request() },
            None => self,
        }
    }

    /// Returns the record of an idle item whose last run ended at `now_ms`.
    pub(crate) fn with_ended_run(&self, outcome: Outcome, now_ms: i64) -> Self {
        let outcome = self.outcome_of_end(outcome);
        // A run that was cut short does not show that the cause of an earlier failure is gone.
        let keeps_failure = outcome.is_cut_short();
        let failure = if keeps_failure { self.failure.clone() } else { None };
        let cancel = self.cancel.clone().filter(|_| outcome == Outcome::Cancelled);
        Self {
            state: LedgerState::Idle,
            outcome: Some(outcome),
            cancel,
            failure,
            runs: self.runs.with_run(outcome),
            ended_ms: Some(now_ms),
            ..self.clone()
        }
    }
}
