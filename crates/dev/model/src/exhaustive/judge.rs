//! The safety properties as predicates over the views before and after a transaction. They ignore
//! the guards of the transaction.

use coordination::internals::ViewQueries as _;
use coordination::{ItemView, JobView, Ledger, LedgerState, RunSource, server_of};
use sharding::{InstanceId, ShardingItem};

use super::registry::CURRENT;
use super::rule::Breach;
use super::state::Process;

/// A committed transaction.
pub(super) struct Transition<'a> {
    pub(super) before: &'a JobView,
    pub(super) after: &'a JobView,
    /// The process that committed the transaction.
    pub(super) actor: &'a Process,
    pub(super) me: &'a InstanceId,
    /// Returns true if the session of the instance is alive.
    pub(super) is_alive: &'a dyn Fn(&InstanceId) -> bool,
}

impl Transition<'_> {
    pub(super) fn breach(&self) -> Option<Breach> {
        let items: std::collections::BTreeSet<_> =
            self.before.items().chain(self.after.items()).map(|(item, _)| item).collect();
        items
            .into_iter()
            .find_map(|item| self.breach_of(item))
            .or_else(|| self.breach_of_leader())
            .or_else(|| breach_of_assignment(self.after))
    }

    fn breach_of(&self, item: ShardingItem) -> Option<Breach> {
        let (before, after) = (self.before.item(item), self.after.item(item));
        let moved = owner(before) != owner(after);
        if moved && !self.holds_term() {
            return Some(Breach::Leader);
        }
        let old = before.ledger.as_ref().map(|ledger| &ledger.value)?;
        if moved && old.is_busy() {
            return Some(Breach::MovedUnderRun);
        }
        let new = after.ledger.as_ref().map(|ledger| &ledger.value)?;
        if new.token < old.token {
            return Some(Breach::Claims);
        }
        if new.last_fire < old.last_fire {
            return Some(Breach::FireAgain);
        }
        let begins =
            new.running().is_some() && new.running() != old.running() || new.token != old.token;
        if begins {
            return self.breach_of_claim(item, old, new);
        }
        self.breach_of_end(item, old, new)
    }

    fn breach_of_claim(&self, item: ShardingItem, old: &Ledger, new: &Ledger) -> Option<Breach> {
        let view = self.before.item(item);
        let run = new.running()?;
        let taken_at_once =
            old.running().is_some_and(|run| self.holds_term() && !(self.is_alive)(&run.holder));
        if (old.running().is_some() && !taken_at_once) || new.token <= old.token {
            return Some(Breach::Claims);
        }
        if run.holder != *self.me || !self.before.is_registered(self.me) {
            return Some(Breach::Ownership);
        }
        let server = server_of(self.me)?;
        if !self.before.is_enabled(&server) || (old.disabled && run.source != RunSource::Failover) {
            return Some(Breach::Disabled);
        }
        let total = self.before.config().map_or(0, |config| config.sharding_total_count);
        let assigned = self.before.assignment().map(|assignment| assignment.value.total_count);
        let fits = item.index() < total && assigned == Some(total);
        if new.config != Some(CURRENT) || (!fits && run.source != RunSource::Failover) {
            return Some(Breach::Configuration);
        }
        let owned = owner(view) == Some(self.me) && self.before.next_owner(item).is_none();
        let (allowed, fresh) = match run.source {
            RunSource::Normal => (owned && old.is_idle(), old.last_fire < Some(run.fire)),
            RunSource::Misfire => {
                let noted = old.misfire.is_some_and(|range| range.last == run.fire);
                (owned && old.is_idle(), noted && old.last_fire < Some(run.fire))
            }
            RunSource::Manual => {
                let asked = old.request.as_ref().map(|request| request.at);
                (owned && old.is_idle(), asked == Some(run.fire))
            }
            RunSource::Failover => (
                matches!(old.state, LedgerState::Orphan(_)) || taken_at_once,
                old.run().map(|r| r.fire) == Some(run.fire),
            ),
        };
        match (allowed, fresh) {
            (false, _) => Some(Breach::Ownership),
            (true, false) => Some(Breach::FireAgain),
            (true, true) => None,
        }
    }

    fn breach_of_end(&self, item: ShardingItem, old: &Ledger, new: &Ledger) -> Option<Breach> {
        let run = old.running()?;
        if new.running().is_some() {
            return None;
        }
        let here = self.actor.memory.local.runs.get(item);
        let mine =
            here.is_some_and(|here| here.token == Some(old.token) && here.holder == run.holder);
        match &new.state {
            _ if mine => None,
            _ if !self.holds_term() => Some(Breach::Completion),
            LedgerState::Orphan(_) if (self.is_alive)(&run.holder) => Some(Breach::FalseFailover),
            _ if (self.is_alive)(&run.holder) => Some(Breach::Completion),
            _ => None,
        }
    }

    /// Returns true if no instance was elected after the actor. It may have abdicated since: what
    /// it decided before is still valid.
    fn holds_term(&self) -> bool {
        self.before.term().is_some_and(|term| term.value == *self.me)
    }

    fn breach_of_leader(&self) -> Option<Breach> {
        let assigned = |view: &JobView| {
            view.assignment().map(|a| {
                let record = &a.value;
                (record.members.clone(), record.total_count, record.pending.clone())
            })
        };
        let leads = self.holds_term();
        if assigned(self.before) != assigned(self.after) && !leads {
            return Some(Breach::Leader);
        }
        let term = |view: &JobView| view.term().map(|term| term.value.clone());
        let elected = term(self.before) != term(self.after);
        let lawful = self.before.leader().is_none()
            && self.after.leader() == Some(self.me)
            && term(self.after).as_ref() == Some(self.me);
        let replaced = self.before.leader().is_some_and(|leader| leader != self.me)
            && self.before.leader() != self.after.leader();
        (elected && !lawful || replaced).then_some(Breach::Leader)
    }
}

fn owner(view: &ItemView) -> Option<&InstanceId> {
    view.owner.as_ref().map(|owner| &owner.value)
}

fn breach_of_assignment(view: &JobView) -> Option<Breach> {
    let record = &view.assignment()?.value;
    let named = |item: ShardingItem| {
        let owner = owner(view.item(item));
        let pending = record.pending.has(item);
        owner.is_some_and(|owner| pending || record.members.contains(owner))
    };
    let whole = (0..record.total_count).map(ShardingItem::new).all(named);
    (!whole).then_some(Breach::Assignment)
}
