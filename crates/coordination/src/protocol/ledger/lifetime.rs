//! Transitions of the item itself: disabled, retired, revived.

use super::{Ledger, LedgerState, Outcome};
use crate::FireTime;

impl Ledger {
    /// Any → the same, disabled or enabled by an operator. `None` if nothing changes.
    #[must_use]
    pub fn with_disabled(&self, disabled: bool) -> Option<Self> {
        (self.disabled != disabled).then(|| Self { disabled, ..self.clone() })
    }

    /// Idle → retired: the job has fewer items. Misfires and the request are dropped.
    #[must_use]
    pub fn retire(&self) -> Option<Self> {
        let state = LedgerState::Retired;
        let dropped = || self.clone().without_noted();
        self.is_idle().then(|| Self { state, request: None, ..dropped() })
    }

    /// Retired → idle: the job has more items again. The item does not owe fires up to `settled`.
    #[must_use]
    pub fn revive(&self, settled: Option<FireTime>) -> Option<Self> {
        (self.state == LedgerState::Retired).then(|| Self {
            state: LedgerState::Idle,
            last_fire: self.last_fire.max(settled),
            next_fire: None,
            next_config: None,
            // While it was retired, no fire was skipped because it was disabled.
            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..self.clone()
        })
    }
}
