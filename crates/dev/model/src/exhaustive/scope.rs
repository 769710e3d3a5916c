//! How much is explored: the size of the cluster, and how often what may go wrong.

use coordination::{FireTime, JobConfig, JobName, NodeKind, ServerIp, instance_id};
use reg_center::SessionId;
use sharding::{InstanceId, ShardingItem};

/// Something that an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Act {
    /// Disables the server of a process.
    DisableServer(usize),
    /// Lets nothing start on the server of a process.
    PauseServer(usize),
    /// Lets the server of a process take part.
    EnableServer(usize),
    /// Disables an item.
    DisableItem(u32),
    /// Enables an item.
    EnableItem(u32),
    /// Wants all items to run now.
    Request,
    /// Takes the last item out of the job.
    Shrink,
    /// Puts it in again.
    Grow,
    /// Turns failover off.
    FailoverOff,
    /// Takes the node of an instance away, for it to leave.
    Remove(usize),
    /// Takes the node of the leader away, for somebody else to be elected.
    RemoveLeader,
    /// Takes the mark of a running item away, as Java instances do that reconnect.
    ClearMark(u32),
    /// Asks a process to leave.
    Drain(usize),
    /// Wants an instance to run now.
    Trigger(usize),
}

/// What is explored.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    /// Processes that are there from the beginning.
    pub(super) processes: usize,
    pub(super) items: u32,
    /// Scheduled fires, each of which comes once at each process, at any time.
    pub(super) fires: u8,
    /// How many processes may crash.
    pub(super) crashes: u8,
    /// How many sessions of live processes may expire.
    pub(super) expiries: u8,
    /// How many replies may be lost, the transaction executed or not, or later.
    pub(super) lost_replies: u8,
    /// How often an operator may do one of `choices`.
    pub(super) acts: u8,
    pub(super) choices: Vec<Act>,
    pub(super) failover: bool,
    pub(super) misfire: bool,
    /// Callbacks that happen once per cluster and fire are called.
    pub(super) calls_back: bool,
    /// The resource that runs write to refuses tokens lower than one that it has seen.
    pub(super) fence: bool,
    /// Everything is registered, elected and assigned at the beginning; otherwise nothing is.
    pub(super) settled: bool,
    /// Something has waited to be taken over before the beginning, so that the queue is there.
    pub(super) has_waited: bool,
}

impl Scope {
    /// A settled cluster with failover and misfires, in which nothing goes wrong.
    pub(super) fn new(name: &'static str, processes: usize, items: u32, fires: u8) -> Self {
        Self {
            name,
            processes,
            items,
            fires,
            crashes: 0,
            expiries: 0,
            lost_replies: 0,
            acts: 0,
            choices: Vec::new(),
            failover: true,
            misfire: true,
            calls_back: false,
            fence: true,
            settled: true,
            has_waited: false,
        }
    }

    /// The same with at most this many crashes and expiries.
    pub(super) fn faults(self, crashes: u8, expiries: u8) -> Self {
        Self { crashes, expiries, ..self }
    }

    pub(super) fn config(&self) -> JobConfig {
        let name = JobName::new("job").expect("the name is a valid one");
        JobConfig {
            failover: self.failover,
            misfire: self.misfire,
            ..JobConfig::new(name, self.items)
        }
    }
}

/// The scheduled time of a fire, by its number.
pub(super) fn fire_time(number: u8) -> FireTime {
    FireTime(100 * (1 + i64::from(number)))
}

/// The host of a process.
pub(super) fn server(process: usize) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{}", process + 1)).expect("the address is a valid one")
}

/// The id of a life of a process.
pub(super) fn instance(process: usize, life: u8) -> InstanceId {
    instance_id(&server(process), &life.to_string()).expect("a number is a valid life")
}

/// The session of a life of a process.
pub(super) fn session(process: usize, life: u8) -> SessionId {
    SessionId(
        100 * (1 + i64::try_from(process).expect("there are few processes")) + i64::from(life),
    )
}

/// The session of the operator.
pub(super) const OPERATOR: SessionId = SessionId(0);

pub(super) fn item(index: u32) -> ShardingItem {
    ShardingItem::new(index)
}

/// The nodes that are never deleted: what is expected to be absent and is there will not be absent again.
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
