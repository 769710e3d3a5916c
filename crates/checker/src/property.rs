//! Promises that histories are judged by, with the ids of the guarantees.

use std::fmt;

use serde::{Serialize, Serializer};

/// A promise. `S` promises hold in every run whatever the faults, `L` promises once all faults are
/// healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "Property::promise has the text of each id")]
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
    S15,
    S16,
    S17,
    S18,
    S19,
    S20,
    S21,
    S22,
    S23,
    S24,
    L0,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
}

/// Number of properties.
pub(crate) const N_PROPERTIES: usize = TABLE.len();

/// Each property with its id and its promise.
const TABLE: [(Property, &str, &str); 34] = [
    (Property::S1, "S1", "claims of an item are ordered by token; no claim replaces a running one"),
    (Property::S1a, "S1a", "a claimed fire is never claimed again, and never run twice"),
    (Property::S1b, "S1b", "the resource accepts no effect of a superseded token"),
    (Property::S1c, "S1c", "at most one effect per job, item and fire, if the resource says so"),
    (Property::S2, "S2", "an instance claims only items that it owns, in its present session"),
    (Property::S3, "S3", "every fire of every item is accounted for exactly once"),
    (Property::S4, "S4", "an assignment is complete at every revision"),
    (Property::S5, "S5", "no owner changes while the item runs or waits for a takeover"),
    (Property::S6, "S6", "no failover while the session of the holder lives"),
    (Property::S7, "S7", "only the holder completes a run, and it is counted once"),
    (Property::S8, "S8", "only the leader of the present term writes as leader"),
    (Property::S9, "S9", "no request for resharding is lost"),
    (Property::S10, "S10", "a disabled or paused item or server starts nothing"),
    (Property::S11, "S11", "a run sees the one configuration that its claim checked"),
    (Property::S12, "S12", "a graceful leave leaves no run to take over"),
    (Property::S13, "S13", "a once-per-cluster callback is called once, and not too early"),
    (
        Property::S15,
        "S15",
        "a run to be cancelled is not run again, and no other ends as cancelled",
    ),
    (Property::S16, "S16", "only the run that holds the item writes its progress"),
    (Property::S17, "S17", "no more runs at the same time than the limit of the job or process"),
    (Property::S18, "S18", "items are where the placement rules and shares put them"),
    (Property::S19, "S19", "each item gets each fire of a backfill once and in order"),
    (Property::S20, "S20", "no more runs begin in a period than the job's start rate"),
    (Property::S21, "S21", "a fire ends the run that it meets, in a job that says so alone"),
    (Property::S22, "S22", "queued fires run one by one, oldest first, within the job's bound"),
    (Property::S23, "S23", "no more runs, and no more starts in a period, than the group's limits"),
    (Property::S24, "S24", "an item has no more runs at the same time than its job allows it"),
    (Property::L0, "L0", "no fire is missed or late without a cause"),
    (Property::L1, "L1", "every item belongs to a live instance on an enabled server"),
    (Property::L2, "L2", "every orphaned run is taken over"),
    (Property::L3, "L3", "there is a leader"),
    (Property::L4, "L4", "ends of runs, misfires and misses are recorded promptly"),
    (Property::L5, "L5", "a slow item delays no other item"),
    (Property::L6, "L6", "a graceful leave ends"),
    (Property::L7, "L7", "no stale node stays in the registry"),
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

    /// Returns the text of the promise.
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
    fn table_is_in_the_order_of_the_variants() {
        for (i, (property, id, _)) in TABLE.iter().enumerate() {
            assert_eq!((*property as usize, format!("{property:?}")), (i, (*id).to_owned()));
        }
    }
}
