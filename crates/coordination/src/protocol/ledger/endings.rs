//! Transitions that end a run, or leave it for a takeover.

use sharding::InstanceId;

use super::{Ledger, LedgerState, Outcome, Run, RunSource};
use crate::{FailureReason, FencingToken, FireTime};

impl Ledger {
    /// Running → idle: the run ended.
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

    /// Running → orphan: the holder is gone, or gave the run up.
    #[must_use]
    pub fn orphan(&self) -> Option<Self> {
        let run = self.running()?.clone();
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
        Some(Self { state: LedgerState::Orphan(run), ..self.clone().with_last_fire(fire, None) })
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
        Self { token: token.map_or(self.token, |token| self.token.max(token)), ..self }
    }

    /// Returns the record of an idle item whose last run ended at `now_ms`.
    pub(crate) fn with_ended_run(&self, outcome: Outcome, now_ms: i64) -> Self {
        // An interrupted run does not show that the cause of an earlier failure is gone.
        let keeps_failure = outcome == Outcome::Interrupted;
        let failure = if keeps_failure { self.failure.clone() } else { None };
        let (outcome, ended_ms) = (Some(outcome), Some(now_ms));
        Self { state: LedgerState::Idle, outcome, failure, ended_ms, ..self.clone() }
    }
}
