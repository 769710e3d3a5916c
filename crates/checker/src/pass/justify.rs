//! P6: whether a miss or a delay has a cause.
//!
//! A due fire stays due until the next one. So it is without a cause if somebody who saw it come, and whom nothing
//! troubled from then on, could have claimed it for longer than a claim takes.

use super::Facts;
use crate::names::Name;
use crate::replay::trace::{ItemTrace, JobTrace, Standing};

/// Who could have acted, from when to when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unused {
    pub(super) owner: Name,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// What takes fires away from whoever saw them come.
const FORGETS: &str = "there is no configuration";

impl Facts<'_> {
    /// Returns who could have claimed, or noted, a fire that came at `due`, before `until`.
    pub(super) fn unused(
        &self,
        job: &JobTrace,
        item: &ItemTrace,
        due: u64,
        until: u64,
    ) -> Option<Unused> {
        let epsilon = self.bounds.epsilon;
        let first = item.standings.partition_point(|(mt, _)| *mt <= due).saturating_sub(1);
        for (place, (begin, standing)) in item.standings.iter().enumerate().skip(first) {
            if *begin >= until {
                break;
            }
            let owner = match standing {
                Standing::Claimable(owner) | Standing::Busy(Some(owner)) => *owner,
                Standing::Blocked(FORGETS) => return None,
                Standing::Blocked(_) | Standing::Busy(None) => continue,
            };
            let from = (*begin).max(due);
            let next = item.standings.get(place + 1).map_or(until, |(mt, _)| (*mt).min(until));
            if next.saturating_sub(from) <= epsilon {
                continue;
            }
            if self.is_able(job, owner, due, from.saturating_add(epsilon)) {
                return Some(Unused { owner, from, until: next });
            }
        }
        None
    }

    /// Returns true if an instance saw the fire come, and nothing troubles it up to `until`. Whose server is disabled or
    /// paused when a fire comes lets it pass, whatever it may do afterwards.
    fn is_able(&self, job: &JobTrace, owner: Name, due: u64, until: u64) -> bool {
        let epsilon = self.bounds.epsilon;
        let (before, after) = (due.saturating_sub(epsilon), due.saturating_add(epsilon));
        let server = self.replay.names.server_of(owner);
        let sees = server.is_some_and(|server| job.was_enabled(server, before, after));
        let process = self.process_of(job, owner, before).filter(|_| sees);
        process.is_some_and(|(process, _)| self.health.is_calm(process, before, until))
    }

    /// Returns true if another item of whoever holds this one ran at that time.
    pub(super) fn runs_another(&self, owner: Name, item: u32, mt: u64) -> bool {
        self.trace().claims.iter().any(|claim| {
            let over = claim.end.map_or(self.end, |end| end.spot.mt);
            claim.holder == owner && claim.item != item && claim.spot.mt < mt && mt < over
        })
    }
}
