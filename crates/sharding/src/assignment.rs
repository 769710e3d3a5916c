//! Assignments, and the difference between two of them.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use crate::{InstanceId, ShardingItem};

/// The owner of every item of a job; an item can be without owner.
///
/// Takes four bytes per item; each instance is stored once. Two assignments are equal if they have
/// the same total count and the same owner for each item.
///
/// # Examples
///
/// ```
/// use sharding::{Assignment, InstanceId, ShardingItem};
///
/// let (a, b) = (InstanceId::new("a"), InstanceId::new("b"));
/// let assignment = Assignment::from_owners([Some(a.clone()), Some(b), Some(a.clone()), None]);
///
/// assert_eq!(assignment.total_count(), 4);
/// assert_eq!(assignment.owner(ShardingItem::new(2)), Some(&a));
/// assert_eq!(assignment.items_of(&a), [ShardingItem::new(0), ShardingItem::new(2)]);
/// assert!(!assignment.is_total());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Every instance that owns an item, once, in the order of the lowest item it owns. The order
    /// makes the representation unique, so that equality can be derived.
    owners: Vec<InstanceId>,
    /// The owner of each item, by index.
    owner_of: Vec<Option<OwnerIndex>>,
}

impl Assignment {
    /// Returns an assignment of `total` items without owners.
    #[must_use]
    pub fn unassigned(total: u32) -> Self {
        Self { owners: Vec::new(), owner_of: vec![None; total as usize] }
    }

    /// Returns an assignment from the owner of item 0, of item 1, and so on.
    ///
    /// # Panics
    ///
    /// Panics if there are more than [`u32::MAX`] items.
    pub fn from_owners(owners: impl IntoIterator<Item = Option<InstanceId>>) -> Self {
        let mut table = OwnerTable::default();
        let owner_of = owners.into_iter().map(|owner| owner.map(|id| table.intern(&id))).collect();
        Self::new(table, owner_of)
    }

    /// Returns an assignment from the position of each item's owner in `instances`.
    ///
    /// Compares the text of each instance once, not once per item.
    pub(crate) fn from_positions(
        instances: &[&InstanceId],
        positions: impl Iterator<Item = Option<u32>>,
    ) -> Self {
        let mut table = OwnerTable::default();
        let mut interned = vec![None; instances.len()];
        let mut index_at = |position: u32| {
            let position = position as usize;
            *interned[position].get_or_insert_with(|| table.intern(instances[position]))
        };
        let owner_of = positions.map(|position| position.map(&mut index_at)).collect();
        Self::new(table, owner_of)
    }

    fn new(table: OwnerTable, owner_of: Vec<Option<OwnerIndex>>) -> Self {
        assert!(u32::try_from(owner_of.len()).is_ok(), "items are numbered by u32");
        Self { owners: table.owners, owner_of }
    }

    /// Returns the number of items, owned or not.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the constructors have checked the number")]
    pub fn total_count(&self) -> u32 {
        u32::try_from(self.owner_of.len()).expect("checked when the assignment was made")
    }

    /// Returns the owner of an item, or `None` if it has none or lies beyond the total count.
    #[must_use]
    pub fn owner(&self, item: ShardingItem) -> Option<&InstanceId> {
        let index = *self.owner_of.get(item.index() as usize)?;
        index.map(|index| self.owner_at(index))
    }

    /// Returns the items of an instance, ascending; empty if it owns none.
    ///
    /// Visits every item, so call it once per instance, not once per item.
    #[must_use]
    pub fn items_of(&self, instance: &InstanceId) -> Vec<ShardingItem> {
        let Some(position) = self.owners.iter().position(|owner| owner == instance) else {
            return Vec::new();
        };
        let wanted = Some(OwnerIndex::new(position));
        items().zip(&self.owner_of).filter(|&(_, &owner)| owner == wanted).map(|(i, _)| i).collect()
    }

    /// Returns every instance that owns at least one item, in the order of its lowest item.
    #[must_use]
    pub fn owners(&self) -> &[InstanceId] {
        &self.owners
    }

    /// Returns every item, ascending, with its owner.
    pub fn iter(&self) -> impl Iterator<Item = (ShardingItem, Option<&InstanceId>)> {
        items().zip(self.owner_of.iter().map(|index| index.map(|index| self.owner_at(index))))
    }

    /// Returns true if every item has an owner; also true if there are no items.
    #[must_use]
    pub fn is_total(&self) -> bool {
        self.owner_of.iter().all(Option::is_some)
    }

    /// Returns the items whose owner differs from that in `previous`, ascending.
    ///
    /// An item that only one of the two has is without owner in the other. An owned item that was
    /// added or removed is thus among the moves.
    ///
    /// # Examples
    ///
    /// ```
    /// use sharding::{Assignment, InstanceId};
    ///
    /// let owners = |ids: &[&str]| Assignment::from_owners(ids.iter().map(|&id| Some(id.into())));
    /// let moves = owners(&["a", "b", "b"]).moves_from(&owners(&["a", "a"]));
    ///
    /// let texts: Vec<_> = moves.iter().map(ToString::to_string).collect();
    /// assert_eq!(texts, ["item 1: a -> b", "item 2: none -> b"]);
    /// ```
    #[must_use]
    pub fn moves_from(&self, previous: &Assignment) -> Vec<Move> {
        let total = self.total_count().max(previous.total_count());
        items()
            .take(total as usize)
            .map(|item| (item, previous.owner(item), self.owner(item)))
            .filter(|(_, from, to)| from != to)
            .map(|(item, from, to)| Move { item, from: from.cloned(), to: to.cloned() })
            .collect()
    }

