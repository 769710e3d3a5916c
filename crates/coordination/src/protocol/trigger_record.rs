//! An operator's request to run items now, as it waits in the registry.

use std::collections::BTreeSet;

use sharding::ShardingItem;

use crate::{FireTime, RequestParameter};

/// A request, from the moment at which somebody leaves it until all items have it.
///
/// It stays, without items, until whoever left it has seen that; so whoever does not know whether it arrived can look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TriggerRecord {
    /// Who left it: an instance, or anybody else by a name of their own.
    pub by: String,
    /// When, an odd number of milliseconds: it identifies the runs.
    pub at: FireTime,
    /// The items that have yet to get it; `None` for all.
    pub items: Option<BTreeSet<ShardingItem>>,
    /// What the runs are told. Once all items have it, it is in their records and no longer here; a request without items that
    /// still has one was dropped, as nobody could be told.
    pub parameter: Option<RequestParameter>,
}

impl TriggerRecord {
    /// Returns true if no item has yet to get it.
    pub(crate) fn is_handled(&self) -> bool {
        self.items.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Returns true if no item will get it, because of what it was to tell them.
    pub(crate) fn was_dropped(&self) -> bool {
        self.is_handled() && self.parameter.is_some()
    }
}
