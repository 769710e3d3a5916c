//! Parallel runs: further slots of an item, and the number of its runs. S24.
//!
//! The record of an item has its fires. A claim in a further slot settles its fire there in the
//! same write, so that the rules of claims judge both records together.

use crate::Property::{self, S24};
use crate::docs::{Ledger, Run, Source, State};
use crate::replay::job::Job;
use crate::replay::judge::{Judge, Write};
use crate::slot::Slot;
use crate::tree::Kind;

/// Returns the runs that begin in further slots with these writes, with their tokens.
pub(super) fn begun_beside(job: &Job, writes: &[Write<'_>]) -> Vec<(Slot, u64, Run)> {
    let begun = writes.iter().filter_map(|write| {
        let Write::Ledger(slot, Some(Ok(after))) = write else { return None };
        if slot.is_first() || after.state != State::Running {
            return None;
        }
        let before = job.slot(*slot).and_then(|slot| slot.ledger);
        let begins = before.is_none_or(|before| before.state == State::Idle);
        Some((*slot, after.token, after.run.filter(|_| begins)?))
    });
    begun.collect()
}

impl Judge<'_> {
    /// Returns the run that begins in a further slot of the item with this transaction.
    pub(crate) fn begins_beside(&self, item: u32) -> Option<Slot> {
        let mut begun = self.txn.beside.iter().map(|(slot, ..)| *slot);
        begun.find(|slot| slot.item == item)
    }

    /// Returns the record of a slot after the transaction.
    pub(crate) fn record_after(&self, slot: Slot) -> Option<Ledger> {
        let before = self.job.slot(slot).and_then(|slot| slot.ledger);
        self.written(slot).or(before)
    }

    /// Returns the record that the transaction writes for a slot.
    fn written(&self, slot: Slot) -> Option<Ledger> {
        self.txn.writes.iter().rev().find_map(|write| {
            let Write::Ledger(other, Some(Ok(after))) = write else { return None };
            (*other == slot).then_some(**after)
        })
    }

    /// Judges that a further slot gets its record from the owner of the item, with a write of the
    /// record of the item that names the slot.
    pub(crate) fn adds_slot(&mut self, i: Slot, record: &Ledger) {
        if i.is_first() {
            return;
        }
        self.has_run_alone(i, record);
        let of_item = self.written(Slot::first(i.item));
        let is_named = of_item.is_some_and(|record| record.slots >= i.number);
        self.expect(is_named, S24, Some(i), |_| {
            "the slot got a record, and the record of the item does not name it".to_owned()
        });
        let owner = self.job.items.get(&i.item).and_then(|item| item.owner);
        let by_owner = owner.is_some_and(|owner| self.job.is_registered_by(owner, self.txn.sid));
        self.expect(by_owner, S24, Some(i), |judge| {
            format!("session {} added the slot, and does not own the item", judge.txn.sid)
        });
    }

    /// Judges the number of further slots in the record of an item, or that the record of a further
    /// slot has a run alone.
    pub(crate) fn slot_fields(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        if !i.is_first() {
            return self.has_run_alone(i, after);
        }
        if before.slots == after.slots {
            return;
        }
        let known = self.job.items.get(&i.item).map_or(0, |item| item.last_slot());
        let added = self.txn.writes.iter().filter_map(|write| {
            let Write::Ledger(slot, Some(Ok(_))) = write else { return None };
            (slot.item == i.item).then_some(slot.number)
        });
        let last = added.max().unwrap_or(0).max(known);
        let valid = after.slots > before.slots && after.slots == last;
        self.expect(valid, S24, Some(i), |_| {
            let (old, new) = (before.slots, after.slots);
            format!(
                "the number of the last further slot went from {old} to {new}; the last one with \
                 a record is {last}"
            )
        });
    }

    fn has_run_alone(&mut self, i: Slot, record: &Ledger) {
        let is_plain = record.has_run_alone() && record.state != State::Retired;
        self.expect(is_plain, S24, Some(i), |_| {
            "the record of a further slot has the state or a field of an item".to_owned()
        });
    }

    /// Judges that the item has fewer unfinished runs than its job allows when another run begins,
    /// and that the job allows the slot.
    pub(crate) fn within_slots(&mut self, i: Slot, run: &Run) {
        let Some(item) = self.job.items.get(&i.item) else { return };
        // While the stored configuration is unusable, each instance follows the last usable one
        // that it has seen.
        let allowed = self.job.configs_to_lead_by().map(|config| config.slots);
        let Some(most) = allowed.max() else { return };
        if most == 1 && i.is_first() && item.further.is_empty() {
            return;
        }
        let unfinished = item.runs();
        let is_allowed = unfinished < most && (i.number as usize) < most;
        self.expect(is_allowed, S24, Some(i), |judge| {
            let run = judge.run(Some(*run));
            format!("{run} began beside {unfinished} unfinished runs; the job allows {most} runs")
        });
    }

    /// Judges that a run in a further slot begins with a write of the record of the item, which
    /// settles the fire. Returns both records as one, before and after: the fires of the item, and
    /// the run of the slot.
    pub(crate) fn beside(
        &mut self,
        i: Slot,
        before: &Ledger,
        after: &Ledger,
        run: &Run,
    ) -> (Ledger, Ledger) {
        let first = Slot::first(i.item);
        let (old, written) =
            (self.job.slot(first).and_then(|slot| slot.ledger), self.written(first));
        let (from, to) = run.span();
        let settles = written.is_some_and(|record| {
            let is_noted =
                record.misfire.is_some_and(|noted| noted.first <= to && from <= noted.last);
            record.last >= Some(run.fire) && !is_noted
        });
        self.expect(settles, S24, Some(i), |judge| {
            let run = judge.run(Some(*run));
            format!("{run} began, and the record of the item does not settle the fire")
        });
        let is_scheduled = matches!(run.source, Source::Normal | Source::Misfire);
        self.expect(is_scheduled && !run.is_requested, S24, Some(i), |judge| {
            format!("{} began in a further slot", judge.run(Some(*run)))
        });
        let others = self.txn.beside.iter().filter(|(slot, ..)| slot.item == i.item).count();
        self.expect(others == 1, S24, Some(i), |_| {
            format!("{others} runs of the item began with one write")
        });
        let fires = old.unwrap_or(*before);
        (fires.with_run_of(before), written.unwrap_or(fires).with_run_of(after))
    }

    /// Judges that a claim in a further slot changes nothing but the fires in the record of the
    /// item.
    pub(crate) fn settles_beside(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        self.expect(before.with_fires_of(after) == *after, S24, Some(i), |judge| {
            format!(
                "a run began in a further slot, and the item went from {} to {} as well",
                judge.run(before.run),
                judge.run(after.run)
            )
        });
    }

    /// Judges that no further slot of an item has a run, and that the transaction checks that: the
    /// record of the item does not show it.
    pub(crate) fn further_slots_are_idle(&mut self, property: Property, item: u32, what: &str) {
        let Some(state) = self.job.items.get(&item) else { return };
        for (number, slot) in &state.further {
            if slot.ledger.is_none() {
                continue;
            }
            let i = Slot { item, number: *number };
            let run = slot.ledger.and_then(|ledger| ledger.run);
            let is_checked = self
                .txn
                .checks
                .iter()
                .any(|(kind, version)| *kind == Kind::Ledger(i) && version.is_some());
            let is_guarded = is_checked || self.written(i).is_some();
            self.expect(run.is_none() && is_guarded, property, Some(i), |judge| match run {
                Some(run) => format!("the item {what} under {}", judge.run(Some(run))),
                None => format!("the item {what}, and the record of the slot is not checked"),
            });
        }
    }
}
