//! Progress of dataflows by item.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lite::ShardingItem;

/// Progress of the last run of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Fencing token of the run.
    pub token: u64,
    /// Number of fetches, including a last one without records.
    pub n_fetches: u64,
    /// Number of fetched records.
    pub n_fetched: u64,
    /// Number of records in processed batches.
    pub n_processed: u64,
    /// Number of records in failed batches.
    pub n_failed: u64,
    /// True after the end of the run.
    pub is_over: bool,
}

/// Progress of all items that have run on this instance. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct ProgressBoard(Arc<Mutex<BTreeMap<ShardingItem, Progress>>>);

impl ProgressBoard {
    /// Returns the progress of the last run of an item; `None` if it has not run on this instance.
    #[must_use]
    pub fn of(&self, item: ShardingItem) -> Option<Progress> {
        self.lock().get(&item).copied()
    }

    /// Returns the progress of all items that have run on this instance, in ascending order.
    #[must_use]
    pub fn all(&self) -> Vec<(ShardingItem, Progress)> {
        self.lock().iter().map(|(item, progress)| (*item, *progress)).collect()
    }

    pub(super) fn begin(&self, item: ShardingItem, token: u64) {
        self.lock().insert(item, Progress { token, ..Progress::default() });
    }

    /// Updates the progress of a run, unless a later run of the item has replaced it.
    pub(super) fn update(
        &self,
        item: ShardingItem,
        token: u64,
        update: impl FnOnce(&mut Progress),
    ) {
        let mut all = self.lock();
        all.get_mut(&item).filter(|progress| progress.token == token).map(update);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ShardingItem, Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
