//! Job events: what happened to a job on this instance, for logs, metrics and histories.

use std::fmt;

use sharding::{InstanceId, ShardingItem};

use crate::{FencingToken, FireRange, FireTime, Gap, Now, Outcome, RunSource};

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
/// | `Fenced` | a run of this instance ended after a takeover; its result does not count |
/// | `MisfireNoted` | a fire met the busy item and is noted for a later run |
/// | `Missed` | a fire of an item is not run, with the reason |
/// | `Gap` | scheduled fires were not run, as the next change of the record shows |
/// | `Orphaned` | this instance, as leader, has found a run whose holder is gone |
/// | `StrategyFailed` | the strategy gave no usable assignment; the former one stays |
/// | `ConfigRejected` | the stored configuration is invalid; the last valid one stays in force |
/// | `Anomaly` | a node has invalid data, which is ignored |
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
    /// A run ended after another instance had taken it over.
    Fenced {
        /// The item.
        item: ShardingItem,
        /// Fencing token of the run.
        token: FencingToken,
    },
    /// A fire met the busy item.
    MisfireNoted {
        /// The item.
        item: ShardingItem,
        /// All fires that wait for a run now.
        waiting: FireRange,
    },
    /// A fire is not run.
    Missed {
        /// The item. `None` for all items of this instance.
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

/// A time without a connection to the registry, by the wall clock of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Loss of the connection, in milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Return of the connection, in milliseconds since 1970 UTC. `None` while it is lost.
    pub until_ms: Option<i64>,
}

impl Outage {
    pub(crate) fn beginning(now: Now) -> Self {
        Self { from_ms: now.wall_ms, until_ms: None }
    }

    pub(crate) fn ended(self, now: Now) -> Self {
        Self { until_ms: Some(now.wall_ms), ..self }
    }

    /// Returns true if the outage had not ended at a time.
    pub(crate) fn reaches(&self, time: FireTime) -> bool {
        self.until_ms.is_none_or(|until| until > time.0)
    }
}

/// `since 2024-02-29T12:00:00Z`, or `from 2024-02-29T12:00:00Z to 2024-02-29T12:00:24Z`.
impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = FireTime(self.from_ms);
        match self.until_ms {
            None => write!(f, "since {from}"),
            Some(until) => write!(f, "from {from} to {}", FireTime(until)),
        }
    }
}

/// Reason why a fire is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissReason {
    /// The next fire came before this one could be claimed, because the item had no assignment or
    /// another owner.
    Superseded,
    /// The next fire came before the registry could be reached again.
    RegistryUnreachable(Outage),
    /// The item was busy, and the job does not replay misfires.
    StillRunning,
    /// The item is disabled.
    ItemDisabled,
    /// The job has fewer items now.
    ItemRetired,
    /// The request has a parameter, and a Java instance owns the item: it cannot take one.
    ParameterNotCarried,
    /// This instance or its server is paused.
    Paused,
    /// The server of this instance is disabled.
    ServerDisabled,
    /// This instance's clock differs too much from the registry's.
    ClockDiffers,
    /// This instance is leaving.
    Leaving,
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superseded => "the next fire came first",
            Self::RegistryUnreachable(outage) => {
                return write!(f, "the registry could not be reached {outage}");
            }
            Self::StillRunning => "the item was still running",
            Self::ItemDisabled => "the item is disabled",
            Self::ItemRetired => "the item is retired",
            Self::ParameterNotCarried => {
                "the Java instance that owns the item cannot take a parameter"
            }
            Self::Paused => "the instance is paused",
            Self::ServerDisabled => "the server is disabled",
            Self::ClockDiffers => "the clock differs too much from the registry's",
            Self::Leaving => "the instance is leaving",
        })
    }
}

