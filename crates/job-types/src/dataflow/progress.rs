//! How far dataflows have come, item by item.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lite::ShardingItem;

/// How far the last run of an item has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The fencing token of the run.
    pub token: u64,
    /// How often records were fetched, the last time without any included.
    pub n_fetches: u64,
    /// How many records were fetched.
    pub n_fetched: u64,
    /// How many records are in batches that were processed.
    pub n_processed: u64,
    /// How many records are in batches that failed.
    pub n_failed: u64,
    /// Whether the run has ended.
    pub is_over: bool,
}

/// The progress of all items that have run here, shared by all who have a clone.
#[derive(Clone, Debug, Default)]
pub struct ProgressBoard(Arc<Mutex<BTreeMap<ShardingItem, Progress>>>);

impl ProgressBoard {
    /// Returns how far the last run of an item has come; `None` if it has not run here.
    #[must_use]
    pub fn of(&self, item: ShardingItem) -> Option<Progress> {
        self.lock().get(&item).copied()
    }

    /// Returns the progress of all items that have run here, in ascending order.
    #[must_use]
    pub fn all(&self) -> Vec<(ShardingItem, Progress)> {
        self.lock().iter().map(|(item, progress)| (*item, *progress)).collect()
    }

    pub(super) fn begin(&self, item: ShardingItem, token: u64) {
        self.lock().insert(item, Progress { token, ..Progress::default() });
    }

    /// A run that was overtaken has no say any more.
    pub(super) fn note(&self, item: ShardingItem, token: u64, note: impl FnOnce(&mut Progress)) {
        let mut all = self.lock();
        all.get_mut(&item).filter(|progress| progress.token == token).map(note);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ShardingItem, Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
