//! Job events: what happened to a job on this instance, for logs, metrics and histories.
//!
//! | file | content |
//! |---|---|
//! | `item_ranges` | items as ranges |
//! | `reasons` | reasons and durations in the events |
//! | `text` | events as text |

mod item_ranges;
mod reasons;
mod text;

use sharding::{InstanceId, ShardingItem};

pub use self::item_ranges::ItemRanges;
pub use self::reasons::{ClockDifference, DropReason, MissReason, Outage};

use crate::{FencingToken, FireRange, FireTime, Gap, Outcome, RunSource};

/// An event of a job, as its subscribers get it.
///
/// | event | when |
/// |---|---|
/// | `Joined` | this instance is registered |
/// | `Left` | this instance has left in an orderly way |
/// | `Suspended` | the connection to the registry is lost; the session may live on |
/// | `Reconnected` | the connection is back, in the same session |
/// | `SessionLost` | the session is over, and with it the incarnation |
/// | `SessionStarted` | a new session has replaced a lost one, with a new incarnation |
/// | `BecameLeader`, `LostLeadership` | this instance became the leader, or no longer is |
/// | `Resharded` | this instance, as leader, has assigned items anew |
/// | `Claimed` | this instance has claimed an item for a run |
/// | `Settled` | a run of this instance has ended and its end is recorded |
/// | `Cancelled` | a run has ended because its cancellation was requested, with author and reason |
/// | `Fenced` | a run of this instance ended after a takeover; its result does not count |
/// | `MisfireNoted` | a fire met the busy item and is noted for a later run |
/// | `Missed` | a fire of an item is not run, with the reason |
/// | `Gap` | scheduled fires were not run, as the next change of the record shows |
/// | `Orphaned` | this instance, as leader, has found a run whose holder is gone |
/// | `StrategyFailed` | the strategy gave no usable assignment; the former one stays |
/// | `ConfigRejected` | the stored configuration is invalid; the last valid one stays in force |
/// | `Anomaly` | a node has invalid data, which is ignored |
/// | `ChangesMissed` | the registry has not delivered changes, and the job is read anew |
/// | `RequestDropped` | a manual request is dropped, with the reason |
/// | `CommitRefused` | a transaction exceeds the registry's limit |
/// | `ClockDiffers`, `ClockAgrees` | the clock differs from the registry's, or agrees again |
/// | `Stopped` | an error handler has stopped the job on this server |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// This instance is registered.
    Joined {
        /// Id of the instance.
        instance: InstanceId,
    },
    /// This instance has left in an orderly way.
    Left {
        /// Id of the instance.
        instance: InstanceId,
    },
    /// The connection to the registry is lost. The session may live on.
    Suspended,
    /// The connection is back, in the same session.
    Reconnected {
        /// Time without a connection.
        outage: Outage,
    },
    /// The session is over, and with it the incarnation.
    SessionLost {
        /// Incarnation that ended.
        instance: InstanceId,
    },
    /// A new session has replaced a lost one.
    SessionStarted {
        /// Incarnation of the new session.
        instance: InstanceId,
        /// Time without a connection.
        outage: Outage,
    },
    /// This instance is the leader now.
    BecameLeader {
        /// Term of the leader.
        term: u64,
    },
    /// This instance is no longer the leader.
    LostLeadership,
    /// Items were resharded.
    Resharded {
        /// Number of items that changed their owner.
        moved: usize,
        /// These items.
        items: ItemRanges,
        /// Number of pending items, which move once their runs end.
        deferred: usize,
        /// Number of instances that items were assigned to.
        instances: usize,
        /// Reason of the resharding.
        reason: String,
    },
    /// An item was claimed.
    Claimed {
        /// The item.
        item: ShardingItem,
        /// Scheduled fire time, or the time of the request.
        fire: FireTime,
        /// Source of the run.
        source: RunSource,
        /// Fencing token of the run.
        token: FencingToken,
        /// Past fire that the run repeats, if it is of a backfill. `fire` is then the time of its
        /// request.
        past_fire: Option<FireTime>,
    },
    /// A run has ended and its end is recorded.
    Settled {
        /// The item.
        item: ShardingItem,
        /// Scheduled fire time, or the time of the request.
        fire: FireTime,
        /// Source of the run.
        source: RunSource,
        /// Fencing token of the run.
        token: FencingToken,
        /// Outcome of the run.
        outcome: Outcome,
    },
    /// A run has ended because its cancellation was requested, and its end is recorded.
    ///
    /// The instance that records the end reports it: the holder, before or after
    /// [`Settled`](Self::Settled) with the outcome `cancelled`, or the leader if the holder is
    /// gone.
    Cancelled {
        /// The item.
        item: ShardingItem,
        /// Scheduled fire time, or the time of the request.
        fire: FireTime,
        /// Source of the run.
        source: RunSource,
        /// Instance that held the run.
        holder: InstanceId,
        /// Fencing token of the run.
        token: FencingToken,
        /// Author of the request.
        by: String,
        /// Reason of the request.
        why: String,
    },
    /// A run ended after another instance had taken it over.
    Fenced {
        /// The item.
        item: ShardingItem,
        /// Fencing token of the run.
        token: FencingToken,
    },
    /// A fire met the busy item, and waits: in a job with `overlap = queue` for a run of its own,
    /// else for one run of all noted fires.
    MisfireNoted {
        /// The item.
        item: ShardingItem,
        /// All fires that wait for a run now.
        waiting: FireRange,
    },
    /// A fire is not run.
    Missed {
        /// The item. `None` for all items that this instance has at the fire.
        item: Option<ShardingItem>,
        /// Scheduled fire time, or the time of the request.
        fire: FireTime,
        /// Reason why the fire is not run.
        reason: MissReason,
    },
    /// Scheduled fires of an item were not run, as the item's record proves.
    ///
    /// If the instance that found the gap may have been lost before it reported it, another
    /// instance reports it again. Item, `first` and `until` identify a gap.
    Gap {
        /// The item.
        item: ShardingItem,
        /// The fires.
        gap: Gap,
    },
    /// An orphaned run was found: its holder is gone.
    Orphaned {
        /// The item.
        item: ShardingItem,
        /// Scheduled fire time, or the time of the request.
        fire: FireTime,
        /// Instance that held the run.
        holder: InstanceId,
        /// True if another instance takes the run over.
        failover: bool,
    },
    /// The strategy gave no usable assignment.
    StrategyFailed {
        /// Description of the fault.
        reason: String,
    },
    /// The stored configuration is invalid.
    ConfigRejected {
        /// Description of the fault.
        reason: String,
    },
    /// A node has invalid data.
    Anomaly {
        /// Path of the node.
        path: String,
        /// Description of the fault.
        reason: String,
    },
    /// The registry has not delivered changes of nodes, as two reads have shown. The instance reads
    /// the job anew.
    ChangesMissed {
        /// Number of these nodes.
        count: usize,
        /// The first nodes, below the job's root, each as created, changed or deleted.
        nodes: String,
    },
    /// A manual request is dropped.
    ///
    /// The process that received the request reports it. If no instance is its author, the leader
    /// reports it.
    RequestDropped {
        /// Id that the request has, or would have had, in the registry.
        id: String,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// A transaction exceeds the registry's limit.
    CommitRefused {
        /// Reason of the transaction.
        reason: String,
    },
    /// This instance's clock differs from the registry's by more than the bound. It misses its
    /// fires until the clocks agree.
    ClockDiffers {
        /// Difference in milliseconds: positive if this instance's clock is ahead of the
        /// registry's.
        ahead_ms: i64,
    },
    /// The clocks agree again.
    ClockAgrees,
    /// An error handler has stopped the job on this server. The server is paused for the job until
    /// an operator resumes it.
    Stopped {
        /// Name of the handler, and the error that it got.
        reason: String,
    },
}

