//! Slots: places for runs of an item at the same time.

use std::fmt;

use sharding::ShardingItem;

use super::job_config::MAX_SHARDING_TOTAL_COUNT;

/// Maximum number of slots of an item.
pub const MAX_SLOTS: u32 = 16;

/// Distance between the keys of two slots of an item. It is fixed: if it depended on the number of
/// items, a change of that number would give a run to another item.
const STRIDE: u32 = 1 << 24;

/// A place for one run of an item at a time.
///
/// An item has one slot, with the number 0. In a job with `overlap = parallel n` it has up to n.
/// Slot 0 has the record of the item, with its fires. Each other slot has a record of its own, with
/// its run and its fencing tokens alone.
///
/// # Examples
/// ```
/// use coordination::Slot;
/// use sharding::ShardingItem;
///
/// let slot = Slot { item: ShardingItem::new(3), number: 1 };
/// assert_eq!(slot.to_string(), "3.1");
/// assert_eq!(Slot::of(slot.key()), slot);
/// assert_eq!(Slot::of(ShardingItem::new(3)).to_string(), "3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The item.
    pub item: ShardingItem,
    /// Number of the slot, less than [`MAX_SLOTS`].
    pub number: u32,
}

impl Slot {
    /// Returns a slot of an item. `None` if no item has this number, or no slot has it.
    #[must_use]
    pub fn new(item: ShardingItem, number: u32) -> Option<Self> {
        (item.index() < STRIDE && number < MAX_SLOTS).then_some(Self { item, number })
    }

    /// Returns the key of the slot: the item itself for slot 0, otherwise a number beyond the items
    /// of any job. Plans, views and runs identify slots by it.
    #[must_use]
    pub const fn key(self) -> ShardingItem {
        ShardingItem::new(self.item.index() + self.number * STRIDE)
    }

    /// Returns the slot with this key.
    #[must_use]
    pub const fn of(key: ShardingItem) -> Self {
        let index = key.index();
        Self { item: ShardingItem::new(index % STRIDE), number: index / STRIDE }
    }

    /// Returns true for a slot other than the first one of its item.
    pub(crate) const fn is_further(key: ShardingItem) -> bool {
        key.index() >= STRIDE
    }

    /// Parses the name of a slot in its only form: decimal numbers without a sign or leading zeros.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (item, number) = text.split_once('.').map_or((text, None), |(item, n)| (item, Some(n)));
        let number = match number {
            None => 0,
            Some(text) => number_of(text).filter(|number| *number > 0)?,
        };
        Self::new(ShardingItem::new(number_of(item)?), number)
    }
}

impl fmt::Display for Slot {
    /// Writes the name of the slot in the paths of its nodes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 => write!(f, "{}", self.item),
            number => write!(f, "{}.{number}", self.item),
        }
    }
}

/// Parses a number in its only form: decimal, without a sign or leading zeros.
pub(crate) fn number_of(text: &str) -> Option<u32> {
    let plain = text == "0" || !text.starts_with(['0', '+']);
    if plain { text.parse().ok() } else { None }
}

const _: () = assert!(MAX_SHARDING_TOTAL_COUNT <= STRIDE, "keys of slots are beyond all items");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_slots_have_one_form() {
        for text in ["0", "7", "99999", "0.1", "7.15", "16777215.1"] {
            assert_eq!(Slot::parse(text).map(|slot| slot.to_string()).as_deref(), Some(text));
        }
        for text in ["", "x", "01", "+1", "1.", "1.0", "1.01", "1.16", ".1", "1.1.1", "16777216"] {
            assert_eq!(Slot::parse(text), None, "{text}");
        }
    }

    #[test]
    fn keys_of_slots_differ() {
        let last = ShardingItem::new(MAX_SHARDING_TOTAL_COUNT - 1);
        let slots = [ShardingItem::new(0), last]
            .into_iter()
            .flat_map(|item| (0..MAX_SLOTS).map(move |number| Slot { item, number }));
        let keys: std::collections::BTreeSet<_> = slots.clone().map(Slot::key).collect();
        assert_eq!(keys.len(), slots.clone().count());
        assert!(slots.clone().all(|slot| Slot::of(slot.key()) == slot));
        assert!(slots.into_iter().all(|slot| Slot::is_further(slot.key()) == (slot.number > 0)));
    }
}
