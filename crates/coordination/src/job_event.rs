//! The record: everything of note that happened to a job here, for logs, metrics and histories.

use std::fmt;

use sharding::{InstanceId, ShardingItem};

use crate::{FencingToken, FireRange, FireTime, Gap, Outcome, RunSource};

/// Something of note.
///
/// | event | when |
/// |---|---|
/// | `Joined` | this instance is registered |
/// | `Left` | this instance has left in an orderly way |
/// | `BecameLeader`, `LostLeadership` | this instance decides on assignments, or no longer |
/// | `Resharded` | this instance, as leader, has assigned items anew |
/// | `Claimed` | this instance runs an item from now on |
/// | `Settled` | a run of this instance has ended and that is recorded |
/// | `Fenced` | a run of this instance ended after somebody else had taken it over; its result does not count |
/// | `MisfireNoted` | a fire met the running item and will be run afterwards |
/// | `Missed` | a fire of an item is not run, with the reason |
/// | `Gap` | scheduled fires were not run, as the item's next claim, noted misfire or retirement shows |
/// | `Orphaned` | this instance, as leader, has found a run whose holder is gone |
/// | `StrategyFailed` | the sharding strategy gave no usable assignment; the old one stays |
/// | `ConfigRejected` | the stored configuration cannot be used; the last good one stays in force |
/// | `Anomaly` | a node holds what it should not; it is ignored |
/// | `RequestDropped` | a request to run that this process was asked for, or that it takes away as nobody's, is not pursued any more, with the reason |
/// | `CommitRefused` | a transaction is over the registry's limit |
/// | `Stopped` | an error handler has stopped the job here, until somebody resumes the server |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// This instance is registered.
    Joined {
        /// Under which id.
        instance: InstanceId,
    },
    /// This instance has left in an orderly way.
    Left {
        /// Under which id it was registered.
        instance: InstanceId,
    },
    /// This instance leads.
    BecameLeader {
        /// In which term.
        term: u64,
    },
    /// This instance leads no longer.
    LostLeadership,
    /// Items were assigned anew.
    Resharded {
        /// How many items changed their owner.
        moved: usize,
        /// How many items will follow as soon as their run ends.
        deferred: usize,
        /// For how many instances.
        instances: usize,
        /// Why.
        reason: String,
    },
    /// An item was claimed.
    Claimed {
        /// Which item.
        item: ShardingItem,
        /// For which fire.
        fire: FireTime,
        /// Why.
        source: RunSource,
        /// Under which token.
        token: FencingToken,
    },
    /// A run has ended and that is recorded.
    Settled {
        /// Which item.
        item: ShardingItem,
        /// For which fire.
        fire: FireTime,
        /// Why it ran.
        source: RunSource,
        /// Under which token.
        token: FencingToken,
        /// How it ended.
        outcome: Outcome,
    },
    /// A run ended that had been taken over.
    Fenced {
        /// Which item.
        item: ShardingItem,
        /// Under which token it ran here.
        token: FencingToken,
    },
    /// A fire met the running item.
    MisfireNoted {
        /// Which item.
        item: ShardingItem,
        /// Which fires wait now.
        waiting: FireRange,
    },
    /// A fire is not run.
    Missed {
        /// Which item; `None` for all items of this instance.
        item: Option<ShardingItem>,
        /// Which fire.
        fire: FireTime,
        /// Why.
        reason: MissReason,
    },
    /// Scheduled fires of an item were not run: the item's record proves it. If the instance that found the gap may have been
    /// lost before it reported it, another one reports it again: item, `first` and `until` identify it.
    Gap {
        /// The item.
        item: ShardingItem,
        /// Its fires.
        gap: Gap,
    },
    /// A run without a holder was found.
    Orphaned {
        /// Which item.
        item: ShardingItem,
        /// Which fire it was for.
        fire: FireTime,
        /// Who held it.
        holder: InstanceId,
        /// Whether somebody shall take it over.
        failover: bool,
    },
    /// The strategy gave no usable assignment.
    StrategyFailed {
        /// What is wrong.
        reason: String,
    },
    /// The stored configuration cannot be used.
    ConfigRejected {
        /// What is wrong.
        reason: String,
    },
    /// A node holds what it should not.
    Anomaly {
        /// Which node.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A request to run is not pursued any more. It is told where the process was asked for it; of what others left that are no
    /// instances, or no longer, by the leader.
    RequestDropped {
        /// The id that it has, or would have had, in the registry.
        id: String,
        /// Why.
        reason: DropReason,
    },
    /// A transaction is over the registry's limit.
    CommitRefused {
        /// What it was for.
        reason: String,
    },
    /// An error handler has stopped the job here: the server is paused for it, until somebody resumes it.
    Stopped {
        /// Which handler, and what it was told.
        reason: String,
    },
}

