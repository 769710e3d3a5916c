//! An operator's request to run items now, as it waits in the registry.

use std::collections::BTreeSet;

use sharding::ShardingItem;

use crate::FireTime;

/// A request, from the moment at which somebody leaves it until all items have it.
///
/// It stays, without items, until whoever left it has seen that; so whoever does not know whether it arrived can look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TriggerRecord {
    /// Who left it: an instance, or anybody else by a name of their own.
    pub(crate) by: String,
    /// When, an odd number of milliseconds: it identifies the runs.
    pub(crate) at: FireTime,
    /// The items that have yet to get it; `None` for all.
    pub(crate) items: Option<BTreeSet<ShardingItem>>,
}

impl TriggerRecord {
    /// Returns true if no item has yet to get it.
    pub(crate) fn is_handled(&self) -> bool {
        self.items.as_ref().is_some_and(BTreeSet::is_empty)
    }
}
