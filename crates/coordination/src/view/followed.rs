//! Which items of a job an instance follows: all, or those that concern it.

use std::collections::BTreeSet;
use std::time::Duration;

use sharding::ShardingItem;

/// When an instance follows its own items only: it is told of these, and of what concerns all, and not of each run of the others.
///
/// It does so if it has few of many items, a hundred at most and no more than half, and nothing else to see to. The leader
/// follows all items, and so does everybody while something is out of the ordinary: somebody leads anew, something waits to be taken over,
/// a Java instance is there.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use coordination::Following;
///
/// assert_eq!(Following::default(), Following { own_from: 64, after: Duration::from_secs(5) });
/// assert_eq!(Following::ALL.own_from, u32::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Following {
    /// Of jobs with so many items, or more; 64 by default: with fewer there is little to save. What the leader is told here holds for all: it
    /// records what the others need for it.
    pub own_from: u32,
    /// When nothing was out of the ordinary for so long; 5 s by default: one thing that is leads to another, and each change costs a
    /// snapshot.
    pub after: Duration,
}

impl Following {
    /// Instances follow all items of all jobs.
    pub const ALL: Self = Self { own_from: u32::MAX, after: Duration::ZERO };
}

impl Default for Following {
    fn default() -> Self {
        Self { own_from: 64, after: Duration::from_secs(5) }
    }
}

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

    /// Returns how many items these are; `None` if it is all of them.
    pub(crate) fn n_items(&self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Only(items) => Some(items.len()),
        }
    }

    pub(crate) fn has(&self, item: ShardingItem) -> bool {
        match self {
            Self::All => true,
            Self::Only(items) => items.contains(&item),
        }
    }
}
