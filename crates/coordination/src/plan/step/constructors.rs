//! Constructors of steps. Their names say the meaning of the step.

use reg_center::{Lifetime, Version};
use sharding::{InstanceAttributes, InstanceId, ShardingItem};

use super::{Data, Step, StepOp};
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::view::item::ItemView;
use crate::wire::{GroupNode, NodeKind};
use crate::{
    AuditLog, BackfillLog, GroupName, GroupPermit, JobName, Ledger, PermitHolder, ServerIp,
    ServerState, Slot, StartLog, WaitingRuns,
};

/// Checks.
#[expect(missing_docs, reason = "the name of a constructor says what it means")]
impl Step {
    pub(crate) fn check(node: NodeKind, version: Version) -> Self {
        Self { node, op: StepOp::Check(Some(version)) }
    }

    pub(crate) fn exists(node: NodeKind) -> Self {
        Self { node, op: StepOp::Check(None) }
    }

    /// Checks that the node does not exist.
    pub fn absent(node: NodeKind) -> Self {
        Self { node, op: StepOp::Absent }
    }

    /// Checks that the instance is registered. Its id is never used again, so this fences a former
    /// incarnation.
    pub fn instance_registered(id: InstanceId) -> Self {
        Self::exists(NodeKind::Instance(id))
    }

    /// Checks that no operator has changed the server.
    pub fn server_unchanged(ip: ServerIp, version: Version) -> Self {
        Self::check(NodeKind::Server(ip), version)
    }

    /// Checks that no server was added. `version` is `None` if none ever was.
    pub fn no_server_added(version: Option<Version>) -> Self {
        match version {
            Some(version) => Self::check(NodeKind::Servers, version),
            None => Self::absent(NodeKind::Servers),
        }
    }

    /// Checks that no leader was elected since.
    pub fn term_unchanged(version: Version) -> Self {
        Self::check(NodeKind::Term, version)
    }

    pub fn config_unchanged(version: Version) -> Self {
        Self::check(NodeKind::Config, version)
    }

    /// Checks that no instance has requested resharding since.
    pub fn no_new_resharding_request(version: Version) -> Self {
        Self::check(NodeKind::Request, version)
    }

    pub fn assignment_unchanged(version: Version) -> Self {
        Self::check(NodeKind::Assignment, version)
    }

    pub fn owner_unchanged(item: ShardingItem, version: Version) -> Self {
        Self::check(NodeKind::Owner(item), version)
    }

    pub fn ledger_unchanged(item: ShardingItem, version: Version) -> Self {
        Self::check(NodeKind::Ledger(item), version)
    }

    /// Checks that no operator has requested or cancelled a backfill. `version` is `None` if none
    /// was ever requested.
    pub fn backfills_unchanged(version: Option<Version>) -> Self {
        match version {
            Some(version) => Self::check(NodeKind::Backfills, version),
            None => Self::absent(NodeKind::Backfills),
        }
    }

    /// Checks that the item's record is as the view shows it, or that the item has none.
    pub(crate) fn ledger_as_shown(item: ShardingItem, view: &ItemView) -> Self {
        match &view.ledger {
            Some(ledger) => Self::ledger_unchanged(item, ledger.version),
            None => Self::absent(NodeKind::Ledger(item)),
        }
    }

    /// Checks that an operator has disabled the item, or has not.
    pub fn item_disabled(item: ShardingItem, disabled: bool) -> Self {
        let node = NodeKind::ItemDisabled(item);
        if disabled { Self::exists(node) } else { Self::absent(node) }
    }
}

/// Writes.
#[expect(missing_docs, reason = "the name of a constructor says what it means")]
impl Step {
    pub(crate) fn create(node: NodeKind, data: Data) -> Self {
        Self { node, op: StepOp::Create(Lifetime::Persistent, data) }
    }

    /// Creates an ephemeral node, which ends with the session.
    pub(crate) fn mark(node: NodeKind, data: Data) -> Self {
        Self { node, op: StepOp::Create(Lifetime::Ephemeral, data) }
    }

    pub(crate) fn delete(node: NodeKind) -> Self {
        Self { node, op: StepOp::Delete(None) }
    }

    pub(crate) fn delete_at(node: NodeKind, version: Version) -> Self {
        Self { node, op: StepOp::Delete(Some(version)) }
    }

    /// Replaces the node at this version, or creates it if no version is expected.
    pub(crate) fn set(node: NodeKind, expect: Option<Version>, data: Data) -> Self {
        match expect {
            None => Self::create(node, data),
            expect => Self { node, op: StepOp::Put(expect, data) },
        }
    }

