//! The record: everything of note that happened to a job here, for logs, metrics and histories.

use std::fmt;

use sharding::{InstanceId, ShardingItem};

use crate::{FencingToken, FireRange, FireTime, Gap, Now, Outcome, RunSource};

/// Something of note.
///
/// | event | when |
/// |---|---|
/// | `Joined` | this instance is registered |
/// | `Left` | this instance has left in an orderly way |
/// | `Suspended` | the connection to the registry is gone; the session may live on |
/// | `Reconnected` | the connection is back, in the same session |
/// | `SessionLost` | the session is over, and with it the incarnation |
/// | `SessionStarted` | a new session has taken the place of a lost one, with a new incarnation |
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
/// | `ClockDiffers`, `ClockAgrees` | the clock of this instance differs from the registry's by more than the bound, or no longer |
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
    /// The connection to the registry is gone. The session may live on.
    Suspended,
    /// The connection is back, in the same session.
    Reconnected {
        /// How long it was gone.
        outage: Outage,
    },
    /// The session is over, and with it the incarnation.
    SessionLost {
        /// The incarnation that ended.
        instance: InstanceId,
    },
    /// A new session has taken the place of a lost one.
    SessionStarted {
        /// The incarnation of the new session.
        instance: InstanceId,
        /// How long the registry could not be reached.
        outage: Outage,
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
    /// The clock of this instance differs from the registry's by more than the bound: it misses its fires until they agree.
    ClockDiffers {
        /// How far this instance's clock is ahead of the registry's, in milliseconds; negative if it is behind.
        ahead_ms: i64,
    },
    /// The clocks agree again.
    ClockAgrees,
    /// An error handler has stopped the job here: the server is paused for it, until somebody resumes it.
    Stopped {
        /// Which handler, and what it was told.
        reason: String,
    },
}

/// A time in which this instance could not reach the registry, by its wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When the connection was lost, in milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// When it was back, in milliseconds since 1970 UTC; `None` while it is gone.
    pub until_ms: Option<i64>,
}

impl Outage {
    pub(crate) fn beginning(now: Now) -> Self {
        Self { from_ms: now.wall_ms, until_ms: None }
    }

    pub(crate) fn ended(self, now: Now) -> Self {
        Self { until_ms: Some(now.wall_ms), ..self }
    }

    /// Returns true if the outage lasts, or had not ended at a time.
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

/// Why a fire is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissReason {
    /// The next fire came before this one could be claimed: no assignment, or another owner.
    Superseded,
    /// The next fire came first, and the registry could not be reached in between.
    RegistryUnreachable(Outage),
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

/// By how far the clock of an instance is ahead of the registry's, in milliseconds; negative if it is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDifference(pub i64);

impl fmt::Display for ClockDifference {
    /// One sentence for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ms, way) = (self.0.unsigned_abs(), if self.0 < 0 { "behind" } else { "ahead of" });
        let (seconds, rest) = (ms / 1_000, ms % 1_000);
        write!(f, "this instance's clock is {seconds}.{rest:03} s {way} the registry's")
    }
}

impl JobEvent {
    /// Returns the kind of event as a word for histories and metrics: `became_leader`, `misfire_noted`.
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
            Self::Suspended => f.write_str("the connection to the registry is gone"),
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
                write!(f, "item {item} under token {token} had been taken over")
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
                let next = if *failover { "" } else { "not " };
                write!(
                    f,
                    "{holder} left item {item} unfinished for the fire of {fire}: \
                     it is {next}to be taken over"
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
            Self::Stopped { reason } => write!(f, "stopped here: {reason}"),
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
    fn sentences_have_utc_times_and_grammatical_number() {
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
            (JobEvent::Suspended, "the connection to the registry is gone"),
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
                "10.0.0.1@-@7 left item 3 unfinished for the fire of 2024-02-29T12:00:00Z: \
                 it is to be taken over",
            ),
            (
                orphaned(false),
                "10.0.0.1@-@7 left item 3 unfinished for the fire of 2024-02-29T12:00:00Z: \
                 it is not to be taken over",
            ),
        ];
        for (event, sentence) in rows {
            assert_eq!(event.to_string(), sentence, "{event:?}");
        }
    }
}