impl JobEvent {
    /// Returns the kind of event as a word for histories and metrics, such as `became_leader`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Joined { .. } => "joined",
            Self::Left { .. } => "left",
            Self::Suspended => "suspended",
            Self::Reconnected { .. } => "reconnected",
            Self::SessionLost { .. } => "session_lost",
            Self::SessionStarted { .. } => "session_started",
            Self::BecameLeader { .. } => "became_leader",
            Self::LostLeadership => "lost_leadership",
            Self::Resharded { .. } => "resharded",
            Self::Claimed { .. } => "claimed",
            Self::Settled { .. } => "settled",
            Self::Cancelled { .. } => "cancelled",
            Self::Fenced { .. } => "fenced",
            Self::MisfireNoted { .. } => "misfire_noted",
            Self::Missed { .. } => "missed",
            Self::Orphaned { .. } => "orphaned",
            Self::StrategyFailed { .. } => "strategy_failed",
            Self::ConfigRejected { .. } => "config_rejected",
            Self::Anomaly { .. } => "anomaly",
            Self::ChangesMissed { .. } => "changes_missed",
            Self::RequestDropped { .. } => "request_dropped",
            Self::CommitRefused { .. } => "commit_refused",
            Self::ClockDiffers { .. } => "clock_differs",
            Self::ClockAgrees => "clock_agrees",
            Self::Stopped { .. } => "stopped",
            Self::Gap { .. } => "gap",
        }
    }
}
