//! Followed items of a job: all of them, or those of a narrow watch.

use std::collections::BTreeSet;
use std::time::Duration;

use sharding::ShardingItem;

/// Rule by which an instance switches to a narrow watch.
///
/// A narrow watch has the nodes that concern all instances and the nodes of the instance's own
/// items. An instance uses it if it owns few of many items: at most a hundred and at most half of
/// them.
///
/// The leader follows all items. So does every instance in exceptional times: after an election,
/// while an orphaned run waits for a takeover, or while a Java instance takes part.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use coordination::Following;
///
/// assert_eq!(Following::default(), Following::new(64, Duration::from_secs(5)));
/// assert_eq!(Following::ALL.own_from, u32::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Following {
    /// Minimum number of items of a job for narrow watches; 64 by default, because small jobs save
    /// little. The value of the leader applies to all instances: it stores the counts that they
    /// need.
    pub own_from: u32,
    /// Time without an exception before the watch is narrowed; 5 s by default. Exceptions often
    /// follow one another, and each switch costs a snapshot.
    pub after: Duration,
}

impl Following {
    /// Instances follow all items of all jobs.
    pub const ALL: Self = Self { own_from: u32::MAX, after: Duration::ZERO };

    /// Returns the setting for jobs with at least `own_from` items.
    #[must_use]
    pub const fn new(own_from: u32, after: Duration) -> Self {
        Self { own_from, after }
    }
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

    /// Returns the number of items. `None` for all.
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
