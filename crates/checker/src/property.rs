//! The promises that histories are judged by, under the ids that the guarantees and tests use.

use std::fmt;

use serde::{Serialize, Serializer};

/// A promise: `S` ones hold in every run whatever the faults, `L` ones once faults have healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "Property::promise says in words what each id stands for")]
pub enum Property {
    S1,
    S1a,
    S1b,
    S1c,
    S2,
    S3,
    S4,
    S5,
    S6,
    S7,
    S8,
    S9,
    S10,
    S11,
    S12,
    S13,
    L0,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
}

/// Each property with its id and what it promises.
const TABLE: [(Property, &str, &str); 24] = [
    (Property::S1, "S1", "claims of an item are ordered by token; nobody takes a running item"),
    (Property::S1a, "S1a", "a fire that was claimed is never claimed anew, and never run twice"),
    (Property::S1b, "S1b", "the resource accepts no effect of a superseded token"),
    (Property::S1c, "S1c", "at most one effect per job, item and fire, if the resource says so"),
    (Property::S2, "S2", "nobody claims what it does not own in this life, at this revision"),
    (Property::S3, "S3", "every fire of every item is accounted for exactly once"),
    (Property::S4, "S4", "an assignment is whole at every revision"),
    (Property::S5, "S5", "no item changes hands while it runs or waits to be taken over"),
    (Property::S6, "S6", "no failover while the session of the holder lives"),
    (Property::S7, "S7", "only the holder completes a run"),
    (Property::S8, "S8", "whoever writes as the leader leads, in a term of its own"),
    (Property::S9, "S9", "no request for resharding is lost"),
    (Property::S10, "S10", "nothing starts that is disabled or paused"),
    (Property::S11, "S11", "a run sees the one configuration that its claim checked"),
    (Property::S12, "S12", "a graceful leave leaves nothing to fail over"),
    (Property::S13, "S13", "callbacks that happen once per cluster do, and not too early"),
    (Property::L0, "L0", "without a cause nothing is missed or late"),
    (Property::L1, "L1", "every item belongs to a live and enabled instance"),
    (Property::L2, "L2", "every run that was left unfinished is taken over"),
    (Property::L3, "L3", "there is a leader"),
    (Property::L4, "L4", "what ended, was noted or was missed is recorded promptly"),
    (Property::L5, "L5", "a slow item delays no other item"),
    (Property::L6, "L6", "a graceful leave ends"),
    (Property::L7, "L7", "nothing stale stays in the registry"),
];

impl Property {
    /// All properties, in the order of their ids.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(property, ..)| *property)
    }

    /// Returns the id, e.g. `S1a`.
    #[must_use]
    pub fn id(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns what is promised, in words.
    #[must_use]
    pub fn promise(self) -> &'static str {
        TABLE[self as usize].2
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for Property {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        for (i, (property, id, _)) in TABLE.iter().enumerate() {
            assert_eq!((*property as usize, format!("{property:?}")), (i, (*id).to_owned()));
        }
    }
}
