//! Checks and writes of nodes that only Java instances need.
#![expect(
    missing_docs,
    reason = "only `internals` shows steps; names that say all have no sentence"
)]

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use super::latch::Latch;
use crate::plan::{Data, Step};
use crate::wire::NodeKind;

impl Step {
    /// Gives the leader's node a version that one created by a Java instance in its place has not.
    pub fn seal_leader(id: InstanceId) -> Self {
        let data = Data::Text(id.as_str().to_owned());
        Self::set(NodeKind::Leader, Some(Version(0)), data)
    }

    /// Adds the instance's node at the end of the queue of a latch.
    pub fn join_latch(latch: Latch, name: String) -> Self {
        Self::mark(NodeKind::Latch(latch, name), Data::Empty)
    }

    /// Leaves the queue of a latch. It conflicts unless the instance was in it.
    pub fn leave_latch(latch: Latch, name: String) -> Self {
        Self::delete(NodeKind::Latch(latch, name))
    }

    /// Java instances hold their fires back until the items are assigned.
    pub fn announce_resharding() -> Self {
        Self::create(NodeKind::Necessary, Data::Empty)
    }

    pub fn end_announcement() -> Self {
        Self::delete(NodeKind::Necessary)
    }

    /// Gives an instance node that no session owns a version that a new one has not.
    pub fn seal_leftover_instance(id: InstanceId) -> Self {
        Self::set(NodeKind::Instance(id), Some(Version(0)), Data::Empty)
    }

    pub fn remove_leftover_instance(id: InstanceId, version: Version) -> Self {
        Self::delete_at(NodeKind::Instance(id), version)
    }

    /// Removes the node of an item that the job no longer has. It conflicts while the node has children.
    pub(crate) fn remove_item_node(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Item(item))
    }

    /// Marks that the session of the run's holder lives, where the other mark lasts beyond it.
    pub fn mark_alive(item: ShardingItem) -> Self {
        Self::mark(NodeKind::Alive(item), Data::Empty)
    }

    pub fn unmark_alive(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Alive(item))
    }

    /// Marks the item as taken over, beyond the end of the session.
    pub fn mark_failovering(item: ShardingItem, taker: InstanceId) -> Self {
        let data = Data::Text(taker.as_str().to_owned());
        Self::create(NodeKind::Failovering(item), data)
    }

    pub fn unmark_failovering(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Failovering(item))
    }

    /// The leader's node is the one that was read.
    pub fn leader_unchanged(version: Version) -> Self {
        Self::check(NodeKind::Leader, version)
    }

    /// Java instances hold their fires back until the items are assigned.
    pub fn resharding_announced() -> Self {
        Self::exists(NodeKind::Necessary)
    }
}
