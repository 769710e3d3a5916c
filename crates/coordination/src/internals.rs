//! Internals of this crate for the development crates of the workspace, without any stability.
//!
//! The exhaustive model and the golden tests need them. All other crates use the public interface.

use reg_center::{Op, SessionId, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::view::JobView;
use crate::wire::Layout;
use crate::{GroupNode, ItemView, Latch, NodeKind, OnceStage, ServerState, Versioned};

pub use crate::coordinator::shared::{Flight, Incarnation, Memory, NOW, SharedCoordinator};
pub use crate::local::Local;
pub use crate::plan::{Data, Plan, Step, StepOp};
pub use crate::protocol::assignment::AssignmentRecord;
pub use crate::protocol::once::OnceRecord;
pub use crate::protocol::run_request::Triggered;
pub use crate::protocol::trigger_record::TriggerRecord;
pub use crate::wire::{
    ENABLED, RUST_MARK, TRIGGER, decode_assignment, encode_assignment, encode_ledger,
};

/// Queries of a view that are not public.
pub trait ViewQueries {
    /// Returns the instances that may own items, in order.
    fn available(&self) -> Vec<InstanceId>;
    /// Returns the last term, with the instance that was elected in it.
    fn term(&self) -> Option<&Versioned<InstanceId>>;
    /// Returns the term of an instance, if no other instance was elected since.
    fn term_of(&self, id: &InstanceId) -> Option<Version>;
    /// Returns the record of the assignment.
    fn assignment(&self) -> Option<&Versioned<AssignmentRecord>>;
    /// Filters items to those whose fires the instance accounts for.
    fn accounted_by<'a>(
        &'a self,
        id: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)>;
    /// Returns the version of the counter of requests to reshard.
    fn resharding_requests(&self) -> Option<Version>;
    /// Returns the manual requests that wait in the registry, by their ids.
    fn triggers(&self) -> impl Iterator<Item = (&str, &Versioned<TriggerRecord>)>;
    /// Returns the last calls of once-per-cluster callbacks.
    fn once(&self) -> Option<&Versioned<OnceRecord>>;
}

impl ViewQueries for JobView {
    fn available(&self) -> Vec<InstanceId> {
        self.available()
    }

    fn term(&self) -> Option<&Versioned<InstanceId>> {
        self.term()
    }

    fn term_of(&self, id: &InstanceId) -> Option<Version> {
        self.term_of(id)
    }

    fn assignment(&self) -> Option<&Versioned<AssignmentRecord>> {
        self.assignment()
    }

    fn accounted_by<'a>(
        &'a self,
        id: &'a InstanceId,
        items: impl Iterator<Item = (ShardingItem, &'a ItemView)>,
    ) -> impl Iterator<Item = (ShardingItem, &'a ItemView)> {
        self.accounted_by(id, items)
    }

    fn resharding_requests(&self) -> Option<Version> {
        self.resharding_requests()
    }

    fn triggers(&self) -> impl Iterator<Item = (&str, &Versioned<TriggerRecord>)> {
        self.triggers()
    }

    fn once(&self) -> Option<&Versioned<OnceRecord>> {
        self.once()
    }
}

/// Encoding of plans and nodes that is not public.
pub trait LayoutEncoding {
    /// Encodes a plan into a transaction: one operation for each step, in order.
    fn encode(&self, plan: &Plan, session: SessionId) -> Txn;
    /// Encodes one step.
    fn encode_step(&self, step: &Step) -> Op;
    /// Returns the data of a server's node.
    fn server_data(&self, state: ServerState) -> &'static str;
    /// Returns true if a Java instance wrote this data of an instance's node.
    fn is_of_java(&self, data: &[u8]) -> bool;
}

impl LayoutEncoding for Layout {
    fn encode(&self, plan: &Plan, session: SessionId) -> Txn {
        self.encode(plan, session)
    }

    fn encode_step(&self, step: &Step) -> Op {
        self.encode_step(step)
    }

    fn server_data(&self, state: ServerState) -> &'static str {
        self.server_data(state)
    }

    fn is_of_java(&self, data: &[u8]) -> bool {
        self.is_of_java(data)
    }
}

/// Returns the number of a kind of node, for tests that must cover all kinds.
///
/// Other crates cannot match a non-exhaustive enum exhaustively. In this crate, a new kind without
/// a number is a compile error.
#[must_use]
pub fn number_of(kind: &NodeKind) -> usize {
    match kind {
        NodeKind::Config => 0,
        NodeKind::Instance(_) => 1,
        NodeKind::Trigger(_) => 2,
        NodeKind::Server(_) => 3,
        NodeKind::Leader => 4,
        NodeKind::Latch(Latch::Election, _) => 5,
        NodeKind::Latch(Latch::Failover, _) => 6,
        NodeKind::Necessary => 7,
        NodeKind::Processing => 8,
        NodeKind::QueuedItem(_) => 9,
        NodeKind::Owner(_) => 10,
        NodeKind::Running(_) => 11,
        NodeKind::Alive(_) => 12,
        NodeKind::Misfire(_) => 13,
        NodeKind::Failovering(_) => 14,
        NodeKind::Failover(_) => 15,
        NodeKind::ItemDisabled(_) => 16,
        NodeKind::SystemTime => 17,
        NodeKind::Ledger(_) => 18,
        NodeKind::Term => 19,
        NodeKind::Servers => 20,
        NodeKind::Request => 21,
        NodeKind::Assignment => 22,
        NodeKind::Draining(_) => 23,
        NodeKind::Name(_) => 24,
        NodeKind::TriggerRequest(_) => 25,
        NodeKind::Once => 26,
        NodeKind::Checkpoint(_) => 27,
        NodeKind::Audit => 28,
        NodeKind::Item(_) => 29,
        NodeKind::OfItem(..) => 30,
        NodeKind::Counted(OnceStage::Started, _) => 31,
        NodeKind::Counted(OnceStage::Completed, _) => 32,
        NodeKind::Template => 33,
        NodeKind::FailoverRoot => 34,
        NodeKind::FormerConfigs => 35,
        NodeKind::Waiting(_) => 36,
        NodeKind::Progress(_) => 37,
        NodeKind::Permit(_) => 38,
        NodeKind::Backfills => 39,
        NodeKind::Starts => 40,
        NodeKind::NextServer => 41,
        NodeKind::Group(_, GroupNode::Limits) => 42,
        NodeKind::Group(_, GroupNode::Permit(_)) => 43,
        NodeKind::Group(_, GroupNode::Starts) => 44,
        NodeKind::Group(_, GroupNode::Place(_)) => 45,
        NodeKind::Group(_, GroupNode::Audit) => 46,
    }
}
