//! Slots of items, and the runs in them. Pure functions.

use std::collections::BTreeSet;

use coordination::{ItemView, JobView, Ledger, MAX_SLOTS, Slot};
use sharding::{InstanceId, ShardingItem};

use crate::JobSnapshot;
use crate::tally::has_failed;

/// Returns the slots of an item, in ascending order, each with its view: the first one, and those
/// of which the registry has a node.
pub(crate) fn slots_of(
    view: &JobView,
    item: ShardingItem,
) -> impl Iterator<Item = (Slot, &ItemView)> {
    // The record of the item names its slots, but it may be missing or unreadable.
    let end = if view.further_slots().next().is_some() { MAX_SLOTS } else { 1 };
    let slots = (0..end).filter_map(move |number| Slot::new(item, number));
    let shown = slots.map(|slot| (slot, view.item(slot.key())));
    shown.filter(|(slot, shown)| slot.number == 0 || **shown != ItemView::default())
}

/// Returns the items of which the registry has a node, be it one of a further slot.
pub(crate) fn known_items(view: &JobView) -> BTreeSet<ShardingItem> {
    let of_slots = view.further_slots().map(|(slot, _)| slot.item);
    view.items().map(|(item, _)| item).chain(of_slots).collect()
}

/// Returns true if the record or the mark of a slot shows a run.
pub(crate) fn has_run(shown: &ItemView) -> bool {
    let recorded = shown.ledger.as_ref().is_some_and(|l| l.value.running().is_some());
    recorded || shown.marks.shows_run()
}

/// Returns the instance that runs an item, or the slot with this key; see [`JobSnapshot::runner`].
pub(crate) fn runner(view: &JobView, key: ShardingItem) -> Option<&InstanceId> {
    let shown = view.item(key);
    let record = shown.ledger.as_ref().and_then(|ledger| ledger.value.running());
    let of_mark = || {
        let owner = view.item(Slot::of(key).item).owner.as_ref().map(|owner| &owner.value);
        shown.marks.shows_run().then(|| shown.marks.lasting_holder().or(owner)).flatten()
    };
    record.map(|run| &run.holder).or_else(of_mark)
}

impl JobSnapshot {
    /// Returns true if an item runs: the record or the mark of any of its slots shows a run.
    #[must_use]
    pub fn is_running(&self, item: ShardingItem) -> bool {
        slots_of(self.view(), item).any(|(_, shown)| has_run(shown))
    }

    /// Returns the slots of an item, in ascending order: the first one, and those of which the
    /// registry has a node.
    #[must_use]
    pub fn slots(&self, item: ShardingItem) -> Vec<Slot> {
        slots_of(self.view(), item).map(|(slot, _)| slot).collect()
    }

    /// Returns the slots of an item whose records or marks show a run, in ascending order.
    #[must_use]
    pub fn running_slots(&self, item: ShardingItem) -> Vec<Slot> {
        let running = slots_of(self.view(), item).filter(|(_, shown)| has_run(shown));
        running.map(|(slot, _)| slot).collect()
    }

    /// Returns the slots of an item that have a run, in progress or waiting for a takeover, in
    /// ascending order.
    #[must_use]
    pub fn busy_slots(&self, item: ShardingItem) -> Vec<Slot> {
        let is_busy =
            |(slot, shown): &(Slot, &ItemView)| has_run(shown) || self.is_slot_orphaned(*slot);
        slots_of(self.view(), item).filter(is_busy).map(|(slot, _)| slot).collect()
    }

    /// Returns true if runs of live holders prevent the next run of an item: there are as many as
    /// the job allows.
    #[must_use]
    pub fn is_held_by_runs(&self, item: ShardingItem) -> bool {
        usize::try_from(self.slot_limit()).is_ok_and(|limit| self.live_runs(item) >= limit)
    }

    /// Returns the number of runs of an item that go on: their holders live.
    pub(crate) fn live_runs(&self, item: ShardingItem) -> usize {
        let is_live = |(slot, shown): &(Slot, &ItemView)| {
            has_run(shown) && self.lost_holder(slot.key()).is_none()
        };
        slots_of(self.view(), item).filter(is_live).count()
    }

    /// Returns true if a run of an item waits for a takeover: its holder is gone, or gave it up.
    #[must_use]
    pub fn is_orphaned(&self, item: ShardingItem) -> bool {
        slots_of(self.view(), item).any(|(slot, _)| self.is_slot_orphaned(slot))
    }

    /// Returns true if the run of a slot waits for a takeover: its record or a Java instance says
    /// so, or its holder is gone.
    pub(crate) fn is_slot_orphaned(&self, slot: Slot) -> bool {
        let shown = self.view().item(slot.key());
        let record = shown.ledger.as_ref().map(|ledger| &ledger.value);
        let is_recorded = record.is_some_and(|it| it.is_busy() && it.running().is_none());
        is_recorded || shown.queued || self.lost_holder(slot.key()).is_some()
    }

    /// Returns true if an item has as many unfinished runs by its records as the job allows. Runs
    /// that began when the job allowed more count as well.
    #[must_use]
    pub fn has_all_runs(&self, item: ShardingItem) -> bool {
        let is_busy = |(_, shown): &(Slot, &ItemView)| {
            shown.ledger.as_ref().is_some_and(|ledger| ledger.value.is_busy())
        };
        let runs = slots_of(self.view(), item).filter(is_busy).count();
        usize::try_from(self.slot_limit()).is_ok_and(|limit| runs >= limit)
    }

    /// Returns the number of runs that an item may have at the same time.
    pub(crate) fn slot_limit(&self) -> u32 {
        self.config().map_or(1, coordination::JobConfig::slots)
    }

    /// Returns the slot of the last run of an item that has ended, with its record.
    ///
    /// While a slot has a later run, the start of that run stands for the end of the one before.
    fn last_ended(&self, item: ShardingItem) -> Option<(Slot, &Ledger)> {
        let records = slots_of(self.view(), item)
            .filter_map(|(slot, shown)| Some((slot, &shown.ledger.as_ref()?.value)));
        let ended = records.filter(|(_, record)| record.outcome.is_some());
        let latest = |one: &(Slot, &Ledger)| one.1.ended_ms.or(one.1.began_ms);
        // Of two ends in the same millisecond, the one in the first slot counts.
        ended.reduce(|last, next| if latest(&next) > latest(&last) { next } else { last })
    }

    /// Returns the slot of the last run of an item that has ended, if the run did not succeed.
    #[must_use]
    pub fn failing_slot(&self, item: ShardingItem) -> Option<Slot> {
        let (slot, record) = self.last_ended(item)?;
        has_failed(record).then_some(slot)
    }
}
