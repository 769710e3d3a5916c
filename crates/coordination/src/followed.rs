//! Which items of a job an instance follows: all, or those that concern it.

use std::collections::BTreeSet;

use sharding::ShardingItem;

/// The items that an instance follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Followed {
    #[default]
    All,
    Only(BTreeSet<ShardingItem>),
}

impl Followed {
    pub(crate) fn is_all(&self) -> bool {
        *self == Self::All
    }

    pub(crate) fn has(&self, item: ShardingItem) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(&item),
        }
    }
}
