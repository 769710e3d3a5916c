//! Pending items, stored as ranges of neighbours with the same next owner.
//!
//! In most cases many neighbours move to the same instance.

use std::collections::BTreeMap;

use sharding::{InstanceId, ShardingItem};

/// Pending items with their next owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pending {
    /// Ranges by their first item. Adjacent ranges have different next owners, so that equal
    /// contents have one form and compare as equal.
    ranges: BTreeMap<u32, PendingRange>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PendingRange {
    last: u32,
    next: InstanceId,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.iter().map(|(first, range)| (*first..=range.last).count()).sum()
    }

    /// Returns the next owner of an item, if the item is pending.
    pub(crate) fn get(&self, item: ShardingItem) -> Option<&InstanceId> {
        self.range_of(item.index()).map(|(_, range)| &range.next)
    }

    pub fn has(&self, item: ShardingItem) -> bool {
        self.get(item).is_some()
    }

    /// Returns all items in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (ShardingItem, &InstanceId)> {
        self.ranges.iter().flat_map(|(first, range)| {
            (*first..=range.last).map(|item| (ShardingItem::new(item), &range.next))
        })
    }

    /// Returns the pending items of a next owner, in ascending order.
    pub(crate) fn going_to(&self, next: &InstanceId) -> impl Iterator<Item = ShardingItem> {
        let ranges = self.ranges.iter().filter(move |(_, range)| range.next == *next);
        ranges.flat_map(|(first, range)| *first..=range.last).map(ShardingItem::new)
    }

    /// Returns the first item, the last item and the next owner of each range, in ascending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (ShardingItem, ShardingItem, &InstanceId)> {
        let item = ShardingItem::new;
        self.ranges.iter().map(move |(first, range)| (item(*first), item(range.last), &range.next))
    }

    /// Returns the next owners. An instance can occur more than once.
    pub(crate) fn next_owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.ranges.values().map(|range| &range.next)
    }

    /// Sets the next owner of an item.
    pub(crate) fn insert(&mut self, item: ShardingItem, next: &InstanceId) {
        if self.get(item) != Some(next) {
            self.remove(item);
            self.insert_range(item.index(), item.index(), next);
        }
    }

    /// Sets the next owner of a range.
    ///
    /// If an item of the range is pending already, nothing changes. The error is then the first
    /// such item with its next owner.
    pub(crate) fn try_insert_range(
        &mut self,
        first: u32,
        last: u32,
        next: &InstanceId,
    ) -> Result<(), (u32, InstanceId)> {
        if let Some((_, range)) = self.range_of(first) {
            return Err((first, range.next.clone()));
        }
        if let Some((item, range)) = self.ranges.range(first..=last).next() {
            return Err((*item, range.next.clone()));
        }
        self.insert_range(first, last, next);
        Ok(())
    }

    /// Removes an item, which splits its range.
    pub(crate) fn remove(&mut self, item: ShardingItem) {
        let index = item.index();
        let Some((first, range)) = self.range_of(index) else { return };
        let split = range.clone();
        self.ranges.remove(&first);
        if first < index {
            self.ranges.insert(first, PendingRange { last: index - 1, ..split.clone() });
        }
        if index < split.last {
            self.ranges.insert(index + 1, split);
        }
    }

    fn range_of(&self, item: u32) -> Option<(u32, &PendingRange)> {
        let (first, range) = self.ranges.range(..=item).next_back()?;
        (item <= range.last).then_some((*first, range))
    }

    /// Inserts a range that overlaps no other, and merges it with adjacent ranges of the same next
    /// owner.
    fn insert_range(&mut self, first: u32, last: u32, next: &InstanceId) {
        // Merging keeps the form canonical: equal contents are equal maps.
        let before = first.checked_sub(1).and_then(|item| self.range_to(item, next));
        let after = last.checked_add(1).and_then(|item| self.range_to(item, next));
        if let Some((adjacent, _)) = after {
            self.ranges.remove(&adjacent);
        }
        let merged_first = before.map_or(first, |(first, _)| first);
        let merged_last = after.map_or(last, |(_, last)| last);
        self.ranges.insert(merged_first, PendingRange { last: merged_last, next: next.clone() });
    }

    /// Returns the first and the last item of the range that contains `item`, if `next` is its next
    /// owner.
    fn range_to(&self, item: u32, next: &InstanceId) -> Option<(u32, u32)> {
        let (first, range) = self.range_of(item)?;
        (range.next == *next).then_some((first, range.last))
    }
}

impl FromIterator<(ShardingItem, InstanceId)> for Pending {
    fn from_iter<T: IntoIterator<Item = (ShardingItem, InstanceId)>>(items: T) -> Self {
        let mut pending = Self::default();
        items.into_iter().for_each(|(item, next)| pending.insert(item, &next));
        pending
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn instance(n: u8) -> InstanceId {
        InstanceId::new(format!("instance-{n}"))
    }

    proptest! {
        #[test]
        fn ranges_behave_like_a_map_of_items(changes in vec((0..8_u32, 0..3_u8), 0..60)) {
            let (mut pending, mut plain) = (Pending::default(), BTreeMap::new());
            for (item, next) in changes {
                let item = ShardingItem::new(item);
                match next {
                    0 => {
                        pending.remove(item);
                        plain.remove(&item);
                    }
                    n => {
                        pending.insert(item, &instance(n));
                        plain.insert(item, instance(n));
                    }
                }
                let all: Vec<_> = pending.iter().map(|(item, next)| (item, next.clone())).collect();
                prop_assert!(all.iter().map(|(item, next)| (item, next)).eq(&plain));
                prop_assert_eq!(pending.len(), plain.len());
                prop_assert_eq!(pending.is_empty(), plain.is_empty());
                prop_assert_eq!(pending.get(item), plain.get(&item));
                let going = plain.iter().filter(|(_, next)| **next == instance(1));
                prop_assert!(pending.going_to(&instance(1)).eq(going.map(|(item, _)| *item)));
                let again = Pending::from_iter(all.into_iter().rev());
                prop_assert_eq!(&again, &pending, "equal contents have one form");
            }
        }

        #[test]
        fn a_range_is_inserted_only_if_none_of_its_items_is_pending(
            ranges in vec((0..8_u32, 0..4_u32, 0..2_u8), 0..8),
        ) {
            let (mut pending, mut plain) = (Pending::default(), BTreeMap::new());
            for (first, more, n) in ranges {
                let items = (first..=first + more).map(ShardingItem::new);
                let known = items.clone().find_map(|i| Some((i.index(), plain.get(&i).cloned()?)));
                let outcome = pending.try_insert_range(first, first + more, &instance(n));
                prop_assert_eq!(outcome.err(), known.clone());
                if known.is_none() {
                    plain.extend(items.map(|item| (item, instance(n))));
                }
                prop_assert!(pending.iter().eq(plain.iter().map(|(item, next)| (*item, next))));
                prop_assert_eq!(&Pending::from_iter(plain.clone()), &pending);
            }
        }
    }
}