/// Reason why a manual request is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// This instance is leaving and had not sent the request. No item runs for it.
    Leaving,
    /// The session ended, or this instance began to leave, while the request was being sent. Its
    /// outcome is unknown, and items may run for it. The author repeats it if no item does.
    InDoubt,
    /// The request has a parameter that cannot reach the runs: the job is not monitored, or a Java
    /// instance leads. No item runs for it.
    ParameterNotCarried,
    /// The parameter is too long for this number of items: all records together would hold more
    /// than [`MAX_REQUEST_BYTES`](crate::MAX_REQUEST_BYTES). No item runs for it.
    TooMuchToTell,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "the instance is leaving",
            Self::InDoubt => "its outcome is unknown: it may have reached the registry",
            Self::ParameterNotCarried => {
                "its parameter cannot reach the runs: the job is not monitored, or a Java instance \
                 leads"
            }
            Self::TooMuchToTell => {
                "its parameter is too long for this number of items: together they hold at most \
                 16 MiB of parameters"
            }
        })
    }
}

/// Difference between the clocks of an instance and the registry, in milliseconds: positive if the
/// instance's clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference(pub i64);

impl fmt::Display for ClockDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, way) = (self.0.unsigned_abs(), if self.0 < 0 { "behind" } else { "ahead of" });
        let (seconds, rest) = (ms / 1_000, ms % 1_000);
        write!(f, "this instance's clock is {seconds}.{rest:03} s {way} the registry's")
    }
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
            Self::Fenced { .. } => "fenced",
            Self::MisfireNoted { .. } => "misfire_noted",
            Self::Missed { .. } => "missed",
            Self::Orphaned { .. } => "orphaned",
            Self::StrategyFailed { .. } => "strategy_failed",
            Self::ConfigRejected { .. } => "config_rejected",
            Self::Anomaly { .. } => "anomaly",
            Self::RequestDropped { .. } => "request_dropped",
            Self::CommitRefused { .. } => "commit_refused",
            Self::ClockDiffers { .. } => "clock_differs",
            Self::ClockAgrees => "clock_agrees",
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
            Self::Suspended => f.write_str("the connection to the registry is lost"),
            Self::Reconnected { outage } => {
                write!(f, "reconnected in the same session: no connection {outage}")
            }
            Self::SessionLost { instance } => write!(f, "the session of {instance} is lost"),
            Self::SessionStarted { instance, outage } => {
                write!(f, "new session as {instance}: no connection {outage}")
            }
            Self::BecameLeader { term } => write!(f, "became leader in term {term}"),
            Self::LostLeadership => f.write_str("is no longer the leader"),
            Self::Resharded { moved, deferred, instances, reason } => {
                write!(f, "resharded for {}: ", counted(*instances, "instance"))?;
                write!(f, "{} moved, {deferred} pending ({reason})", counted(*moved, "item"))
            }
            Self::Claimed { item, fire, source, token } => {
                write!(f, "claimed item {item} for the fire of {fire}: {source}, token {token}")
            }
            Self::Settled { item, fire, source, token, outcome } => {
                write!(f, "item {item} {outcome} for the fire of {fire}: {source}, token {token}")
            }
            Self::Fenced { item, token } => {
                write!(
                    f,
                    "the result of item {item} under token {token} does not count: \
                     another instance had taken the run over"
                )
            }
            Self::MisfireNoted { item, waiting } => {
                write!(f, "item {item} was still running at {waiting}")
            }
            Self::Missed { item: Some(item), fire, reason } => {
                write!(f, "item {item} missed the fire of {fire}: {reason}")
            }
            Self::Missed { item: None, fire, reason } => {
                write!(f, "missed the fire of {fire}: {reason}")
            }
            Self::Gap { item, gap } => write!(f, "item {item}: {gap}"),
            Self::Orphaned { item, fire, holder, failover } => {
                let next = if *failover { "waits for a takeover" } else { "ends as interrupted" };
                write!(
                    f,
                    "the run of item {item} for the fire of {fire} is orphaned and {next}: \
                     its holder {holder} is gone"
                )
            }
            Self::StrategyFailed { reason } => write!(f, "sharding strategy failed: {reason}"),
            Self::ConfigRejected { reason } => write!(f, "stored configuration rejected: {reason}"),
            Self::Anomaly { path, reason } => write!(f, "{path}: {reason}"),
            Self::RequestDropped { id, reason } => write!(f, "request {id} dropped: {reason}"),
            Self::CommitRefused { reason } => write!(f, "transaction too large: {reason}"),
            Self::ClockDiffers { ahead_ms } => write!(f, "{}", ClockDifference(*ahead_ms)),
            Self::ClockAgrees => {
                f.write_str("this instance's clock agrees with the registry's again")
            }
            Self::Stopped { reason } => {
                write!(f, "an error handler stopped the job on this server: {reason}")
            }
        }
    }
}

