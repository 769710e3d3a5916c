//! The sharding item, the unit of work of a job.

use std::fmt;

/// One unit of work of a job: an index from 0 up to, but not including, the job's total count.
///
/// The type holds any `u32`. An [`Assignment`](crate::Assignment) has no owner for an index beyond
/// its total count.
///
/// # Examples
///
/// ```
/// use sharding::ShardingItem;
///
/// const FIRST: ShardingItem = ShardingItem::new(0);
/// assert_eq!(FIRST.index(), 0);
/// assert!(FIRST < ShardingItem::from(1));
/// assert_eq!(ShardingItem::new(7).to_string(), "7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardingItem(u32);

impl ShardingItem {
    /// Returns the item with this zero-based index.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the zero-based index.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}

impl From<u32> for ShardingItem {
    fn from(index: u32) -> Self {
        Self(index)
    }
}

impl From<ShardingItem> for u32 {
    fn from(item: ShardingItem) -> Self {
        item.0
    }
}

impl fmt::Display for ShardingItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
