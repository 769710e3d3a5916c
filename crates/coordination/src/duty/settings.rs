//! Settings of an instance, and the limits of its transactions.

use reg_center::Limits;
use sharding::InstanceAttributes;

use crate::Following;
use crate::gap::Lookup;

/// Maximum number of items in one transaction, whatever the limits of the registry: beyond some
/// hundred items, larger transactions gain nothing.
pub(crate) const MAX_ITEMS_PER_PLAN: usize = 500;
/// Maximum number of operations for one item. A second takeover in the dialect of 3.x needs them
/// all: the record, the queue entry, two leftover marks and four new marks.
pub(super) const OPS_PER_ITEM: usize = 8;
/// Maximum number of operations of a plan beside those of its items.
const OPS_PER_PLAN: usize = 16;
/// Size of one item in a plan, in bytes: six paths with the longest name of a job, and the record.
/// An item with eight paths takes a quarter more, from the half of the transaction that
/// [`ITEMS_SHARE`] leaves free.
pub(super) const BYTES_PER_ITEM: usize = 1_600;
/// Divisor of a transaction's bytes: items may take a half. The rest is for the names of instances
/// and ranges of items.
const ITEMS_SHARE: usize = 2;

/// Returns the maximum number of items in one transaction of a registry with these limits, at least
/// 1.
pub(crate) fn items_per_plan(limits: Limits) -> usize {
    let by_ops = limits.max_ops.saturating_sub(OPS_PER_PLAN) / OPS_PER_ITEM;
    let by_bytes = limits.max_bytes / ITEMS_SHARE / BYTES_PER_ITEM;
    by_ops.min(by_bytes).clamp(1, MAX_ITEMS_PER_PLAN)
}

/// Settings of an instance that are fixed before it takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Maximum number of items in one transaction.
    pub(crate) items_per_plan: usize,
    /// The name that static sharding knows this instance by, across its sessions.
    pub(crate) stable_name: Option<String>,
    /// Weight, zone and labels of this instance.
    pub(crate) attributes: InstanceAttributes,
    /// True if this instance can call once-per-cluster callbacks.
    pub(crate) calls_back: bool,
    pub(crate) following: Following,
    pub(crate) lookup: Lookup,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            items_per_plan: MAX_ITEMS_PER_PLAN,
            stable_name: None,
            attributes: InstanceAttributes::default(),
            calls_back: false,
            following: Following::default(),
            lookup: Lookup::default(),
        }
    }
}
