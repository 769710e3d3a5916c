//! A store that refuses the effects of runs that were overtaken.

use std::sync::Arc;

use lite::ShardingContext;

use crate::system::process::run_id;
use crate::system::resource::FencedResource;

/// A store outside of every process that keeps the greatest fencing token of each item, as yours should.
///
/// Every write is part of the history, and the verdict says whether a run that was overtaken got one through.
#[derive(Clone, Debug)]
pub struct FencedStore {
    pub(super) resource: Arc<FencedResource>,
}

/// A later run of the item has shown its token: this one must not do anything any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a later run of the item has been here")]
pub struct Overtaken;

impl FencedStore {
    /// Announces a run. Do this first, before anything is read that the run is going to change.
    ///
    /// # Errors
    /// [`Overtaken`] if a later run was here before.
    pub fn announce(&self, run: &ShardingContext) -> Result<(), Overtaken> {
        if self.resource.begin(&run_id(run)) { Ok(()) } else { Err(Overtaken) }
    }

    /// Writes the effect of a run.
    ///
    /// # Errors
    /// [`Overtaken`] if a later run was here before; nothing was written then.
    pub fn write(&self, run: &ShardingContext) -> Result<(), Overtaken> {
        if self.resource.effect(&run_id(run)) { Ok(()) } else { Err(Overtaken) }
    }
}
