//! The safety properties of a committed transaction, by the views before and after it.
//!
//! The crate `promises` has the rules. This module adds the rules that compare whole assignments.

use std::collections::BTreeSet;

use coordination::internals::ViewQueries as _;
use coordination::{JobView, Ledger, Run};
use promises::{Breach, ItemChange, Leadership, Write, breach_of_election};
use sharding::{InstanceId, ShardingItem};

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
        let (before, after) = (Leadership::of(self.before), Leadership::of(self.after));
        let leads = before.permits(self.me);
        self.breach_of_items(leads)
            .or_else(|| breach_of_election(&before, &after, self.me).map(|finding| finding.breach))
            .or_else(|| (self.assigns() && !leads).then_some(Breach::Leader))
            .or_else(|| breach_of_assignment(self.after))
    }

    fn breach_of_items(&self, leads: bool) -> Option<Breach> {
        let has_claimed = |item: ShardingItem, record: &Ledger, run: &Run| {
            let here = self.actor.memory.local.runs.get(item);
            here.is_some_and(|here| here.token == Some(record.token) && here.holder == run.holder)
        };
        let write = Write {
            view: self.before,
            writer: Some(self.me),
            leads,
            is_alive: self.is_alive,
            has_claimed: &has_claimed,
        };
        let keys_of = |view: &JobView| -> Vec<ShardingItem> {
            let further = view.further_slots().map(|(slot, _)| slot.key());
            view.items().map(|(item, _)| item).chain(further).collect()
        };
        let keys = keys_of(self.before).into_iter().chain(keys_of(self.after));
        keys.collect::<BTreeSet<_>>().into_iter().find_map(|key| {
            let change =
                ItemChange::between(key, |of| self.before.item(of), |of| self.after.item(of));
            write.breach_of(&change).map(|finding| finding.breach)
        })
    }

    /// Returns true if the transaction changes the assignment.
    fn assigns(&self) -> bool {
        let assigned = |view: &JobView| {
            view.assignment().map(|assignment| {
                let record = &assignment.value;
                (record.members.clone(), record.total_count, record.pending.clone())
            })
        };
        assigned(self.before) != assigned(self.after)
    }
}

fn breach_of_assignment(view: &JobView) -> Option<Breach> {
    let record = &view.assignment()?.value;
    let named = |item: ShardingItem| {
        let owner = view.item(item).owner.as_ref().map(|owner| &owner.value);
        let pending = record.pending.has(item);
        owner.is_some_and(|owner| pending || record.members.contains(owner))
    };
    let whole = (0..record.total_count).map(ShardingItem::new).all(named);
    (!whole).then_some(Breach::Assignment)
}
