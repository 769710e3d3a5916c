//! The log as a subscriber of job events: fixed messages, data in fields.
//!
//! | level | events |
//! |---|---|
//! | error | an operator must act: strategy, configuration or transaction rejected |
//! | warn | degraded, but recovers without an operator: missed fires, orphaned runs, fenced runs |
//! | info | a change of state: joined, left, leads, resharded, taken over |
//! | debug | the runs of a healthy job |

use coordination::{ClockDifference, FencingToken, FireTime, Gap, JobEvent, MissReason, RunSource};
use sharding::ShardingItem;
use tracing::{debug, error, info, warn};

use crate::context::timestamp;
use crate::{EventSubscriber, JobRecord};

/// Logs every record with `tracing`, inside the span `job{job, instance}`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogSubscriber;

impl EventSubscriber for LogSubscriber {
    fn on_event(&self, record: &JobRecord) {
        log(&record.event);
    }
}

fn log(event: &JobEvent) {
    match event {
        JobEvent::Joined { instance } => info!(%instance, "joined"),
        JobEvent::Left { instance } => info!(%instance, "left"),
        JobEvent::Suspended => warn!("connection to the registry lost"),
        JobEvent::Reconnected { outage } => info!(%outage, "reconnected in the same session"),
        JobEvent::SessionLost { instance } => warn!(%instance, "session lost"),
        JobEvent::SessionStarted { instance, outage } => {
            info!(%instance, %outage, "new session after a lost one");
        }
        JobEvent::BecameLeader { term } => info!(term, "became leader"),
        JobEvent::LostLeadership => info!("lost leadership"),
        JobEvent::Resharded { moved, items, deferred, instances, reason } => {
            info!(moved, %items, deferred, instances, reason, "resharded");
        }
        JobEvent::Claimed { item, fire, source, token, past_fire } => {
            claimed(*item, *fire, *source, *token, *past_fire);
        }
        JobEvent::Settled { item, fire, source, token, outcome } => {
            let fire_time = timestamp(*fire);
            debug!(%item, %fire_time, %source, %token, %outcome, "settled");
        }
        JobEvent::Cancelled { item, fire, token, by, why, .. } => {
            let fire_time = timestamp(*fire);
            warn!(%item, %fire_time, %token, by, why, "run cancelled");
        }
        JobEvent::Fenced { item, token } => warn!(%item, %token, "run had been taken over"),
        JobEvent::MisfireNoted { item, waiting } => debug!(%item, %waiting, "misfire noted"),
        JobEvent::Missed { item, fire, reason } => missed(*item, *fire, *reason),
        JobEvent::Gap { item, gap } => fires_not_run(*item, gap),
        JobEvent::Orphaned { item, fire, holder, failover } => {
            let fire_time = timestamp(*fire);
            warn!(%item, %fire_time, %holder, failover, "run left unfinished");
        }
        JobEvent::StrategyFailed { reason } => error!(reason, "sharding strategy failed"),
        JobEvent::ConfigRejected { reason } => error!(reason, "stored configuration rejected"),
        JobEvent::Anomaly { path, reason } => warn!(path, reason, "unexpected node content"),
        JobEvent::ChangesMissed { count, nodes } => {
            error!(count, nodes, "the registry did not deliver changes; the job is read anew")
        }
        JobEvent::RequestDropped { id, reason } => warn!(id, %reason, "request to run dropped"),
        JobEvent::CommitRefused { reason } => error!(reason, "transaction too large"),
        JobEvent::ClockDiffers { ahead_ms } => clock_differs(*ahead_ms),
        JobEvent::ClockAgrees => info!("clock agrees with the registry's again"),
        JobEvent::Stopped { reason } => {
            error!(reason, "stopped on this server until an operator resumes it")
        }
        other => info!(event = %other, "job event"),
    }
}

fn claimed(
    item: ShardingItem,
    fire: FireTime,
    source: RunSource,
    token: FencingToken,
    past_fire: Option<FireTime>,
) {
    let fire_time = timestamp(fire);
    let past_fire = past_fire.map(|past| tracing::field::display(timestamp(past)));
    match source {
        RunSource::Failover => info!(%item, %fire_time, %token, past_fire, "failover taken"),
        RunSource::Normal | RunSource::Misfire | RunSource::Manual | RunSource::Backfill => {
            debug!(%item, %fire_time, %source, %token, past_fire, "claimed");
        }
    }
}

fn missed(item: Option<ShardingItem>, fire: FireTime, reason: MissReason) {
    let (item, fire_time) = (item.map(|item| item.index()), timestamp(fire));
    // `ClockDiffers` reports the cause once, when the clocks begin to differ.
    if reason == MissReason::ClockDiffers {
        debug!(item, %fire_time, %reason, "fire missed");
    } else {
        warn!(item, %fire_time, %reason, "fire missed");
    }
}

fn fires_not_run(item: ShardingItem, gap: &Gap) {
    let (first, until) = (timestamp(gap.first), timestamp(gap.until));
    let (config, changed_to) = (gap.config.map(|v| v.0), gap.changed_to.map(|v| v.0));
    warn!(%item, %first, %until, count = gap.count, config, changed_to, "fires not run");
}

fn clock_differs(ahead_ms: i64) {
    let difference = ClockDifference(ahead_ms);
    error!(
        ahead_ms,
        %difference,
        "clocks differ by more than max_time_diff: this instance misses its fires"
    );
}
