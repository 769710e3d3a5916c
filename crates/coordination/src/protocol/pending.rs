//! Items that have yet to move, kept by neighbours that go to the same instance: most of the time these are many.

use std::collections::BTreeMap;

use sharding::{InstanceId, ShardingItem};

/// Items that have yet to move, with their next owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pending {
    /// By the first item of each range. Two that follow one another without a gap go to different instances, so that equal
    /// contents are equal.
    ranges: BTreeMap<u32, Neighbours>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Neighbours {
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

    /// Returns the next owner of an item, if it has yet to move.
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

    /// Returns the items that go to an instance, in ascending order.
    pub(crate) fn going_to(&self, next: &InstanceId) -> impl Iterator<Item = ShardingItem> {
        let ranges = self.ranges.iter().filter(move |(_, range)| range.next == *next);
        ranges.flat_map(|(first, range)| *first..=range.last).map(ShardingItem::new)
    }

    /// Returns the first and the last items of all ranges with their next owners, in ascending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (ShardingItem, ShardingItem, &InstanceId)> {
        let item = ShardingItem::new;
        self.ranges.iter().map(move |(first, range)| (item(*first), item(range.last), &range.next))
    }

    /// Returns the next owners, some of them more than once.
    pub(crate) fn next_owners(&self) -> impl Iterator<Item = &InstanceId> {
        self.ranges.values().map(|range| &range.next)
    }

    /// Notes where an item goes, instead of what was noted before.
    pub(crate) fn insert(&mut self, item: ShardingItem, next: &InstanceId) {
        if self.get(item) != Some(next) {
            self.remove(item);
            self.insert_range(item.index(), item.index(), next);
        }
    }

    /// Notes where the items of a range go, of which nothing is noted; otherwise returns the first that goes elsewhere, with its
    /// next owner, and notes nothing.
    pub(crate) fn try_insert_range(
        &mut self,
        first: u32,
        last: u32,
        next: &InstanceId,
    ) -> Result<(), (u32, InstanceId)> {
        let noted = self.range_of(first).map(|(_, range)| (first, range));
        let noted = noted.or_else(|| self.ranges.range(first..=last).next().map(|(i, r)| (*i, r)));
        match noted {
            Some((item, range)) => Err((item, range.next.clone())),
            None => {
                self.insert_range(first, last, next);
                Ok(())
            }
        }
    }

    /// Forgets an item.
    pub(crate) fn remove(&mut self, item: ShardingItem) {
        let item = item.index();
        let Some((first, Neighbours { last, next })) = self.range_of(item) else { return };
        let (last, next) = (*last, next.clone());
        self.ranges.remove(&first);
        if first < item {
            self.ranges.insert(first, Neighbours { last: item - 1, next: next.clone() });
        }
        if item < last {
            self.ranges.insert(item + 1, Neighbours { last, next });
        }
    }

    fn range_of(&self, item: u32) -> Option<(u32, &Neighbours)> {
        let (first, range) = self.ranges.range(..=item).next_back()?;
        (item <= range.last).then_some((*first, range))
    }

    /// Notes a range that overlaps no other, together with what is beside it and goes to the same instance.
    fn insert_range(&mut self, first: u32, last: u32, next: &InstanceId) {
        let before = first.checked_sub(1).and_then(|item| self.range_of(item));
        let before = before.filter(|(_, range)| range.next == *next).map(|(first, _)| first);
        let after = last.checked_add(1).and_then(|item| self.range_of(item));
        let after = after.filter(|(_, range)| range.next == *next);
        let last = after.map_or(last, |(_, range)| range.last);
        if let Some(after) = after.map(|(first, _)| first) {
            self.ranges.remove(&after);
        }
        self.ranges.insert(before.unwrap_or(first), Neighbours { last, next: next.clone() });
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
        fn it_is_a_map_of_items_kept_by_ranges(acts in vec((0..8_u32, 0..3_u8), 0..60)) {
            let (mut pending, mut plain) = (Pending::default(), BTreeMap::new());
            for (item, next) in acts {
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
                prop_assert_eq!((pending.len(), pending.is_empty()), (plain.len(), plain.is_empty()));
                prop_assert_eq!(pending.get(item), plain.get(&item));
                let going = plain.iter().filter(|(_, next)| **next == instance(1));
                prop_assert!(pending.going_to(&instance(1)).eq(going.map(|(item, _)| *item)));
                prop_assert_eq!(&Pending::from_iter(all.into_iter().rev()), &pending, "its only form");
            }
        }

        #[test]
        fn a_range_goes_where_nothing_is_noted(ranges in vec((0..8_u32, 0..4_u32, 0..2_u8), 0..8)) {
            let (mut pending, mut plain) = (Pending::default(), BTreeMap::new());
            for (first, more, n) in ranges {
                let items = (first..=first + more).map(ShardingItem::new);
                let noted = items.clone().find_map(|i| Some((i.index(), plain.get(&i).cloned()?)));
                let outcome = pending.try_insert_range(first, first + more, &instance(n));
                prop_assert_eq!(outcome.err(), noted.clone());
                if noted.is_none() {
                    plain.extend(items.map(|item| (item, instance(n))));
                }
                prop_assert!(pending.iter().eq(plain.iter().map(|(item, next)| (*item, next))));
                prop_assert_eq!(&Pending::from_iter(plain.clone()), &pending);
            }
        }
    }
}
