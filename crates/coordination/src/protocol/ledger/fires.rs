//! Settled and owed fires: misfires, skipped fires, gaps, and the way back after a wrong clock.

use reg_center::Version;

use super::{FireRange, Ledger, Outcome, Run};
use crate::gap::MAX_GAPS;
use crate::{FireTime, Gap};

impl Ledger {
    /// Returns true if a scheduled fire is settled: claimed, accounted for without a run, or noted
    /// as a misfire.
    #[must_use]
    pub fn has_settled(&self, fire: FireTime) -> bool {
        self.settled_until() >= Some(fire)
    }

    /// Returns true if the item accounts for a scheduled fire after this time, and no scheduled run
    /// is in progress or waits for a takeover. Failed, cancelled and interrupted runs have ended,
    /// and a disabled item has skipped the fire.
    pub(crate) fn has_ended_after(&self, at: FireTime) -> bool {
        let is_running = self.run().is_some_and(Run::is_scheduled);
        self.last_fire > Some(at) && !is_running
    }

    /// Returns true if a fire is noted as a misfire and has not run yet.
    #[must_use]
    pub fn has_noted(&self, fire: FireTime) -> bool {
        if self.queued.is_empty() {
            return self.misfire.is_some_and(|range| range.has(fire));
        }
        self.queued.contains(&fire)
    }

    /// Returns the last settled fire.
    #[must_use]
    pub fn settled_until(&self) -> Option<FireTime> {
        let noted = self.misfire.map(|range| range.last);
        self.last_fire.max(noted)
    }

    /// Returns the next fire in the schedule after the last settled one, if the record contains it,
    /// and the registry version of the configuration with that schedule.
    #[must_use]
    pub fn next_owed(&self) -> (Option<FireTime>, Option<Version>) {
        // A misfire that was noted later may lie beyond the stored next fire.
        let next = self.next_fire.filter(|next| Some(*next) > self.settled_until());
        (next, self.next_config.or(self.config))
    }

    /// Returns the exclusive lower bound of the fires that the item may have missed: its last fire,
    /// or the first fire that it owes if it has accounted for none.
    pub(crate) fn owes_after(&self) -> Option<FireTime> {
        let before_first = || Some(FireTime(self.next_fire?.0.saturating_sub(1)));
        self.last_fire.or_else(before_first)
    }

    /// Returns the last fire that can be in a gap of this record.
    pub(crate) fn last_in_gap(&self) -> Option<FireTime> {
        let last = self.gaps.iter().map(|gap| gap.until.0.saturating_sub(1)).max()?;
        // Scheduled fires come on whole seconds, but a gap can end at the time of a retirement.
        Some(FireTime(last).whole_second())
    }

    /// Sets the next fire after the last settled one, by the schedule of a configuration.
    pub(crate) fn followed_by(self, next: Option<FireTime>, config: Version) -> Self {
        let is_other = next.is_some() && self.config != Some(config);
        Self { next_fire: next, next_config: is_other.then_some(config), ..self }
    }

    pub(crate) fn with_last_fire(self, fire: FireTime, next: Option<FireTime>) -> Self {
        let previous_fire = self.last_fire;
        Self { last_fire: Some(fire), previous_fire, next_fire: next, next_config: None, ..self }
    }

    /// Adds gaps, and removes those that this process has reported.
    pub(crate) fn with_gaps(
        mut self,
        gaps: impl IntoIterator<Item = Gap>,
        reported: &[Gap],
    ) -> Self {
        self.gaps.retain(|known| !known.is_among(reported));
        self.gaps.extend(gaps);
        // A dropped gap would never be reported. A merged one is, although without a count.
        while self.gaps.len() > MAX_GAPS
            && let [oldest, next, ..] = *self.gaps
        {
            self.gaps.splice(..2, [oldest.merged_with(next)]);
        }
        self
    }

    /// Busy → busy: a scheduled fire met the run and waits. One run will stand for all noted fires,
    /// and for fires that were queued before. `next` is the next fire in the schedule.
    #[must_use]
    pub fn note_misfire(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_busy() || self.has_settled(fire) {
            return None;
        }
        let misfire = Some(FireRange::extended_by(self.misfire, fire));
        let noted = Self { misfire, ..self.clone().without_noted() };
        Some(Self { next_fire: next, next_config: None, ..noted })
    }

    /// Idle → idle: by the mark of a Java instance, which writes no records, fires up to this one
    /// misfired.
    #[must_use]
    pub(crate) fn noted_by_mark(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.misfire.is_none();
        let misfire = Some(FireRange::extended_by(None, fire));
        new.then(|| Self { misfire, ..self.clone() })
    }

    /// Idle → idle: a scheduled fire of a disabled item is settled without a run.
    #[must_use]
    pub fn skip_disabled(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_idle() || self.has_settled(fire) {
            return None;
        }
        let outcome = Some(Outcome::Disabled);
        Some(Self { outcome, ..self.clone().with_last_fire(fire, next) })
    }

    /// Idle → idle: a Java instance, which writes no records, owned the item and settled this fire
    /// and all earlier ones.
    #[must_use]
    pub(crate) fn handed_back(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.last_fire < Some(fire);
        new.then(|| self.clone().without_noted().with_last_fire(fire, None))
    }

    /// Idle or retired → the same, with nothing settled after `present`, the last scheduled fire
    /// until now. An operator repairs the effects of a wrong clock by it.
    ///
    /// This is the only transition that lowers the last fire. Gaps end at `present` at the latest.
    /// `None` while a run is unfinished, and if nothing after `present` is settled.
    #[must_use]
    pub fn settle_back(&self, present: FireTime) -> Option<Self> {
        if self.is_busy() || self.settled_until() <= Some(present) {
            return None;
        }
        // Later misfires come from the wrong clock, too: they are dropped or cut.
        let noted = self.misfire.filter(|range| range.first <= present);
        let queued: Vec<_> = self.queued.iter().copied().filter(|at| *at <= present).collect();
        let cut = noted.map(|range| FireRange { last: range.last.min(present), ..range });
        let is_lowered = self.last_fire > Some(present);
        let gaps = self.gaps.iter().filter_map(|gap| gap.ended_by(present));
        Some(Self {
            last_fire: self.last_fire.min(Some(present)),
            previous_fire: self.previous_fire.filter(|fire| *fire < present),
            next_fire: None,
            next_config: None,
            misfire: FireRange::of(&queued).or(cut),
            queued,
            gaps: gaps.collect(),
            // The item was disabled at the later fire, but perhaps not at `present`.
            outcome: self.outcome.filter(|of| *of != Outcome::Disabled || !is_lowered),
            ..self.clone()
        })
    }
}