    /// Raises the version of a counter. `first` creates the counter.
    fn count(node: NodeKind, first: bool) -> Self {
        if first {
            return Self::create(node, Data::Empty);
        }
        // Without a guard, so that increments by several instances do not conflict.
        Self { node, op: StepOp::Put(None, Data::Empty) }
    }

    pub fn remove_server(ip: ServerIp, version: Version) -> Self {
        Self::delete_at(NodeKind::Server(ip), version)
    }

    pub fn add_server(ip: ServerIp, disabled: bool) -> Self {
        let state = if disabled { ServerState::Disabled } else { ServerState::Enabled };
        Self::create(NodeKind::Server(ip), Data::Server(state))
    }

    /// Raises the counter of servers that were added.
    pub fn count_server(first: bool) -> Self {
        Self::count(NodeKind::Servers, first)
    }

    pub fn register(id: InstanceId, attributes: InstanceAttributes) -> Self {
        let data = Data::Registration(id.clone(), Box::new(attributes));
        Self::mark(NodeKind::Instance(id), data)
    }

    pub fn deregister(id: InstanceId) -> Self {
        Self::delete(NodeKind::Instance(id))
    }

    /// Marks the instance as draining: it takes no more items.
    pub fn mark_draining(id: InstanceId) -> Self {
        Self::mark(NodeKind::Draining(id), Data::Empty)
    }

    pub fn unmark_draining(id: InstanceId) -> Self {
        Self::delete(NodeKind::Draining(id))
    }

    /// Stores the runs of the instance that wait for a place in its process.
    pub fn set_waiting(id: InstanceId, expect: Option<Version>, waiting: WaitingRuns) -> Self {
        let (node, data) = (NodeKind::Waiting(id), Data::Waiting(waiting));
        match expect {
            None => Self::mark(node, data),
            expect => Self { node, op: StepOp::Put(expect, data) },
        }
    }

    pub fn clear_waiting(id: InstanceId) -> Self {
        Self::delete(NodeKind::Waiting(id))
    }

    /// Takes a permit for a run of the item, as long as the session lives.
    pub fn take_permit(permit: u32, item: ShardingItem, holder: &InstanceId) -> Self {
        let data = Data::Text(format!("{} {holder}", Slot::of(item)));
        Self::mark(NodeKind::Permit(permit), data)
    }

    pub fn return_permit(permit: u32) -> Self {
        Self::delete(NodeKind::Permit(permit))
    }

    /// Takes the permits of a run that begins with this record: of the job, and of its group.
    pub(crate) fn take_permits(
        job: &JobName,
        item: ShardingItem,
        ledger: &Ledger,
    ) -> impl Iterator<Item = Self> {
        let run = ledger.running();
        let of_job = run.and_then(|run| Some(Self::take_permit(run.permit?, item, &run.holder)));
        let of_group = run.and_then(|run| {
            let (job, holder, token) = (job.clone(), run.holder.clone(), ledger.token);
            let holder = PermitHolder { job, item, holder, token };
            Some(Self::take_group_permit(run.group_permit.clone()?, holder))
        });
        of_job.into_iter().chain(of_group)
    }

    /// Takes a permit of a group for a run, as long as the session lives.
    pub fn take_group_permit(permit: GroupPermit, run: PermitHolder) -> Self {
        Self::mark(permit.into_node(), Data::PermitHolder(Box::new(run)))
    }

    pub fn return_group_permit(permit: GroupPermit) -> Self {
        Self::delete(permit.into_node())
    }

    /// Checks that the limits of a group have this version, or that none are stored.
    pub fn group_limits_unchanged(group: &GroupName, version: Option<Version>) -> Self {
        let node = NodeKind::Group(group.clone(), GroupNode::Limits);
        match version {
            Some(version) => Self::check(node, version),
            None => Self::absent(node),
        }
    }

    /// Records the last starts of the runs of a group.
    pub fn set_group_starts(group: &GroupName, expect: Option<Version>, log: StartLog) -> Self {
        let node = NodeKind::Group(group.clone(), GroupNode::Starts);
        Self::set(node, expect, Data::Starts(log))
    }

    /// Puts the job at the end of the line of its group.
    pub fn join_line(group: &GroupName, job: JobName, by: InstanceId) -> Self {
        Self::mark(NodeKind::Group(group.clone(), GroupNode::Place(job)), Data::Place(by))
    }

    /// Puts the job, which has the place of this version, at the end of the line of its group.
    pub fn rejoin_line(group: &GroupName, job: JobName, version: Version, by: InstanceId) -> Self {
        let node = NodeKind::Group(group.clone(), GroupNode::Place(job));
        Self::set(node, Some(version), Data::Place(by))
    }