    /// Returns the position of each item's owner in [`owners`](Self::owners).
    pub(crate) fn owner_positions(&self) -> impl Iterator<Item = Option<usize>> {
        self.owner_of.iter().map(|index| index.map(OwnerIndex::position))
    }

    fn owner_at(&self, index: OwnerIndex) -> &InstanceId {
        &self.owners[index.position()]
    }
}

/// Shows the owner of each item, as a map.
impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries =
            self.iter().map(|(item, owner)| (item.index(), owner.map(InstanceId::as_str)));
        f.debug_map().entries(entries).finish()
    }
}

/// An item whose owner changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The item.
    pub item: ShardingItem,
    /// The former owner, or `None` if there was none.
    pub from: Option<InstanceId>,
    /// The new owner, or `None` if there is none.
    pub to: Option<InstanceId>,
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |owner: &Option<InstanceId>| owner.clone().unwrap_or_else(|| "none".into());
        write!(f, "item {}: {} -> {}", self.item, name(&self.from), name(&self.to))
    }
}

fn items() -> impl Iterator<Item = ShardingItem> {
    (0..=u32::MAX).map(ShardingItem::new)
}

/// A position in the list of owners. It is stored plus one, so that an `Option` of it takes four
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OwnerIndex(NonZeroU32);

impl OwnerIndex {
    fn new(position: usize) -> Self {
        let index = u32::try_from(position + 1).ok().and_then(NonZeroU32::new);
        Self(
            index.expect(
                "there are at most as many owners as items, so the index fits into 32 bits",
            ),
        )
    }

    fn position(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The owners found so far, each with its index.
#[derive(Default)]
struct OwnerTable {
    owners: Vec<InstanceId>,
    index_of: BTreeMap<InstanceId, OwnerIndex>,
}

impl OwnerTable {
    fn intern(&mut self, owner: &InstanceId) -> OwnerIndex {
        if let Some(&index) = self.index_of.get(owner) {
            return index;
        }
        let index = OwnerIndex::new(self.owners.len());
        self.owners.push(owner.clone());
        self.index_of.insert(owner.clone(), index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an assignment from one letter per item; `-` is an item without owner.
    fn assignment(owners: &str) -> Assignment {
        Assignment::from_owners(
            owners.chars().map(|c| (c != '-').then(|| InstanceId::new(c.to_string()))),
        )
    }

    #[test]
    fn an_assignment_returns_owners_and_items() {
        let cases = [
            ("no items", "", "a", vec![], true),
            ("no owner", "--", "a", vec![], false),
            ("one owner", "aaa", "a", vec![0, 1, 2], true),
            ("interleaved", "abab", "b", vec![1, 3], true),
            ("a gap", "ab-b", "b", vec![1, 3], false),
            ("an instance without items", "abab", "c", vec![], true),
        ];
        for (case, owners, instance, items, total) in cases {
            let assigned = assignment(owners);
            let instance = InstanceId::from(instance);
            let items: Vec<_> = items.into_iter().map(ShardingItem::new).collect();
            assert_eq!(assigned.items_of(&instance), items, "{case}");
            assert_eq!(assigned.is_total(), total, "{case}");
            assert_eq!(assigned.total_count() as usize, owners.len(), "{case}");
            for (item, owner) in assigned.iter() {
                assert_eq!(owner, assigned.owner(item), "{case}, item {item}");
                assert_eq!(owner == Some(&instance), items.contains(&item), "{case}, item {item}");
            }
            assert_eq!(assigned.owner(ShardingItem::new(assigned.total_count())), None, "{case}");
        }
    }

    #[test]
    fn moves_are_the_items_whose_owner_differs() {
        let cases: [(&str, &str, &str, &[&str]); 7] = [
            ("no items", "", "", &[]),
            ("no change", "ab-", "ab-", &[]),
            ("another owner", "ab", "bb", &["item 0: a -> b"]),
            ("assigned", "-", "a", &["item 0: none -> a"]),
            ("unassigned", "a", "-", &["item 0: a -> none"]),
            ("fewer items", "ab", "a", &["item 1: b -> none"]),
            ("more items, one of them owned", "a", "a-b", &["item 2: none -> b"]),
        ];
        for (case, before, after, expected) in cases {
            let moves = assignment(after).moves_from(&assignment(before));
            assert_eq!(moves.iter().map(Move::to_string).collect::<Vec<_>>(), expected, "{case}");
        }
    }

    #[test]
    fn equality_depends_on_owners_not_on_the_order_of_instances() {
        let (a, b) = (InstanceId::from("a"), InstanceId::from("b"));
        let by_position = |instances: &[&InstanceId], positions: [u32; 3]| {
            Assignment::from_positions(instances, positions.into_iter().map(Some))
        };
        assert_eq!(by_position(&[&a, &b], [1, 0, 1]), assignment("bab"));
        assert_eq!(by_position(&[&b, &a], [0, 1, 0]), assignment("bab"));
        assert_eq!(
            by_position(&[&b, &a, &b], [0, 1, 2]),
            assignment("bab"),
            "a duplicate is one owner"
        );
        assert_ne!(assignment("bab"), assignment("aba"));
        assert_ne!(assignment("a"), assignment("a-"));
        assert_eq!(assignment("-ba").owners(), [b, a]);
        assert_eq!(Assignment::unassigned(2), assignment("--"));
    }

    #[test]
    fn debug_shows_a_map() {
        assert_eq!(format!("{:?}", assignment("a-")), r#"{0: Some("a"), 1: None}"#);
    }

    #[test]
    fn an_item_takes_four_bytes() {
        assert_eq!(size_of::<Option<OwnerIndex>>(), 4);
    }
}
