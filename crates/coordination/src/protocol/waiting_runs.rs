//! Runs that a process has claimed and that wait for a place among all of its runs.

use sharding::ShardingItem;

/// Maximum number of items that a record names.
const MAX_NAMED_ITEMS: usize = 100;

/// Claimed runs of a job that wait for a place in their process, which limits its runs of all jobs.
///
/// An instance stores it for operators while runs wait. No instance decides by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct WaitingRuns {
    /// Runs of all jobs that the process executes at once.
    pub limit: u32,
    /// Start of the longest of these waits by the clock of the process, in milliseconds since 1970
    /// UTC.
    pub since_ms: i64,
    /// Number of waiting runs.
    pub count: u32,
    /// Their items, ascending; the first 100 of them.
    pub items: Vec<ShardingItem>,
}

impl WaitingRuns {
    /// Returns the record of these items; `None` if no item waits.
    #[must_use]
    pub fn of_items(limit: u32, since_ms: i64, mut items: Vec<ShardingItem>) -> Option<Self> {
        if items.is_empty() {
            return None;
        }
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        items.sort_unstable();
        items.truncate(MAX_NAMED_ITEMS);
        Some(Self { limit, since_ms, count, items })
    }

    /// Returns true if the run of the item waits, as far as the record names items.
    #[must_use]
    pub fn has(&self, item: ShardingItem) -> bool {
        self.items.binary_search(&item).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_names_the_first_hundred_items_and_counts_all() {
        let items: Vec<_> = (0..150).rev().map(ShardingItem::new).collect();
        let waiting = WaitingRuns::of_items(4, 1_000, items).unwrap();
        assert_eq!((waiting.count, waiting.items.len()), (150, 100));
        assert!(waiting.has(ShardingItem::new(99)) && !waiting.has(ShardingItem::new(100)));
        assert_eq!(WaitingRuns::of_items(4, 1_000, Vec::new()), None);
    }
}
