//! Slots: places for runs of an item at the same time.

use std::fmt;

use crate::history::RunId;

/// Maximum number of slots of an item.
pub(crate) const MAX_SLOTS: u32 = 16;

/// A place for one run of an item at a time.
///
/// Slot 0 is the item itself: its record has the fires of the item. In a job with parallel runs an
/// item has further slots, each with a record of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    pub(crate) item: u32,
    pub(crate) number: u32,
}

impl Slot {
    pub(crate) const fn first(item: u32) -> Self {
        Self { item, number: 0 }
    }

    /// Returns the slot of a run.
    pub(crate) const fn of(run: &RunId) -> Self {
        Self { item: run.item, number: run.slot }
    }

    pub(crate) const fn is_first(self) -> bool {
        self.number == 0
    }

    /// Parses the name of a slot in the paths of its nodes, such as `3` or `3.1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Some((item, further)) = text.split_once('.') else {
            return Some(Self::first(number(text)?));
        };
        let further = number(further).filter(|further| (1..MAX_SLOTS).contains(further))?;
        Some(Self { item: number(item)?, number: further })
    }
}

/// Parses a number in decimal, without sign and leading zeros.
pub(crate) fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_slots_have_one_form() {
        for text in ["0", "7", "4294967295", "0.1", "7.15"] {
            assert_eq!(Slot::parse(text).map(|slot| slot.to_string()).as_deref(), Some(text));
        }
        for text in ["", "x", "01", "+1", "1.", "1.0", "1.01", "1.16", ".1", "1.1.1", "1.+1"] {
            assert_eq!(Slot::parse(text), None, "{text}");
        }
    }
}
