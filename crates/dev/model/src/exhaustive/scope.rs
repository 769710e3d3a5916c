//! Bounds of an exploration: the size of the cluster, its faults and its operator actions.

use coordination::{FireTime, JobConfig, JobName, NodeKind, Overlap, ServerIp, instance_id};
use reg_center::SessionId;
use sharding::{InstanceId, ShardingItem};

/// An operator action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OperatorAction {
    /// Disables the server of a process.
    DisableServer(usize),
    /// Pauses the server of a process.
    PauseServer(usize),
    /// Enables the server of a process.
    EnableServer(usize),
    /// Disables an item.
    DisableItem(u32),
    /// Enables an item.
    EnableItem(u32),
    /// Requests a run of all items.
    Request,
    /// Requests the cancellation of an item's run.
    Cancel(u32),
    /// Decreases the number of items by one.
    Shrink,
    /// Increases the number of items by one.
    Grow,
    /// Turns failover off.
    FailoverOff,
    /// Deletes the node of an instance, so that it leaves.
    Remove(usize),
    /// Deletes the leader's node, so that the instances elect again.
    RemoveLeader,
    /// Deletes the mark of a running item, as Java instances do when they reconnect.
    ClearMark(u32),
    /// Drains a process.
    Drain(usize),
    /// Triggers one instance, as Java's operate API does.
    Trigger(usize),
}

/// A cluster to explore, with the bounds of its faults.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    /// Number of processes, all of which exist from the beginning.
    pub(super) processes: usize,
    pub(super) items: u32,
    /// Number of scheduled fires. Each process gets each fire once, at any time.
    pub(super) fires: u8,
    /// Maximum number of crashes.
    pub(super) crashes: u8,
    /// Maximum number of sessions that expire while their process is alive.
    pub(super) expiries: u8,
    /// Maximum number of lost replies. The transaction is executed at once, later or never.
    pub(super) lost_replies: u8,
    /// Maximum number of operator actions, each one of `allowed_actions`.
    pub(super) operator_actions: u8,
    pub(super) allowed_actions: Vec<OperatorAction>,
    pub(super) failover: bool,
    pub(super) misfire: bool,
    /// Maximum number of runs of an item at the same time. From 2 on, runs of an item are parallel.
    pub(super) slots: u32,
    /// Set if instances call once-per-cluster callbacks.
    pub(super) calls_back: bool,
    /// Set if the resource that runs write to rejects a token below the greatest accepted one.
    pub(super) fence: bool,
    /// Set if the cluster starts with registered instances, a leader and an assignment.
    pub(super) settled: bool,
    /// Set if the parent node of the failover queue exists from the beginning.
    pub(super) has_failover_queue: bool,
}

impl Scope {
    /// Returns a settled cluster with failover and misfires, but without faults.
    pub(super) fn new(name: &'static str, processes: usize, items: u32, fires: u8) -> Self {
        Self {
            name,
            processes,
            items,
            fires,
            crashes: 0,
            expiries: 0,
            lost_replies: 0,
            operator_actions: 0,
            allowed_actions: Vec::new(),
            failover: true,
            misfire: true,
            slots: 1,
            calls_back: false,
            fence: true,
            settled: true,
            has_failover_queue: false,
        }
    }

    /// Sets the maximum numbers of crashes and of expired sessions.
    pub(super) fn faults(self, crashes: u8, expiries: u8) -> Self {
        Self { crashes, expiries, ..self }
    }

    /// Returns the scope with this maximum number of runs of an item at the same time.
    pub(super) fn parallel(self, slots: u32) -> Self {
        Self { slots, ..self }
    }

    /// Returns true if the operator deletes marks of runs.
    pub(super) fn clears_marks(&self) -> bool {
        self.allowed_actions.iter().any(|action| matches!(action, OperatorAction::ClearMark(_)))
    }

    pub(super) fn config(&self) -> JobConfig {
        let name = JobName::new("job").expect("the job name is valid");
        JobConfig::new(name, self.items).with(|it| {
            it.failover = self.failover;
            it.misfire = self.misfire;
            it.overlap = Some(Overlap::Parallel(self.slots)).filter(|_| self.slots > 1);
        })
    }
}

/// Returns the scheduled time of a fire by its number.
pub(super) fn fire_time(number: u8) -> FireTime {
    FireTime(100 * (1 + i64::from(number)))
}

/// Returns the server of a process.
pub(super) fn server(process: usize) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{}", process + 1)).expect("the address is valid")
}

/// Returns the instance id of an incarnation of a process.
pub(super) fn instance(process: usize, incarnation: u8) -> InstanceId {
    instance_id(&server(process), &incarnation.to_string())
        .expect("a number is a valid incarnation")
}

/// Returns the session of an incarnation of a process.
pub(super) fn session(process: usize, incarnation: u8) -> SessionId {
    SessionId(
        100 * (1 + i64::try_from(process).expect("there are few processes"))
            + i64::from(incarnation),
    )
}

/// Session of the operator.
pub(super) const OPERATOR: SessionId = SessionId(0);

pub(super) fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// Returns true for nodes that are never deleted. A guard on their absence fails for good once they
/// exist.
pub(super) fn is_permanent(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Config
            | NodeKind::Server(_)
            | NodeKind::Ledger(_)
            | NodeKind::Term
            | NodeKind::Request
            | NodeKind::Assignment
            | NodeKind::Once
    )
}
