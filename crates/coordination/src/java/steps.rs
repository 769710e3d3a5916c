//! Checks and writes of nodes that only Java instances need.
#![expect(
    missing_docs,
    reason = "only `internals` shows steps; names that say all have no sentence"
)]

use reg_center::Version;
use sharding::{InstanceAttributes, InstanceId, ShardingItem};

use crate::Dialect;
use crate::Latch;
use crate::plan::{Data, Step};
use crate::wire::NodeKind;

impl Step {
    /// Raises the version of the leader's node. A node that a Java instance creates in its place
    /// has a lower one.
    pub fn seal_leader(id: InstanceId) -> Self {
        let data = Data::id(&id);
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

    /// Announces a resharding. Java instances postpone their fires until it has ended.
    pub fn announce_resharding() -> Self {
        Self::create(NodeKind::Necessary, Data::Empty)
    }

    pub fn end_announcement() -> Self {
        Self::delete(NodeKind::Necessary)
    }

    /// Raises the version of an instance node that no session owns. A node that a returning
    /// instance creates has a lower one.
    pub fn seal_leftover_instance(id: InstanceId) -> Self {
        Self::set(NodeKind::Instance(id), Some(Version(0)), Data::Empty)
    }

    pub fn remove_leftover_instance(id: InstanceId, version: Version) -> Self {
        Self::delete_at(NodeKind::Instance(id), version)
    }

    /// Removes the node of an item that the job no longer has. It conflicts while the node has
    /// children.
    pub(crate) fn remove_item_node(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Item(item))
    }

    /// Creates the mark that shows that the session of the run's holder lives. The other mark
    /// outlasts the session.
    pub fn mark_alive(item: ShardingItem) -> Self {
        Self::mark(NodeKind::Alive(item), Data::Empty)
    }

    pub fn unmark_alive(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Alive(item))
    }

    /// Creates the lasting mark of a takeover.
    pub fn mark_failovering(item: ShardingItem, taker: InstanceId) -> Self {
        let data = Data::id(&taker);
        Self::create(NodeKind::Failovering(item), data)
    }

    pub fn unmark_failovering(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Failovering(item))
    }

    /// Checks that the leader's node is the one in the view.
    pub fn leader_unchanged(version: Version) -> Self {
        Self::check(NodeKind::Leader, version)
    }

    /// Checks that a resharding is announced, so that Java instances postpone their fires.
    pub fn resharding_announced() -> Self {
        Self::exists(NodeKind::Necessary)
    }

    /// Requests that the instance, whose node has this version, runs its items now.
    pub fn ask_to_run(dialect: Dialect, id: InstanceId, version: Version) -> Self {
        match dialect {
            Dialect::V2 => Self::set(NodeKind::Instance(id), Some(version), Data::RunRequest),
            Dialect::V3 => Self::create(NodeKind::Trigger(id), Data::Empty),
        }
    }

    /// Accepts a request to run. `version` is that of the node that holds the request.
    pub fn accept_run_request(
        dialect: Dialect,
        id: InstanceId,
        version: Version,
        attributes: InstanceAttributes,
    ) -> Self {
        match dialect {
            Dialect::V2 => {
                let data = Data::RunRequestAccepted(Box::new(attributes));
                Self::set(NodeKind::Instance(id), Some(version), data)
            }
            Dialect::V3 => Self::delete_at(NodeKind::Trigger(id), version),
        }
    }
}
