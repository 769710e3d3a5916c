//! Views of a job's items, with indexes by which duties find the items that need an action.
//!
//! A job can have 100 000 items, most of them at rest or running, which no duty has to scan.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::RangeInclusive;

use sharding::{InstanceId, ShardingItem};

use super::item::{Attention, ItemView};
use crate::FireTime;

/// Partition of the items that an item belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartitionKind {
    Resting,
    Restless,
}

/// Keys by which the indexes find an item.
struct IndexKeys {
    /// `None` for an item of which nothing is known.
    partition: Option<PartitionKind>,
    owner: Option<InstanceId>,
    /// Holder of the run by the record.
    holder: Option<InstanceId>,
    settled_until: Option<FireTime>,
    attention: [bool; Attention::ALL.len()],
}

impl IndexKeys {
    fn of(view: &ItemView) -> Self {
        let is_known = view != ItemView::NOTHING;
        let partition =
            if view.is_at_rest() { PartitionKind::Resting } else { PartitionKind::Restless };
        let holder = view.ledger.as_ref().and_then(|ledger| ledger.value.running());
        Self {
            partition: is_known.then_some(partition),
            owner: view.owner.as_ref().map(|owner| owner.value.clone()),
            holder: holder.map(|run| run.holder.clone()),
            settled_until: view.settled_until(),
            attention: Attention::ALL.map(|reason| is_known && view.has(reason)),
        }
    }
}

/// Items by an instance. Instances without items have no entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByInstance(BTreeMap<InstanceId, BTreeSet<ShardingItem>>);

impl ByInstance {
    fn relocate(&mut self, item: ShardingItem, from: Option<InstanceId>, to: Option<InstanceId>) {
        if from == to {
            return;
        }
        if let Some(from) = from
            && let Some(items) = self.0.get_mut(&from)
        {
            items.remove(&item);
            if items.is_empty() {
                self.0.remove(&from);
            }
        }
        if let Some(to) = to {
            self.0.entry(to).or_default().insert(item);
        }
        if self.0.is_empty() {
            // An emptied set would keep its memory.
            self.0 = BTreeMap::new();
        }
    }
}

/// A partition of the items, with an index by the last fire that each item has settled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Partition {
    /// Boxed to keep small jobs small: a map allocates room for eleven values at once.
    views: BTreeMap<ShardingItem, Box<ItemView>>,
    by_fire: BTreeSet<(Option<FireTime>, ShardingItem)>,
}

impl Partition {
    fn get(&self, item: ShardingItem) -> Option<&ItemView> {
        self.views.get(&item).map(|view| &**view)
    }

    fn iter(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.views.iter().map(|(item, view)| (*item, &**view))
    }

    fn from(&self, first: ShardingItem) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.views.range(first..).map(|(item, view)| (*item, &**view))
    }

    /// Returns the items that have not settled a fire, in ascending order.
    fn unsettled(&self, fire: FireTime) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let earlier = || self.by_fire.range(..(Some(fire), ShardingItem::new(0)));
        let indexed = || earlier().map(|(_, item)| *item);
        let (first, last) = (earlier().next(), earlier().next_back());
        // In most cases all items have the same last settled fire, so that no sort is needed.
        let in_order = first.map(|(fire, _)| fire) == last.map(|(fire, _)| fire);
        let sorted = if in_order { Vec::new() } else { in_item_order(indexed()) };
        let items = in_order.then(indexed).into_iter().flatten().chain(sorted);
        items.filter_map(|item| Some((item, self.get(item)?)))
    }
}

fn in_item_order(items: impl Iterator<Item = ShardingItem>) -> Vec<ShardingItem> {
    let mut sorted: Vec<_> = items.collect();
    sorted.sort_unstable();
    sorted
}

/// The known items of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    resting: Partition,
    /// Items that are not at rest.
    restless: Partition,
    by_owner: ByInstance,
    /// By the holder of the run.
    by_holder: ByInstance,
    by_attention: BTreeSet<(Attention, ShardingItem)>,
}

