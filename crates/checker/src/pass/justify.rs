//! P6: causes of missed and late fires.
//!
//! A due fire stays due until the next one. A miss has no cause if an instance saw the fire come,
//! was not disturbed from then on, and could have claimed the fire for longer than a claim takes.

use super::Facts;
use crate::names::Name;
use crate::replay::trace::{Claimability, ItemTrace, JobTrace};

/// Owner that could have claimed a fire, and the period in which it could.
#[derive(Clone, Copy, Debug)]
pub(super) struct AbleOwner {
    pub(super) owner: Name,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// Reason that makes instances forget the fires that they have seen.
const NO_CONFIGURATION: &str = "there is no configuration";

impl Facts<'_> {
    /// Returns the owner that could have claimed or noted a fire between `due` and `until`.
    pub(super) fn able_owner(
        &self,
        job: &JobTrace,
        item: &ItemTrace,
        due: u64,
        until: u64,
    ) -> Option<AbleOwner> {
        let epsilon = self.bounds.epsilon;
        let first = item.claimability.partition_point(|(mt, _)| *mt <= due).saturating_sub(1);
        for (place, (begin, claimability)) in item.claimability.iter().enumerate().skip(first) {
            if *begin >= until {
                break;
            }
            let owner = match claimability {
                Claimability::Claimable(owner) | Claimability::Busy(Some(owner)) => *owner,
                Claimability::Blocked(NO_CONFIGURATION) => return None,
                Claimability::Blocked(_) | Claimability::Busy(None) => continue,
            };
            let from = (*begin).max(due);
            let next = item.claimability.get(place + 1).map_or(until, |(mt, _)| (*mt).min(until));
            if next.saturating_sub(from) <= epsilon {
                continue;
            }
            if self.is_able(job, owner, due, from.saturating_add(epsilon)) {
                return Some(AbleOwner { owner, from, until: next });
            }
        }
        None
    }

    /// Returns the owner that joined after the last fire of a schedule and could have caught up
    /// with it before `until`.
    pub(super) fn able_joiner(
        &self,
        job: &JobTrace,
        item: &ItemTrace,
        due: u64,
        until: u64,
    ) -> Option<AbleOwner> {
        let epsilon = self.bounds.epsilon;
        item.claimability.iter().enumerate().find_map(|(place, (begin, claimability))| {
            let Claimability::Claimable(owner) = *claimability else { return None };
            let next = item.claimability.get(place + 1).map_or(until, |(mt, _)| (*mt).min(until));
            let (process, joined) = self.process_of(job, owner, *begin)?;
            let server = self.replay.names.server_of(owner)?;
            let is_long = next.saturating_sub(*begin) > epsilon;
            let from = joined.max(*begin);
            let is_able = joined > due.saturating_add(epsilon)
                && is_long
                && job.was_enabled(server, due, next)
                && self.health.is_calm(process, from.saturating_add(epsilon), next);
            is_able.then_some(AbleOwner { owner, from: *begin, until: next })
        })
    }

    /// Returns true if an instance saw the fire come and was not disturbed up to `until`.
    ///
    /// An instance whose server is disabled or paused when a fire comes lets the fire pass,
    /// whatever happens later.
    fn is_able(&self, job: &JobTrace, owner: Name, due: u64, until: u64) -> bool {
        let epsilon = self.bounds.epsilon;
        let (before, after) = (due.saturating_sub(epsilon), due.saturating_add(epsilon));
        let server = self.replay.names.server_of(owner);
        let sees = server.is_some_and(|server| job.was_enabled(server, before, after));
        if !sees {
            return false;
        }
        let process = self.process_of(job, owner, before);
        process.is_some_and(|(process, _)| self.health.is_calm(process, before, until))
    }

    /// Returns true if another item of the same instance ran at that time.
    pub(super) fn runs_another(&self, owner: Name, item: u32, mt: u64) -> bool {
        self.trace().claims.iter().any(|claim| {
            let over = claim.end.map_or(self.end, |end| end.spot.mt);
            claim.holder == owner && claim.slot.item != item && claim.spot.mt < mt && mt < over
        })
    }
}
