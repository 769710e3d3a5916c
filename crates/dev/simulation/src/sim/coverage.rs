//! Coverage of runs. A run whose faults hit nothing proves nothing.

use std::collections::BTreeMap;

/// Counts by name: kinds of acts that were performed, and events of the product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Number of runs of items.
    pub runs: u64,
    /// Number of fires on all nodes.
    pub fires: u64,
    /// Number of events that coordinators handled.
    pub events: u64,
    /// Number of faults and operator actions that were performed.
    pub faults: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Returns true if the run proves anything: a fault hit, and an item ran.
    #[must_use]
    pub fn is_meaningful(&self) -> bool {
        self.faults > 0 && self.runs > 0
    }

    /// Increments a count.
    pub fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// Returns a count.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Returns all counts by name.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(name, count)| (*name, *count))
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.fires += other.fires;
        self.events += other.events;
        self.faults += other.faults;
        for (name, count) in other.rows() {
            *self.counts.entry(name).or_default() += count;
        }
    }
}