impl Items {
    pub(crate) fn get(&self, item: ShardingItem) -> Option<&ItemView> {
        self.restless.get(item).or_else(|| self.resting.get(item))
    }

    pub(crate) fn len(&self) -> usize {
        self.resting.views.len() + self.restless.views.len()
    }

    pub(crate) fn last(&self) -> Option<ShardingItem> {
        let last = |part: &Partition| part.views.last_key_value().map(|(item, _)| *item);
        last(&self.resting).max(last(&self.restless))
    }

    /// Counts the known items of a range.
    pub(crate) fn n_within(&self, items: RangeInclusive<ShardingItem>) -> usize {
        let count = |part: &Partition| part.views.range(items.clone()).count();
        count(&self.resting) + count(&self.restless)
    }

    /// Returns the latest last fire of all items.
    pub(crate) fn latest_fire(&self) -> Option<FireTime> {
        // An item at rest has no misfire, so that its last settled fire is its last fire.
        let resting = self.resting.by_fire.last().and_then(|(fire, _)| *fire);
        let restless = self.restless().filter_map(|(_, view)| view.record()?.last_fire);
        restless.max().max(resting)
    }

    /// Returns the exclusive lower bound of the fires that any item may have missed.
    pub(crate) fn owes_after(&self) -> Option<FireTime> {
        let resting = self.resting.by_fire.iter();
        // Of the items with a last fire, the first one in the index has the earliest.
        let first = resting.clone().find_map(|(fire, _)| *fire);
        let new = resting.take_while(|(fire, _)| fire.is_none());
        let new = new.filter_map(|(_, item)| self.resting.get(*item)?.record()?.owes_after());
        let restless = self.restless().filter_map(|(_, view)| view.record()?.owes_after());
        first.into_iter().chain(new).chain(restless).min()
    }

    /// Returns the known items from this one on, in ascending order.
    pub(crate) fn from(
        &self,
        first: ShardingItem,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        merged(self.resting.from(first), self.restless.from(first))
    }

