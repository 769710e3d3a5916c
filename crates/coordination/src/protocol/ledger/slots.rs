//! Runs of an item in its further slots: the record of the item has the fires, and the record of
//! the slot has the run.

use super::Ledger;

impl Ledger {
    /// Returns the record by which a fire of this item runs in another slot: with the fires of this
    /// record, and the run and the token of `slot`.
    #[must_use]
    pub(crate) fn with_run_of(&self, slot: &Self) -> Self {
        let (_, config_of_next) = self.next_owed();
        let fires = Self {
            state: slot.state.clone(),
            token: slot.token,
            config: slot.config,
            cancel: slot.cancel.clone(),
            outcome: slot.outcome,
            failure: slot.failure.clone(),
            runs: slot.runs,
            began_ms: slot.began_ms,
            ended_ms: slot.ended_ms,
            unknown: slot.unknown.clone(),
            ..self.clone()
        };
        match config_of_next {
            Some(config) => fires.followed_by(self.next_fire, config),
            None => fires,
        }
    }

    /// Returns the record of the item and that of the slot after a change of the record that
    /// [`with_run_of`](Self::with_run_of) returned. `self` is the record of the item before it, and
    /// `slot` that of the slot.
    #[must_use]
    pub(crate) fn divided(&self, slot: &Self, changed: Self) -> (Self, Self) {
        // If an older record is restored, `LocalRun::added_to` compares this fire. The fires of the
        // item can have been set back.
        let begins = changed.token != slot.token;
        let last_fire = if begins { slot.last_fire.max(changed.last_fire) } else { slot.last_fire };
        let (_, config_of_next) = changed.next_owed();
        let fires = Self {
            last_fire: changed.last_fire,
            previous_fire: changed.previous_fire,
            gaps: changed.gaps,
            misfire: changed.misfire,
            queued: changed.queued,
            ..self.clone()
        };
        let item = match config_of_next {
            Some(config) => fires.followed_by(changed.next_fire, config),
            None => Self { next_fire: changed.next_fire, next_config: None, ..fires },
        };
        let slot = Self {
            state: changed.state,
            token: changed.token,
            config: changed.config,
            cancel: changed.cancel,
            outcome: changed.outcome,
            failure: changed.failure,
            runs: changed.runs,
            began_ms: changed.began_ms,
            ended_ms: changed.ended_ms,
            unknown: changed.unknown,
            last_fire,
            ..slot.clone()
        };
        (item, slot)
    }

    /// Returns the record of an item that gets a record of its next slot, with the number of that
    /// slot.
    #[must_use]
    pub(crate) fn with_further_slot(&self, number: u32) -> Self {
        Self { further_slots: self.further_slots.max(number), ..self.clone() }
    }
}
