//! Transitions that start a run: claims of a fire or a request, and takeovers.

use super::{Claimant, FireRange, Ledger, LedgerState, Run, RunKind, RunSource};
use crate::{FireTime, GroupPermit};

impl Ledger {
    /// Idle → running for a scheduled fire, together with earlier noted misfires. `next` is the
    /// next fire in the schedule.
    #[must_use]
    pub fn claim(&self, by: &Claimant, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        let already_claimed = self.last_fire >= Some(fire);
        if !self.is_claimable() || already_claimed {
            return None;
        }
        // The run stands for the noted misfires, too: they need no run of their own.
        let merged = self.misfire.map(|range| FireRange::extended_by(Some(range), fire));
        let run = Run { merged, ..Run::scheduled(by.holder.clone(), RunSource::Normal, fire) };
        Some(self.with_run(by, run).without_noted().with_last_fire(fire, next))
    }

    /// Idle → running for one scheduled fire that no instance ran in its time. Later fires get runs
    /// of their own. Not while misfires wait: their run comes first.
    #[must_use]
    pub fn catch_up(&self, by: &Claimant, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        let claimed = self.claim(by, fire, next)?;
        if self.misfire.is_some() {
            return None;
        }
        let LedgerState::Running(run) = claimed.state else { return None };
        let run = Run { source: RunSource::Misfire, ..run };
        Some(Self { state: LedgerState::Running(run), ..claimed })
    }

    /// Idle → running for the noted misfires, once for all of them. `next` is the next fire in the
    /// schedule after the last one.
    #[must_use]
    pub fn replay(&self, by: &Claimant, next: Option<FireTime>) -> Option<Self> {
        let range = self.misfire?;
        if !self.is_claimable() {
            return None;
        }
        let first = Run::scheduled(by.holder.clone(), RunSource::Misfire, range.last);
        let run = Run { merged: Some(range), ..first };
        let claimed = self.with_run(by, run).without_noted();
        Some(claimed.with_replayed(self, range.last, next))
    }

    /// Sets the last fire to a noted one that a run stands for now, unless `before` has a later
    /// one. `next` is the next fire in the schedule after it.
    pub(super) fn with_replayed(
        self,
        before: &Self,
        fire: FireTime,
        next: Option<FireTime>,
    ) -> Self {
        if before.last_fire >= Some(fire) {
            return self;
        }
        // The record that noted the last misfire already contains the fire after it.
        let Self { next_fire, next_config, .. } = self;
        let settled = self.with_last_fire(fire, next);
        match before.next_owed().0 {
            Some(_) => Self { next_fire, next_config, ..settled },
            None => settled,
        }
    }

    /// Idle → running for a manual request. The last fire of the schedule does not change.
    #[must_use]
    pub fn answer(&self, by: &Claimant) -> Option<Self> {
        let request = self.request.as_ref()?;
        if !self.is_claimable() {
            return None;
        }
        let run = Run {
            holder: by.holder.clone(),
            fire: request.at,
            source: request.source(),
            kind: RunKind::Manual,
            merged: None,
            parameter: request.parameter.clone(),
            permit: None,
            group_permit: None,
            past_fire: request.past_fire,
        };
        Some(Self { request: None, ..self.with_run(by, run) })
    }

    /// Orphan → running: another instance continues the same fire. Not if its cancellation is
    /// requested: such a run ends.
    ///
    /// A disabled item is taken over, too: the run began before the item was disabled.
    #[must_use]
    pub fn take_over(&self, by: &Claimant) -> Option<Self> {
        let LedgerState::Orphan(run) = &self.state else { return None };
        if !self.may_continue() {
            return None;
        }
        // The next fencing token makes the effects of the former holder stale.
        let (holder, source) = (by.holder.clone(), RunSource::Failover);
        Some(self.with_run(by, Run { holder, source, ..run.clone() }))
    }

    /// Returns the record with the permit of its run in progress.
    #[must_use]
    pub(crate) fn with_permit(self, permit: u32) -> Self {
        match self.state {
            LedgerState::Running(run) => {
                let run = Run { permit: Some(permit), ..run };
                Self { state: LedgerState::Running(run), ..self }
            }
            LedgerState::Idle | LedgerState::Orphan(_) | LedgerState::Retired => self,
        }
    }

    /// Returns the record with the permit of the group for its run in progress.
    #[must_use]
    pub(crate) fn with_group_permit(self, permit: GroupPermit) -> Self {
        match self.state {
            LedgerState::Running(run) => {
                let run = Run { group_permit: Some(permit), ..run };
                Self { state: LedgerState::Running(run), ..self }
            }
            LedgerState::Idle | LedgerState::Orphan(_) | LedgerState::Retired => self,
        }
    }

    pub(super) fn is_claimable(&self) -> bool {
        self.is_idle() && !self.disabled
    }

    /// Running with the next fencing token.
    pub(super) fn with_run(&self, by: &Claimant, run: Run) -> Self {
        let run = Run { permit: None, group_permit: None, ..run };
        // `config` changes here: the version of `next_fire` is stored on its own if it differs.
        let (_, config_of_next) = self.next_owed();
        let is_other = self.next_fire.is_some() && config_of_next != Some(by.config);
        Self {
            state: LedgerState::Running(run),
            token: self.token.next(),
            config: Some(by.config),
            next_config: if is_other { config_of_next } else { None },
            began_ms: Some(by.now_ms),
            ended_ms: None,
            ..self.clone().without_cancel_request()
        }
    }
}