    pub fn leave_line(group: &GroupName, job: JobName, version: Version) -> Self {
        Self::delete_at(NodeKind::Group(group.clone(), GroupNode::Place(job)), version)
    }

    /// Records the last starts of a job with a start rate.
    pub fn set_starts(expect: Option<Version>, log: StartLog) -> Self {
        Self::set(NodeKind::Starts, expect, Data::Starts(log))
    }

    /// Stores the stable name of the instance.
    pub fn set_name(id: InstanceId, name: String) -> Self {
        Self::mark(NodeKind::Name(id), Data::Text(name))
    }

    pub fn clear_name(id: InstanceId) -> Self {
        Self::delete(NodeKind::Name(id))
    }

    /// Requests resharding. `first` creates the counter of requests.
    pub fn request_resharding(first: bool) -> Self {
        Self::count(NodeKind::Request, first)
    }

    pub fn lead(id: InstanceId) -> Self {
        let data = Data::id(&id);
        Self::mark(NodeKind::Leader, data)
    }

    /// Begins a new term.
    pub fn set_term(expect: Option<Version>, leader: InstanceId) -> Self {
        Self::set(NodeKind::Term, expect, Data::Term(leader))
    }

    pub fn abdicate() -> Self {
        Self::delete(NodeKind::Leader)
    }

    pub fn set_assignment(expect: Option<Version>, record: AssignmentRecord) -> Self {
        Self::set(NodeKind::Assignment, expect, Data::Assignment(record))
    }

    pub fn set_owner(item: ShardingItem, expect: Option<Version>, owner: InstanceId) -> Self {
        let data = Data::id(&owner);
        Self::set(NodeKind::Owner(item), expect, data)
    }

    pub fn clear_owner(item: ShardingItem, version: Version) -> Self {
        Self::delete_at(NodeKind::Owner(item), version)
    }

    /// Replaces the item's record. `expect` is `None` for a new item.
    pub fn set_ledger(item: ShardingItem, expect: Option<Version>, ledger: Ledger) -> Self {
        Self::set(NodeKind::Ledger(item), expect, Data::Ledger(Box::new(ledger)))
    }

    /// Marks the item as running, as long as the session lives.
    pub(crate) fn mark_running(item: ShardingItem, holder: InstanceId) -> Self {
        Self::mark(NodeKind::Running(item), Data::Holder(holder))
    }

    pub fn unmark_running(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Running(item))
    }

    /// Marks the item as taken over, as long as the session lives.
    pub fn mark_failover(item: ShardingItem, taker: InstanceId) -> Self {
        let data = Data::id(&taker);
        Self::mark(NodeKind::Failover(item), data)
    }

    pub fn unmark_failover(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Failover(item))
    }

    pub fn mark_misfire(item: ShardingItem) -> Self {
        Self::create(NodeKind::Misfire(item), Data::Empty)
    }

    pub fn unmark_misfire(item: ShardingItem) -> Self {
        Self::delete(NodeKind::Misfire(item))
    }

    /// Puts the item into the failover queue.
    pub fn queue(item: ShardingItem) -> Self {
        Self::create(NodeKind::QueuedItem(item), Data::Empty)
    }

    pub fn forget_next_server() -> Self {
        Self::delete(NodeKind::NextServer)
    }

    pub fn dequeue(item: ShardingItem) -> Self {
        Self::delete(NodeKind::QueuedItem(item))
    }

    /// Leaves a manual request in the registry, or stores which items do not have it yet.
    pub fn set_request(id: String, expect: Option<Version>, record: TriggerRecord) -> Self {
        Self::set(NodeKind::TriggerRequest(id), expect, Data::Request(record))
    }

    pub fn clear_request(id: String, version: Version) -> Self {
        Self::delete_at(NodeKind::TriggerRequest(id), version)
    }

    /// Replaces the log of backfills.
    pub fn set_backfills(expect: Option<Version>, log: BackfillLog) -> Self {
        Self::set(NodeKind::Backfills, expect, Data::Backfills(log))
    }

    /// Replaces the log of audited changes.
    pub fn set_audit(expect: Option<Version>, log: AuditLog) -> Self {
        Self::set(NodeKind::Audit, expect, Data::Audit(log))
    }

    /// Records that a once-per-cluster callback is called, or has returned.
    pub fn set_once(expect: Option<Version>, record: OnceRecord) -> Self {
        Self::set(NodeKind::Once, expect, Data::Once(record))
    }
}
