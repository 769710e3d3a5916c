//! What has happened in runs: a run whose faults hit nothing proves nothing.

use std::collections::BTreeMap;

/// How often things happened, by name: the kinds of acts that were done, and what the product did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many runs of items began.
    pub runs: u64,
    /// How many fires came on all nodes.
    pub fires: u64,
    /// How many events coordinators were told.
    pub events: u64,
    /// How many faults and acts of operators were done.
    pub faults: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Coverage {
    /// Returns true if a run says anything: something was broken, and something ran.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.faults > 0 && self.runs > 0
    }

    /// Counts something once.
    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Returns how often something happened.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Returns everything that was counted, by name.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(what, count)| (*what, *count))
    }

    /// Adds what happened in another run.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.fires += other.fires;
        self.events += other.events;
        self.faults += other.faults;
        for (what, count) in other.rows() {
            *self.counts.entry(what).or_default() += count;
        }
    }
}