    /// Returns the items that are not at rest, in ascending order.
    pub(crate) fn restless(&self) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.restless.iter()
    }

    /// Returns the items that have not settled a fire, in ascending order.
    pub(crate) fn unsettled(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        merged(self.resting.unsettled(fire), self.restless.unsettled(fire))
    }

    /// Returns the items that have not settled a fire and are not at rest, in ascending order.
    pub(crate) fn restless_unsettled(
        &self,
        fire: FireTime,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        self.restless.unsettled(fire)
    }

    /// Returns the items that need this attention, in ascending order.
    pub(crate) fn with(
        &self,
        reason: Attention,
    ) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let (first, last) = (ShardingItem::new(0), ShardingItem::new(u32::MAX));
        let items = self.by_attention.range((reason, first)..=(reason, last));
        items.filter_map(|(_, item)| Some((*item, self.get(*item)?)))
    }

    /// Returns the items of an owner, in ascending order.
    pub(crate) fn of(&self, owner: &InstanceId) -> impl Iterator<Item = (ShardingItem, &ItemView)> {
        let items = self.by_owner.0.get(owner).into_iter().flatten();
        items.filter_map(|item| Some((*item, self.get(*item)?)))
    }

    /// Returns the number of items that an instance owns.
    pub(crate) fn n_of(&self, owner: &InstanceId) -> usize {
        self.by_owner.0.get(owner).map_or(0, BTreeSet::len)
    }

    /// Returns the id of an instance. Many items name few owners, so the id of a known owner shares
    /// its memory.
    pub(crate) fn owner_named(&self, text: &str) -> InstanceId {
        let known = self.by_owner.0.get_key_value(text).map(|(known, _)| known.clone());
        known.unwrap_or_else(|| InstanceId::new(text))
    }

    /// Returns the instances that own items.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.by_owner.0.keys()
    }

    /// Returns the holders of runs by the records, with the items that they run.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&InstanceId, &BTreeSet<ShardingItem>)> {
        self.by_holder.0.iter()
    }

    /// Changes an item and its index entries. An item of which nothing is known any more is
    /// removed.
    pub(crate) fn change(&mut self, item: ShardingItem, change: impl FnOnce(&mut ItemView)) {
        let known = match self.restless.views.get_mut(&item) {
            Some(view) => Some(view),
            None => self.resting.views.get_mut(&item),
        };
        let mut added = None;
        let view = known.unwrap_or_else(|| added.insert(Box::default()));
        let before = IndexKeys::of(view);
        change(view);
        let after = IndexKeys::of(view);
        if before.partition != after.partition {
            let moved = match before.partition {
                Some(partition) => self.partition(partition).views.remove(&item),
                None => added,
            };
            if let Some((partition, view)) = after.partition.zip(moved) {
                self.partition(partition).views.insert(item, view);
            }
        }
        self.update_indexes(item, before, after);
    }

    fn partition(&mut self, partition: PartitionKind) -> &mut Partition {
        match partition {
            PartitionKind::Resting => &mut self.resting,
            PartitionKind::Restless => &mut self.restless,
        }
    }

    /// Updates the indexes after the change of an item.
    fn update_indexes(&mut self, item: ShardingItem, before: IndexKeys, after: IndexKeys) {
        if (before.partition, before.settled_until) != (after.partition, after.settled_until) {
            if let Some(partition) = before.partition {
                let entries = self.partition(partition);
                entries.by_fire.remove(&(before.settled_until, item));
                if entries.views.is_empty() {
                    // An emptied set would keep its memory.
                    *entries = Partition::default();
                }
            }
            if let Some(partition) = after.partition {
                self.partition(partition).by_fire.insert((after.settled_until, item));
            }
        }
        let attention = before.attention.into_iter().zip(after.attention);
        for (reason, (had, has)) in Attention::ALL.into_iter().zip(attention) {
            if has && !had {
                self.by_attention.insert((reason, item));
            } else if had && !has {
                self.by_attention.remove(&(reason, item));
            }
        }
        if self.by_attention.is_empty() {
            self.by_attention = BTreeSet::new();
        }
        self.by_owner.relocate(item, before.owner, after.owner);
        self.by_holder.relocate(item, before.holder, after.holder);
    }
}

