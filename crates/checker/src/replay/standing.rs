//! Whether a due fire of an item could be claimed, revision by revision: what misses and delays are judged by.

use crate::docs::State;
use crate::names::{Name, Names};
use crate::replay::Replay;
use crate::replay::job::{Job, Server};
use crate::replay::nodes::JobIndex;
use crate::replay::trace::Standing;

impl Replay {
    /// Notes how an item stands now, if that has changed.
    pub(super) fn stand(&mut self, job: JobIndex, item: u32) {
        let standing = standing(&self.jobs[job], item, &self.names);
        let mt = self.spot.mt;
        let standings = &mut self.trace.job(job).items.entry(item).or_default().standings;
        if standings.last().is_none_or(|(_, last)| *last != standing) {
            standings.push((mt, standing));
        }
    }
}

fn standing(job: &Job, i: u32, names: &Names) -> Standing {
    let (Some(config), Some(item)) = (job.config(), job.items.get(&i)) else {
        return Standing::Blocked("there is no configuration");
    };
    if i >= config.total {
        return Standing::Blocked("the job has fewer items");
    }
    if !config.monitor {
        return Standing::Blocked("the job is not monitored");
    }
    let Some(ledger) = item.ledger else { return Standing::Blocked("it has no record") };
    match ledger.state {
        State::Retired => return Standing::Blocked("it is retired"),
        State::Running | State::Orphan => {
            let notes = |owner: &Name| {
                job.server_of(*owner, names) == Some(Server::Enabled)
                    && job.is_available(*owner, names)
            };
            // A job that catches up runs each fire by itself, and notes none.
            let noted = config.misfire && config.catch_up.is_none();
            return Standing::Busy(item.owner.filter(|owner| noted && notes(owner)));
        }
        State::Idle => {}
    }
    let Some(owner) = item.owner else { return Standing::Blocked("it has no owner") };
    match job.server_of(owner, names) {
        _ if !job.instances.contains_key(&owner) => Standing::Blocked("its owner is gone"),
        _ if job.draining.contains(&owner) => Standing::Blocked("its owner leaves"),
        None => Standing::Blocked("its server is not known"),
        Some(Server::Disabled) => Standing::Blocked("its server is disabled"),
        Some(Server::Paused) => Standing::Blocked("its server is paused"),
        Some(Server::Enabled) if job.pending(i).is_some() => Standing::Blocked("it has to move"),
        Some(Server::Enabled) if !job.fits_config() => {
            Standing::Blocked("the number of items has changed")
        }
        Some(Server::Enabled) if item.disabled || ledger.disabled => {
            Standing::Blocked("it is disabled")
        }
        Some(Server::Enabled) if item.running => Standing::Blocked("it is shown as running"),
        Some(Server::Enabled) => Standing::Claimable(owner),
    }
}
