//! Job events as text, for logs.

use std::fmt;

use super::{ClockDifference, JobEvent};

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
            Self::Resharded { moved, items, deferred, instances, reason } => {
                write!(f, "resharded for {}: ", counted(*instances, "instance"))?;
                write!(f, "{} moved", counted(*moved, "item"))?;
                if *moved > 0 {
                    write!(f, ": {items}")?;
                }
                write!(f, "; {deferred} pending ({reason})")
            }
            Self::Claimed { item, fire, source, token, past_fire } => {
                write!(f, "claimed item {item} for the fire of {fire}: {source}, token {token}")?;
                past_fire.map_or(Ok(()), |past| write!(f, ", past fire {past}"))
            }
            Self::Settled { item, fire, source, token, outcome } => {
                write!(f, "item {item} {outcome} for the fire of {fire}: {source}, token {token}")
            }
            Self::Cancelled { item, fire, token, by, why, .. } => {
                write!(
                    f,
                    "the run of item {item} for the fire of {fire}, token {token}, was cancelled \
                     by {by}: {why}"
                )
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
                write!(f, "the run of item {item} for the fire of {fire} is orphaned and ")?;
                let next = if *failover { "waits for a takeover" } else { "ends as interrupted" };
                write!(f, "{next}: its holder {holder} is gone")
            }
            Self::StrategyFailed { reason } => write!(f, "sharding strategy failed: {reason}"),
            Self::ConfigRejected { reason } => write!(f, "stored configuration rejected: {reason}"),
            Self::Anomaly { path, reason } => write!(f, "{path}: {reason}"),
            Self::ChangesMissed { count, nodes } => {
                write!(f, "the registry did not deliver changes of {}: ", counted(*count, "node"))?;
                write!(f, "{nodes}; the job is read anew")
            }
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
    use sharding::{InstanceId, ShardingItem};

    use super::*;
    use crate::{FencingToken, FireRange, FireTime, MissReason, Outage, Outcome, RunSource};

    const NOON: FireTime = FireTime(1_709_208_000_000);

    #[test]
    fn texts_have_utc_times_and_grammatical_number() {
        let item = ShardingItem::new(3);
        let instance = || InstanceId::new("10.0.0.1@-@7");
        let (source, token) = (RunSource::Normal, FencingToken(4));
        let resharded = |moved: &[u32], deferred, instances| JobEvent::Resharded {
            moved: moved.len(),
            items: moved.iter().copied().map(ShardingItem::new).collect(),
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
                JobEvent::Claimed { item, fire: NOON, source, token, past_fire: None },
                "claimed item 3 for the fire of 2024-02-29T12:00:00Z: NORMAL, token 4",
            ),
            (
                JobEvent::Claimed { item, fire: until, source, token, past_fire: Some(NOON) },
                "claimed item 3 for the fire of 2024-02-29T12:00:08Z: NORMAL, token 4, past fire \
                 2024-02-29T12:00:00Z",
            ),
            (
                JobEvent::Settled { item, fire: NOON, source, token, outcome: Outcome::Failed },
                "item 3 failed for the fire of 2024-02-29T12:00:00Z: NORMAL, token 4",
            ),
            (
                resharded(&[], 2, 1),
                "resharded for 1 instance: 0 items moved; 2 pending (an instance joined)",
            ),
            (
                resharded(&[4], 0, 1),
                "resharded for 1 instance: 1 item moved: 4; 0 pending (an instance joined)",
            ),
            (
                resharded(&[0, 1, 5], 1, 3),
                "resharded for 3 instances: 3 items moved: 0-1, 5; 1 pending (an instance joined)",
            ),
            (
                JobEvent::Cancelled {
                    item,
                    fire: NOON,
                    source,
                    holder: instance(),
                    token,
                    by: "anna".to_owned(),
                    why: "wrong month".to_owned(),
                },
                "the run of item 3 for the fire of 2024-02-29T12:00:00Z, token 4, was cancelled \
                 by anna: wrong month",
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