/// Returns `1 item`, `2 items`.
fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: FireTime = FireTime(1_709_208_000_000);

    #[test]
    fn texts_have_utc_times_and_grammatical_number() {
        let item = ShardingItem::new(3);
        let instance = || InstanceId::new("10.0.0.1@-@7");
        let (source, token) = (RunSource::Normal, FencingToken(4));
        let resharded = |moved, deferred, instances| JobEvent::Resharded {
            moved,
            deferred,
            instances,
            reason: "an instance joined".to_owned(),
        };
        let until = FireTime(NOON.0 + 8_000);
        let ended = Outage { from_ms: NOON.0, until_ms: Some(until.0) };
        let lasting = MissReason::RegistryUnreachable(Outage { until_ms: None, ..ended });
        let waiting = |count| FireRange { first: NOON, last: until, count };
        let orphaned =
            |failover| JobEvent::Orphaned { item, fire: NOON, holder: instance(), failover };
        let rows = [
            (
                JobEvent::Claimed { item, fire: NOON, source, token },
                "claimed item 3 for the fire of 2024-02-29T12:00:00Z: NORMAL, token 4",
            ),
            (
                JobEvent::Settled { item, fire: NOON, source, token, outcome: Outcome::Failed },
                "item 3 failed for the fire of 2024-02-29T12:00:00Z: NORMAL, token 4",
            ),
            (
                resharded(1, 0, 1),
                "resharded for 1 instance: 1 item moved, 0 pending (an instance joined)",
            ),
            (
                resharded(2, 1, 3),
                "resharded for 3 instances: 2 items moved, 1 pending (an instance joined)",
            ),
            (JobEvent::LostLeadership, "is no longer the leader"),
            (JobEvent::Suspended, "the connection to the registry is lost"),
            (
                JobEvent::Reconnected { outage: ended },
                "reconnected in the same session: no connection from 2024-02-29T12:00:00Z to \
                 2024-02-29T12:00:08Z",
            ),
            (JobEvent::SessionLost { instance: instance() }, "the session of 10.0.0.1@-@7 is lost"),
            (
                JobEvent::SessionStarted { instance: instance(), outage: ended },
                "new session as 10.0.0.1@-@7: no connection from 2024-02-29T12:00:00Z to \
                 2024-02-29T12:00:08Z",
            ),
            (
                JobEvent::Missed { item: None, fire: NOON, reason: lasting },
                "missed the fire of 2024-02-29T12:00:00Z: the registry could not be reached since \
                 2024-02-29T12:00:00Z",
            ),
            (
                JobEvent::MisfireNoted { item, waiting: waiting(1) },
                "item 3 was still running at the fire of 2024-02-29T12:00:08Z",
            ),
            (
                JobEvent::MisfireNoted { item, waiting: waiting(5) },
                "item 3 was still running at 5 fires from 2024-02-29T12:00:00Z to \
                 2024-02-29T12:00:08Z",
            ),
            (
                JobEvent::Missed { item: Some(item), fire: NOON, reason: MissReason::Superseded },
                "item 3 missed the fire of 2024-02-29T12:00:00Z: the next fire came first",
            ),
            (
                JobEvent::Missed { item: None, fire: NOON, reason: MissReason::Paused },
                "missed the fire of 2024-02-29T12:00:00Z: the instance is paused",
            ),
            (
                orphaned(true),
                "the run of item 3 for the fire of 2024-02-29T12:00:00Z is orphaned and waits for \
                 a takeover: its holder 10.0.0.1@-@7 is gone",
            ),
            (
                orphaned(false),
                "the run of item 3 for the fire of 2024-02-29T12:00:00Z is orphaned and ends as \
                 interrupted: its holder 10.0.0.1@-@7 is gone",
            ),
        ];
        for (event, sentence) in rows {
            assert_eq!(event.to_string(), sentence, "{event:?}");
        }
    }
}
