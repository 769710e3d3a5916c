//! One check or write of a plan, as data: a node and the operation on it.
//!
//! | file | content |
//! |---|---|
//! | `constructors` | steps by their meaning, which the name of the constructor says |
//! | `text` | steps as text |

mod constructors;
mod text;

use reg_center::{Lifetime, Version};
use sharding::{InstanceAttributes, InstanceId, ShardingItem};

use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::view::JobView;
use crate::wire::{GroupNode, NodeKind};
use crate::{AuditLog, BackfillLog, Ledger, PermitHolder, ServerState, StartLog, WaitingRuns};

/// One check or write. Each becomes one operation of the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The node that the step checks or writes.
    pub node: NodeKind,
    /// The operation on it.
    pub op: StepOp,
}

/// Operation of a step on its node. It conflicts unless the node is as the operation expects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StepOp {
    /// The node exists, at this version if one is given.
    Check(Option<Version>),
    /// The node does not exist.
    Absent,
    /// Creates the node, which must not exist.
    Create(Lifetime, Data),
    /// Replaces the data of the node, at this version if one is given.
    Put(Option<Version>, Data),
    /// Deletes the node, at this version if one is given.
    Delete(Option<Version>),
}

/// Data of a node, as a value. The wire format encodes it, in the dialect of the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// No data.
    Empty,
    /// Text as it is.
    Text(String),
    /// The registration of an instance of this project.
    Registration(InstanceId, Box<InstanceAttributes>),
    /// The holder of a run.
    Holder(InstanceId),
    /// The state that operators want of a server.
    Server(ServerState),
    /// The leader of a term.
    Term(InstanceId),
    /// The record of the assignment.
    Assignment(AssignmentRecord),
    /// The record of an item.
    Ledger(Box<Ledger>),
    /// An operator's request to run.
    Request(TriggerRecord),
    /// The last calls of once-per-cluster callbacks.
    Once(OnceRecord),
    /// The backfill in progress, and the last ended ones.
    Backfills(BackfillLog),
    /// The last audited changes.
    Audit(AuditLog),
    /// The runs that wait for a place in their process.
    Waiting(WaitingRuns),
    /// The last starts of a job with a start rate.
    Starts(StartLog),
    /// The run that has a permit of the group.
    PermitHolder(Box<PermitHolder>),
    /// The instance that waits for its job in the line of the group.
    Place(InstanceId),
    /// ElasticJob 2.1.5: a request that the instance runs now.
    RunRequest,
    /// ElasticJob 2.1.5: the instance has accepted the request to run. The data are those of its
    /// registration.
    RunRequestAccepted(Box<InstanceAttributes>),
}

impl Data {
    /// Returns the id as text.
    pub(crate) fn id(id: &InstanceId) -> Self {
        Self::Text(id.as_str().to_owned())
    }
}

impl Step {
    pub(crate) fn is_check(&self) -> bool {
        matches!(self.op, StepOp::Check(_) | StepOp::Absent)
    }

    pub(crate) fn is_create(&self) -> bool {
        matches!(self.op, StepOp::Create(..))
    }

    fn is_delete(&self) -> bool {
        matches!(self.op, StepOp::Delete(_))
    }

    /// Returns the data that the step writes.
    pub(crate) fn data(&self) -> Option<&Data> {
        match &self.op {
            StepOp::Create(_, data) | StepOp::Put(_, data) => Some(data),
            StepOp::Check(_) | StepOp::Absent | StepOp::Delete(_) => None,
        }
    }

    /// Returns the version that the step checks, replaces or deletes, if it expects one.
    pub(crate) fn expected(&self) -> Option<Version> {
        match &self.op {
            StepOp::Check(version) | StepOp::Put(version, _) | StepOp::Delete(version) => *version,
            StepOp::Absent | StepOp::Create(..) => None,
        }
    }

    /// Returns the item and the record that the step writes.
    pub(crate) fn ledger(&self) -> Option<(ShardingItem, &Ledger)> {
        match (&self.node, self.data()) {
            (NodeKind::Ledger(item), Some(Data::Ledger(ledger))) => Some((*item, &**ledger)),
            _ => None,
        }
    }

    /// Returns the assignment record that the step writes.
    pub(crate) fn assignment(&self) -> Option<&AssignmentRecord> {
        match self.data() {
            Some(Data::Assignment(record)) => Some(record),
            _ => None,
        }
    }

    /// Returns the record of once-per-cluster calls that the step writes.
    pub(crate) fn once(&self) -> Option<&OnceRecord> {
        match self.data() {
            Some(Data::Once(record)) => Some(record),
            _ => None,
        }
    }

    /// Returns true if the step writes a log whose entries have the time of the decision.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.data(), Some(Data::Audit(_) | Data::Backfills(_) | Data::Starts(_)))
    }

    /// Returns true if the step begins the wait of the job in the line of its group.
    pub(crate) fn joins_line(&self) -> bool {
        matches!(self.node, NodeKind::Group(_, GroupNode::Place(_))) && self.is_create()
    }

    /// Returns the item that the step assigns to an owner.
    pub(crate) fn assigned(&self) -> Option<ShardingItem> {
        let NodeKind::Owner(item) = self.node else { return None };
        self.data().map(|_| item)
    }

    pub(crate) fn registers(&self) -> bool {
        matches!(self.node, NodeKind::Instance(_)) && self.is_create()
    }

    pub(crate) fn deregisters(&self) -> bool {
        matches!(self.node, NodeKind::Instance(_)) && self.is_delete()
    }

    /// Returns the id of the manual request that the step leaves in the registry.
    pub(crate) fn stored_request(&self) -> Option<&String> {
        let NodeKind::TriggerRequest(id) = &self.node else { return None };
        self.is_create().then_some(id)
    }

    /// Returns the node that the step deletes.
    pub(crate) fn deleted(&self) -> Option<&NodeKind> {
        self.is_delete().then_some(&self.node)
    }

    /// Returns true if the view shows the write.
    pub(crate) fn is_visible_in(&self, view: &JobView) -> bool {
        match &self.op {
            StepOp::Check(_) | StepOp::Absent => true,
            // The leader may have passed the request on, and its author may have cleared it since.
            StepOp::Create(..) if self.stored_request().is_some() => true,
            StepOp::Create(..) => view.shows_node(&self.node) != Some(false),
            // Another instance may have written the node since, so any later version will do.
            StepOp::Put(expect, _) => {
                view.shown_version(&self.node).is_none_or(|shown| shown > *expect)
            }
            // Each of these is deleted together with another write, which the duty waits for.
            StepOp::Delete(_)
                if matches!(
                    self.node,
                    NodeKind::Owner(_) | NodeKind::Draining(_) | NodeKind::Necessary
                ) =>
            {
                true
            }
            StepOp::Delete(_) => view.shows_node(&self.node) != Some(true),
        }
    }
}
