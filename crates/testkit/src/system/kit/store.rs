//! A store that rejects the effects of overtaken runs.

use std::sync::Arc;

use lite::ShardingContext;

use crate::system::process::run_id;
use crate::system::resource::FencedResource;

/// External store that keeps the greatest fencing token of each slot of an item, as your own store
/// should.
///
/// The history contains every write, and the verdict reports an accepted write of an overtaken run.
#[derive(Clone, Debug)]
pub struct FencedStore {
    pub(super) resource: Arc<FencedResource>,
}

/// Error: a later run of the item has used the store, so this run must have no further effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a later run of this item has used the store")]
pub struct Overtaken;

impl FencedStore {
    /// Announces a run. Call this first, before the run reads anything that it is going to change.
    ///
    /// # Errors
    /// [`Overtaken`] if a later run of the item has used the store.
    pub fn announce(&self, run: &ShardingContext) -> Result<(), Overtaken> {
        if self.resource.begin(&run_id(run)) { Ok(()) } else { Err(Overtaken) }
    }

    /// Writes the effect of a run.
    ///
    /// # Errors
    /// [`Overtaken`] if a later run of the item has used the store; then nothing was written.
    pub fn write(&self, run: &ShardingContext) -> Result<(), Overtaken> {
        if self.resource.effect(&run_id(run)) { Ok(()) } else { Err(Overtaken) }
    }
}