/// Merges two ascending sequences of different items.
pub(crate) fn merged<T>(
    one: impl Iterator<Item = (ShardingItem, T)>,
    other: impl Iterator<Item = (ShardingItem, T)>,
) -> impl Iterator<Item = (ShardingItem, T)> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    iter::from_fn(move || match (one.peek(), other.peek()) {
        (Some((first, _)), Some((second, _))) if second < first => other.next(),
        (Some(_), _) => one.next(),
        (None, _) => other.next(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use reg_center::{Revision, SessionId, Version};

    use super::*;
    use crate::view::marks::{MarkHolder, RunningMark};
    use crate::{Claimant, Ledger, ManualRequest, Versioned};

    /// Change of an item.
    #[derive(Clone, Copy, Debug)]
    enum TestChange {
        Own(u8),
        Leave,
        Settle(i64),
        Create(i64),
        NoRecord,
        Begin(u8),
        Orphan,
        Ask,
        Disable(bool),
        Mark(bool),
        Queue(bool),
        Misfire(bool),
        Name(bool),
        FailOver(bool),
        Damage,
        Retire,
    }

    fn changes() -> impl Strategy<Value = Vec<(u32, TestChange)>> {
        let change = prop_oneof![
            (0..3_u8).prop_map(TestChange::Own),
            Just(TestChange::Leave),
            (1..4_i64).prop_map(TestChange::Settle),
            (1..4_i64).prop_map(TestChange::Create),
            Just(TestChange::NoRecord),
            (0..3_u8).prop_map(TestChange::Begin),
            Just(TestChange::Orphan),
            Just(TestChange::Ask),
            any::<bool>().prop_map(TestChange::Disable),
            any::<bool>().prop_map(TestChange::Mark),
            any::<bool>().prop_map(TestChange::Queue),
            any::<bool>().prop_map(TestChange::Misfire),
            any::<bool>().prop_map(TestChange::Name),
            any::<bool>().prop_map(TestChange::FailOver),
            Just(TestChange::Damage),
            Just(TestChange::Retire),
        ];
        vec((0..5_u32, change), 0..60)
    }

    fn instance(n: u8) -> InstanceId {
        InstanceId::new(format!("instance-{n}"))
    }

    fn write(view: &mut ItemView, next: impl FnOnce(&Ledger) -> Option<Ledger>) {
        if let Some(ledger) = &mut view.ledger
            && let Some(next) = next(&ledger.value)
        {
            ledger.value = next;
        }
    }

    fn apply(view: &mut ItemView, change: TestChange) {
        let (version, created) = (Version(0), Revision(0));
        match change {
            TestChange::Own(n) => {
                view.owner = Some(Versioned { value: instance(n), version });
            }
            TestChange::Leave => view.owner = None,
            TestChange::Settle(fire) => {
                let value = Ledger::new(Some(FireTime(fire)));
                (view.ledger, view.unreadable) = (Some(Versioned { value, version }), false);
            }
            TestChange::Create(next) => {
                let value = Ledger::new(None).followed_by(Some(FireTime(next)), version);
                (view.ledger, view.unreadable) = (Some(Versioned { value, version }), false);
            }
            TestChange::NoRecord => (view.ledger, view.unreadable) = (None, false),
            TestChange::Damage => (view.ledger, view.unreadable) = (None, true),
            TestChange::Retire => write(view, Ledger::retire),
            TestChange::Begin(n) => {
                let by = Claimant { holder: instance(n), config: version, now_ms: 0 };
                write(view, |ledger| ledger.claim(&by, FireTime(3), None));
            }
            TestChange::Orphan => write(view, Ledger::orphan),
            TestChange::Ask => {
                let request = ManualRequest {
                    id: "r".into(),
                    at: FireTime(9),
                    parameter: None,
                    past_fire: None,
                };
                write(view, |ledger| ledger.with_request(request));
            }
            TestChange::Disable(disabled) => view.disabled = disabled,
            TestChange::Mark(marked) => {
                let holder = MarkHolder::Session(SessionId(0));
                view.marks.running = marked.then_some(RunningMark { created, holder });
            }
            TestChange::Queue(queued) => view.queued = queued,
            TestChange::Misfire(misfire) => view.misfire = misfire,
            TestChange::Name(named) => {
                let holder = MarkHolder::Instance(instance(0));
                view.marks.running = named.then_some(RunningMark { created, holder });
            }
            TestChange::FailOver(named) => view.marks.failovering = named.then(|| instance(1)),
        }
    }

    proptest! {
        /// The indexes find the same items as a scan of all items.
        #[test]
        fn indexes_find_the_same_items_as_a_scan(changes in changes()) {
            let (mut items, mut plain) = (Items::default(), BTreeMap::new());
            for (index, change) in changes {
                let item = ShardingItem::new(index);
                items.change(item, |view| apply(view, change));
                let view: &mut ItemView = plain.entry(item).or_default();
                apply(view, change);
                plain.retain(|_, view| *view != ItemView::default());
                let all = || plain.iter().map(|(item, view)| (*item, view));
                prop_assert!(items.from(ShardingItem::new(0)).eq(all()));
                prop_assert!(items.from(item).eq(plain.range(item..).map(|(i, v)| (*i, v))));
                prop_assert!(items.restless().eq(all().filter(|(_, view)| !view.is_at_rest())));
                for fire in (0..5).map(FireTime) {
                    let unsettled = |view: &ItemView| match &view.ledger {
                        Some(ledger) => !ledger.value.has_settled(fire),
                        None => true,
                    };
                    let due = all().filter(|(_, view)| unsettled(view));
                    prop_assert!(items.unsettled(fire).eq(due), "{fire}");
                    let restless = all().filter(|(_, view)| unsettled(view) && !view.is_at_rest());
                    prop_assert!(items.restless_unsettled(fire).eq(restless), "{fire}");
                }
                let owners: BTreeSet<_> =
                    plain.values().filter_map(|v| Some(&v.owner.as_ref()?.value)).collect();
                for owner in &owners {
                    let owned = || all().filter(|(_, view)| view.is_of(owner));
                    prop_assert!(items.of(owner).eq(owned()), "{owner}");
                    prop_assert_eq!(items.n_of(owner), owned().count());
                }
                prop_assert!(items.owners().eq(owners));
                let mut holders: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
                for (item, view) in all() {
                    if let Some(run) = view.ledger.as_ref().and_then(|l| l.value.running()) {
                        holders.entry(&run.holder).or_default().insert(item);
                    }
                }
                prop_assert!(items.holders().eq(holders.iter().map(|(id, items)| (*id, items))));
                for reason in Attention::ALL {
                    let having = || all().filter(|(_, view)| view.has(reason));
                    prop_assert!(items.with(reason).eq(having()), "{reason:?}");
                }
                prop_assert_eq!(items.len(), plain.len());
                prop_assert_eq!(items.last(), plain.keys().last().copied());
                let records = || plain.values().filter_map(ItemView::record);
                let latest = records().filter_map(|record| record.last_fire).max();
                prop_assert_eq!(items.latest_fire(), latest);
                let owes_after = records().filter_map(Ledger::owes_after).min();
                prop_assert_eq!(items.owes_after(), owes_after);
                let some = ShardingItem::new(1)..=ShardingItem::new(3);
                prop_assert_eq!(items.n_within(some.clone()), plain.range(some).count());
                prop_assert_eq!(items.get(item), plain.get(&item));
            }
        }
    }

    #[test]
    fn items_need_attention_by_their_state() {
        let idle = || ItemView {
            owner: Some(Versioned { value: instance(0), version: Version(0) }),
            ledger: Some(Versioned { value: Ledger::new(None), version: Version(0) }),
            ..ItemView::default()
        };
        let after = |changes: &[TestChange]| {
            let mut view = idle();
            changes.iter().for_each(|change| apply(&mut view, *change));
            view
        };
        let rows = [
            (vec![], vec![]),
            (vec![TestChange::Mark(true)], vec![]),
            (vec![TestChange::Begin(1)], vec![]),
            (vec![TestChange::Leave], vec![Attention::Unowned]),
            (vec![TestChange::NoRecord], vec![Attention::Unrecorded]),
            (vec![TestChange::Damage], vec![]),
            (vec![TestChange::Begin(1), TestChange::Orphan], vec![Attention::Orphaned]),
            (vec![TestChange::Ask], vec![Attention::Requested]),
            (vec![TestChange::Misfire(true)], vec![Attention::Misfired]),
            (vec![TestChange::Queue(true)], vec![Attention::Queued]),
            (vec![TestChange::Disable(true)], vec![Attention::DisablingChanged]),
            (vec![TestChange::Name(true)], vec![Attention::LastingMark]),
            (vec![TestChange::FailOver(true)], vec![Attention::LastingMark]),
            (vec![TestChange::Retire, TestChange::Leave], vec![Attention::Unowned]),
        ];
        for (changes, expected) in rows {
            let view = after(&changes);
            let attention: Vec<_> =
                Attention::ALL.into_iter().filter(|reason| view.has(*reason)).collect();
            assert_eq!(attention, expected, "{changes:?}");
        }
    }
}
