//! Claimability of an item, revision by revision, as the basis for judging misses and delays.

use crate::docs::{Config, Ledger, State};
use crate::names::{Name, Names};
use crate::replay::Replay;
use crate::replay::job::{Job, Server};
use crate::replay::nodes::JobIndex;
use crate::replay::trace::Claimability;

impl Replay {
    /// Records the claimability of an item, if it has changed.
    pub(super) fn record_claimability(&mut self, job: JobIndex, item: u32) {
        let now = claimability_of(&self.jobs[job], item, &self.names);
        let mt = self.spot.mt;
        let states = &mut self.trace.job(job).items.entry(item).or_default().claimability;
        if states.last().is_none_or(|(_, last)| *last != now) {
            states.push((mt, now));
        }
    }
}

/// Returns true if the item has as many queued fires as its job allows. A fire that comes then is
/// not noted.
fn is_queue_full(config: &Config, ledger: &Ledger) -> bool {
    let queued = ledger.misfire.filter(|_| ledger.queued.is_some());
    let n = queued.map_or(0, |noted| usize::try_from(noted.count).unwrap_or(usize::MAX));
    config.queue_limit.is_some_and(|max| n >= max)
}

fn claimability_of(job: &Job, i: u32, names: &Names) -> Claimability {
    let (Some(config), Some(item)) = (job.config(), job.items.get(&i)) else {
        return Claimability::Blocked("there is no configuration");
    };
    if i >= config.total {
        return Claimability::Blocked("the job has fewer items");
    }
    if !config.monitor {
        return Claimability::Blocked("the job is not monitored");
    }
    let Some(ledger) = item.first.ledger else {
        return Claimability::Blocked("the item has no record");
    };
    if ledger.state == State::Retired {
        return Claimability::Blocked("the item is retired");
    }
    let is_disabled = item.disabled || ledger.disabled;
    // A disabled item starts nothing in its further slots.
    let may_begin =
        !is_disabled && (item.has_free_slot(config.slots) || item.may_get_slot(config.slots));
    let meets_runs = !is_disabled && item.runs() >= config.slots;
    if (ledger.is_busy() && !may_begin) || meets_runs {
        let notes = |owner: &Name| {
            job.server_of(*owner, names) == Some(Server::Enabled) && job.is_available(*owner, names)
        };
        // A job with catch-up runs each fire by itself and notes none. With a fixed delay no later
        // fire comes, so that the due one waits.
        let schedule = job.config.as_ref().and_then(|config| config.schedule.as_ref());
        let waits = schedule.is_some_and(|schedule| schedule.fixed_delay().is_some());
        let noted = config.misfire && config.catch_up.is_none() && !waits;
        let has_room = !is_queue_full(config, &ledger);
        return Claimability::Busy(item.owner.filter(|owner| noted && has_room && notes(owner)));
    }
    let Some(owner) = item.owner else { return Claimability::Blocked("the item has no owner") };
    match job.server_of(owner, names) {
        _ if !job.instances.contains_key(&owner) => Claimability::Blocked("its owner is gone"),
        _ if job.draining.contains(&owner) => Claimability::Blocked("its owner leaves"),
        _ if !job.is_admitted(owner) => {
            Claimability::Blocked("its owner does not meet a required condition")
        }
        None => Claimability::Blocked("its server is not known"),
        Some(Server::Disabled) => Claimability::Blocked("its server is disabled"),
        Some(Server::Paused) => Claimability::Blocked("its server is paused"),
        Some(Server::Enabled) if job.pending(i).is_some() => {
            Claimability::Blocked("the item is pending")
        }
        Some(Server::Enabled) if !job.fits_config() => {
            Claimability::Blocked("the number of items has changed")
        }
        Some(Server::Enabled) if is_disabled => Claimability::Blocked("the item is disabled"),
        Some(Server::Enabled) if !may_begin => {
            Claimability::Blocked("the item is marked as running")
        }
        Some(Server::Enabled) if job.is_full() => {
            Claimability::Blocked("a limit of the job or of its group is reached")
        }
        Some(Server::Enabled) => Claimability::Claimable(owner),
    }
}
