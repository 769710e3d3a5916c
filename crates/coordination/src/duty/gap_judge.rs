//! Gaps that the next records of items prove.

use crate::duty::Context;
use crate::gap::Judgement;
use crate::{FireTime, Gap, Ledger};
use reg_center::Version;
use sharding::ShardingItem;

/// Finder of the gaps of items. Most items of a plan have the same gaps, so that the last lookup is
/// kept.
pub(crate) struct GapJudge<'a> {
    judgement: Judgement<'a>,
    last_gaps: Option<(GapInput, Vec<Gap>)>,
    last_next: Option<(NextInput, (Option<FireTime>, Version))>,
}

/// Last fire that a record accounts for, the fire that it owes next, and the fire that is accounted
/// for now.
type GapInput = (Option<FireTime>, (Option<FireTime>, Option<Version>), FireTime);

/// Fire that is accounted for now, and the next fire of its schedule if that is known.
type NextInput = (FireTime, Option<FireTime>);

impl<'a> GapJudge<'a> {
    pub(super) fn of(cx: &Context<'a>) -> Option<Self> {
        Some(Self { judgement: cx.judgement()?, last_gaps: None, last_next: None })
    }

    /// Returns the next record of an item with the gap that it proves: the scheduled fires between
    /// the last fires that the former record and this one account for.
    pub(super) fn accounted(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        // Only a record that accounts for a later fire than before proves a gap.
        let settled = after.settled_until().filter(|fire| Some(*fire) > before.settled_until());
        let Some(until) = settled else { return after };
        let gaps = self.gaps(before, until);
        let (next, config) = self.next_after(until, after.next_fire);
        let reported = cx.local.fires.reported_gaps(item);
        after.followed_by(next, config).with_gaps(gaps, reported)
    }

    /// Returns the record of a retired item, with the fires that no run accounts for: the fires
    /// since the last one accounted for, and the noted misfires, which are dropped.
    pub(super) fn retired(
        &mut self,
        cx: &Context<'_>,
        item: ShardingItem,
        before: &Ledger,
        after: Ledger,
    ) -> Ledger {
        // The fires that seem missing may have run.
        if self.judgement.unrecorded_runs {
            return after;
        }
        let reported = cx.local.fires.reported_gaps(item);
        // A retired item never runs its noted misfires, so they are missed.
        let dropped = before.misfire.map(|noted| Gap {
            first: noted.first,
            until: FireTime(noted.last.0.saturating_add(1)),
            count: Some(noted.count),
            config: before.next_owed().1,
            changed_to: None,
        });
        let present = cx.present_ms();
        // A fire in the future comes from a wrong clock.
        let seen = cx.local.fires.last_seen.filter(|seen| seen.0 <= cx.horizon_ms());
        let last = seen.map_or(present, |FireTime(seen)| seen.max(present));
        let open = self.gaps(before, FireTime(last.saturating_add(1)));
        after.with_gaps(dropped.into_iter().chain(open), reported)
    }

    /// Returns the gaps between the last fire that a record accounts for and `until`.
    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
        let input = (before.settled_until(), before.next_owed(), until);
        if let Some((_, gaps)) = self.last_gaps.as_ref().filter(|(last, _)| *last == input) {
            return gaps.clone();
        }
        let (settled, owed, until) = input;
        let found = self.judgement.gaps(settled, owed, until);
        let counted: Vec<_> = found.into_iter().map(|gap| self.judgement.counted(gap)).collect();
        self.last_gaps = Some((input, counted.clone()));
        counted
    }

    fn next_after(
        &mut self,
        fire: FireTime,
        known: Option<FireTime>,
    ) -> (Option<FireTime>, Version) {
        let input = (fire, known);
        if let Some((_, next)) = self.last_next.filter(|(last, _)| *last == input) {
            return next;
        }
        let next = self.judgement.next_after(fire, known);
        self.last_next = Some((input, next));
        next
    }
}
