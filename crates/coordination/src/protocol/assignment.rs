//! Stored inputs of an assignment, and the items that are still pending.

use std::collections::BTreeMap;

use sharding::InstanceId;

use crate::protocol::pending::Pending;
use crate::{FireTime, UnknownFields};

/// The inputs of the current assignment, stored beside it.
///
/// Items are resharded as long as these inputs differ from the present state, so that no need for
/// resharding can be lost. The former owner of a pending item claims nothing for it any more. The
/// leader moves the item as soon as it is idle.
///
/// The default has no instances and no items: it fits no configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AssignmentRecord {
    /// Available instances, in the order in which the strategy saw them.
    pub members: Vec<InstanceId>,
    /// Stable names of the members that have one. Static sharding finds the items of a name by
    /// them.
    pub(crate) names: BTreeMap<InstanceId, String>,
    /// Number of items.
    pub total_count: u32,
    /// Name of the strategy.
    pub strategy: String,
    /// Version of the counter of resharding requests that this assignment answers.
    pub handled: u32,
    /// Fire that was due at the resharding. A member that joined after that fire runs it for the
    /// items that it gets, unless another instance has claimed them for it.
    pub(crate) due: Option<FireTime>,
    /// Pending items with their next owners.
    pub pending: Pending,
    /// Term in which the leader announced to Java instances that items will be resharded, while
    /// writes of that resharding are pending. During that term, `necessary` is this announcement,
    /// not a request of another instance.
    pub(crate) announced: Option<u32>,
    /// Number of items that each member has or will have; empty for jobs of few items. An instance
    /// with a narrow watch knows by it that it sees all of its items.
    pub(crate) counts: BTreeMap<InstanceId, u32>,
    /// Hash of the placement rules and of the attributes of the members; `None` without both.
    pub(crate) placement: Option<u64>,
    /// Fields that a later version added.
    pub(crate) unknown: UnknownFields,
}
