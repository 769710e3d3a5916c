//! An operator's request to run items now, as stored in the registry.

use std::collections::BTreeSet;

use sharding::ShardingItem;

use crate::{FireTime, RequestParameter, UnknownFields};

/// A manual request, from its creation until all items have it.
///
/// It then stays without items until its author clears it: if the outcome of the author's commit is
/// unknown, the author can look for the node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TriggerRecord {
    /// Author: an instance id, or a name that an operator chose.
    pub by: String,
    /// Time of the request, an odd number of milliseconds since 1970 UTC. It identifies the runs.
    pub at: FireTime,
    /// Items that do not have the request yet. `None` for all.
    pub items: Option<BTreeSet<ShardingItem>>,
    /// Parameter of the runs. Once all items have it, it is in their records and not here. A
    /// request without items that still has a parameter was dropped, because no item could get it.
    pub parameter: Option<RequestParameter>,
    /// Fields that a later version added.
    pub unknown: UnknownFields,
}

impl TriggerRecord {
    /// Returns a new request for some items, or for all.
    pub fn new(by: String, at: FireTime, items: Option<BTreeSet<ShardingItem>>) -> Self {
        Self { by, at, items, parameter: None, unknown: UnknownFields::default() }
    }

    /// Returns true if every item has the request.
    pub(crate) fn is_handled(&self) -> bool {
        self.items.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Returns true if no item gets the request, because of its parameter.
    pub(crate) fn was_dropped(&self) -> bool {
        self.is_handled() && self.parameter.is_some()
    }
}