/// Why a fire is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissReason {
    /// The next fire came before this one could be claimed: no assignment, no registry, or another owner.
    Superseded,
    /// The item still ran, and the job does not make up for such fires.
    StillRunning,
    /// The item is disabled.
    ItemDisabled,
    /// The job has fewer items now.
    ItemRetired,
    /// It is a request with a parameter, and a Java instance has the item, which cannot be told.
    ParameterNotCarried,
    /// This instance, or its server, is paused.
    Paused,
    /// The server of this instance is disabled.
    ServerDisabled,
    /// The clock differs too much from the registry's.
    ClockDiffers,
    /// This instance is leaving.
    Leaving,
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superseded => "the next fire came first",
            Self::StillRunning => "the item was still running",
            Self::ItemDisabled => "the item is disabled",
            Self::ItemRetired => "the item is retired",
            Self::ParameterNotCarried => "who has the item cannot be told the parameter",
            Self::Paused => "the instance is paused",
            Self::ServerDisabled => "the server is disabled",
            Self::ClockDiffers => "the clock differs too much from the registry's",
            Self::Leaving => "the instance is leaving",
        })
    }
}

/// Why a request to run is not pursued any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// This instance is leaving, and had not sent it: the items do not run for it.
    Leaving,
    /// It was on its way when the session ended or this instance began to leave. Nobody can tell whether it arrived:
    /// ask again if the items do not run for it, and know that they may.
    InDoubt,
    /// It has a parameter, and there is no place in which it could reach the runs: the job is not monitored, or a Java instance
    /// leads. No item runs for it.
    ParameterNotCarried,
    /// It has a parameter that is too long for so many items: all records together would hold more than
    /// [`MAX_TOLD_BYTES`](crate::MAX_TOLD_BYTES). No item runs for it.
    TooMuchToTell,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "the instance is leaving",
            Self::InDoubt => "whether it reached the registry is not known",
            Self::ParameterNotCarried => {
                "its parameter cannot reach the runs: the job is not monitored, or a Java instance leads"
            }
            Self::TooMuchToTell => {
                "its parameter is too long for so many items: all of them together hold 16 MiB at most"
            }
        })
    }
}

impl JobEvent {
    /// Returns the kind of event as a word for histories and metrics: `became_leader`, `misfire_noted`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Joined { .. } => "joined",
            Self::Left { .. } => "left",
            Self::BecameLeader { .. } => "became_leader",
            Self::LostLeadership => "lost_leadership",
            Self::Resharded { .. } => "resharded",
            Self::Claimed { .. } => "claimed",
            Self::Settled { .. } => "settled",
            Self::Fenced { .. } => "fenced",
            Self::MisfireNoted { .. } => "misfire_noted",
            Self::Missed { .. } => "missed",
            Self::Orphaned { .. } => "orphaned",
            Self::StrategyFailed { .. } => "strategy_failed",
            Self::ConfigRejected { .. } => "config_rejected",
            Self::Anomaly { .. } => "anomaly",
            Self::RequestDropped { .. } => "request_dropped",
            Self::CommitRefused { .. } => "commit_refused",
            Self::Stopped { .. } => "stopped",
            Self::Gap { .. } => "gap",
        }
    }
}

impl fmt::Display for JobEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { instance } => write!(f, "joined as {instance}"),
            Self::Left { instance } => write!(f, "{instance} left"),
            Self::BecameLeader { term } => write!(f, "became leader in term {term}"),
            Self::LostLeadership => f.write_str("leads no longer"),
            Self::Resharded { moved, deferred, instances, reason } => write!(
                f,
                "resharded for {instances} instances: {moved} items moved, {deferred} to follow ({reason})"
            ),
            Self::Claimed { item, fire, source, token } => {
                write!(f, "claimed item {item} for fire {fire}: {source}, token {token}")
            }
            Self::Settled { item, fire, source, token, outcome } => {
                write!(f, "item {item} {outcome} for fire {fire}: {source}, token {token}")
            }
            Self::Fenced { item, token } => {
                write!(f, "item {item} under token {token} had been taken over")
            }
            Self::MisfireNoted { item, waiting } => write!(f, "item {item} misfired: {waiting}"),
            Self::Missed { item: Some(item), fire, reason } => {
                write!(f, "item {item} missed fire {fire}: {reason}")
            }
            Self::Missed { item: None, fire, reason } => write!(f, "missed fire {fire}: {reason}"),
            Self::Gap { item, gap } => write!(f, "item {item}: {gap}"),
            Self::Orphaned { item, fire, holder, failover: true } => {
                write!(
                    f,
                    "item {item} of fire {fire} left unfinished by {holder}: somebody takes it over"
                )
            }
            Self::Orphaned { item, fire, holder, failover: false } => {
                write!(f, "item {item} of fire {fire} left unfinished by {holder}")
            }
            Self::StrategyFailed { reason } => write!(f, "sharding strategy failed: {reason}"),
            Self::ConfigRejected { reason } => write!(f, "stored configuration rejected: {reason}"),
            Self::Anomaly { path, reason } => write!(f, "{path}: {reason}"),
            Self::RequestDropped { id, reason } => write!(f, "request {id} dropped: {reason}"),
            Self::CommitRefused { reason } => write!(f, "transaction too large: {reason}"),
            Self::Stopped { reason } => write!(f, "stopped here: {reason}"),
        }
    }
}
