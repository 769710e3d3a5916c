//! The queue of an item: fires that met the run and get a run each, oldest first.

use super::{Claimant, FireRange, Ledger, Run, RunSource};
use crate::FireTime;

impl Ledger {
    /// Busy or idle → the same, in a job with `overlap = queue`: a scheduled fire met the run, or
    /// queued fires, and gets a run of its own after them. `next` is the next fire in the schedule.
    ///
    /// `None` if no fire has to wait, and if `max` fires are queued already. If one run is to stand
    /// for the noted fires, it stands for this fire as well.
    #[must_use]
    pub fn queue(&self, fire: FireTime, next: Option<FireTime>, max: u32) -> Option<Self> {
        if self.misfire.is_some() && self.queued.is_empty() {
            return self.note_misfire(fire, next);
        }
        let waits_behind = self.is_idle() && !self.disabled && !self.queued.is_empty();
        let waits = self.is_busy() || waits_behind;
        if !waits || self.has_settled(fire) || self.is_queue_full(max) {
            return None;
        }
        let queued = self.queued.iter().copied().chain([fire]).collect();
        Some(Self { next_fire: next, next_config: None, ..self.clone().with_queue(queued) })
    }

    /// Returns true if at least `max` fires are queued. More are if an operator has lowered the
    /// maximum since.
    #[must_use]
    pub fn is_queue_full(&self, max: u32) -> bool {
        self.queued.len() >= usize::try_from(max).unwrap_or(usize::MAX)
    }

    /// Idle → running for the oldest queued fire. The later ones stay queued. `next` is the next
    /// fire in the schedule after it.
    #[must_use]
    pub fn run_queued(&self, by: &Claimant, next: Option<FireTime>) -> Option<Self> {
        let (&fire, later) = self.queued.split_first()?;
        if !self.is_claimable() {
            return None;
        }
        let run = Run::scheduled(by.holder.clone(), RunSource::Misfire, fire);
        let claimed = self.with_run(by, run).with_queue(later.to_vec());
        Some(claimed.with_replayed(self, fire, next))
    }

    /// Sets the queued fires, ascending. They are the only noted ones.
    pub(super) fn with_queue(self, queued: Vec<FireTime>) -> Self {
        Self { misfire: FireRange::of(&queued), queued, ..self }
    }

    /// Drops the noted fires: a run stands for them, or the item never runs them.
    pub(super) fn without_noted(self) -> Self {
        Self { misfire: None, queued: Vec::new(), ..self }
    }
}
