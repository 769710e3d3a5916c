//! Assignments: complete at every revision, made for the stored inputs, and never changed under a
//! run. S4, S5, S9.

use std::collections::BTreeSet;

use crate::Property::{S4, S5, S9};
use crate::docs::Assignment;
use crate::names::Name;
use crate::replay::judge::{Judge, Write};
use crate::slot::Slot;

impl Judge<'_> {
    /// Judges that no owner changes under a run of any slot.
    pub(crate) fn owner(&mut self, i: u32, owner: Option<Name>) {
        let Some(item) = self.job.items.get(&i) else { return };
        if item.owner == owner || !self.job.is_monitored() {
            return;
        }
        let busy = item.first.ledger.filter(|ledger| ledger.is_busy());
        self.expect(busy.is_none(), S5, Some(Slot::first(i)), |judge| {
            format!(
                "the owner changed from {} to {} under {}",
                item.owner.map_or("none", |owner| judge.text(owner)),
                owner.map_or("none", |owner| judge.text(owner)),
                judge.run(busy.and_then(|ledger| ledger.run))
            )
        });
        self.further_slots_are_idle(S5, i, "changed its owner");
    }

    /// Judges that a new assignment is for the configuration of this revision and handles only
    /// requests that were made.
    ///
    /// While the stored configuration is unusable, the inputs of the former assignment are valid as
    /// well.
    pub(crate) fn inputs(&mut self, new: &Assignment) {
        let requested = self.job.request.and_then(|version| u32::try_from(version).ok());
        let handled = self.job.assignment.as_ref().map_or(0, |old| old.handled);
        let current = requested.is_some_and(|request| (handled..=request).contains(&new.handled));
        self.expect(current, S9, None, |_| {
            format!(
                "the assignment handles request {}; {handled} was handled before, and {requested:?} \
                 is the last one made",
                new.handled
            )
        });
        let Some(config) = self.job.config().cloned() else { return };
        let fits_config = config.total == new.total && config.strategy == new.strategy;
        let keeps_old = self.job.assignment.as_ref().is_some_and(|old| {
            !self.job.is_readable() && old.total == new.total && old.strategy == new.strategy
        });
        self.expect(fits_config || keeps_old, S9, None, |_| {
            format!(
                "the assignment is of {} items by {:?}; the configuration has {} items by {:?}",
                new.total, new.strategy, config.total, config.strategy
            )
        });
    }

    /// Judges that owners change only together with the assignment record.
    pub(crate) fn owners_change_with_assignment(&mut self) {
        let is_record = |write: &Write<'_>| matches!(write, Write::Assignment(Some(_)));
        let moved = self.txn.writes.iter().find_map(|write| match write {
            Write::Owner(item, _) => Some(*item),
            Write::Config(_)
            | Write::Instance(..)
            | Write::Server(..)
            | Write::Leader(_)
            | Write::Term(_)
            | Write::Request(_)
            | Write::Assignment(_)
            | Write::Backfills(_)
            | Write::Draining(..)
            | Write::Named(..)
            | Write::Ledger(..)
            | Write::Progress(..)
            | Write::Starts(_)
            | Write::Mark(..) => None,
        });
        let Some(item) = moved else { return };
        let owners_change_with_assignment = self.txn.writes.iter().any(is_record);
        self.expect(owners_change_with_assignment, S4, Some(Slot::first(item)), |_| {
            "the owner changed without a new version of the assignment".to_owned()
        });
    }

    /// Judges the state after a transaction: each item has a member as owner, or is pending.
    ///
    /// Under static sharding, items also stay with owners that are absent or not available.
    /// New owners are then members, or have a stable name and may come back.
    pub(crate) fn complete(&mut self) {
        if self.job.assignment_unreadable {
            return self.violate(S4, None, "the assignment cannot be read".to_owned());
        }
        let Some(assignment) = &self.job.assignment else { return };
        self.tally.judged(S4);
        let members: BTreeSet<_> = assignment.members.iter().copied().collect();
        let is_static = self.job.configs_to_lead_by().any(|config| config.static_sharding);
        let stays = |i: u32, owner: &Name| {
            is_static && (!self.is_given(i) || assignment.names.contains_key(owner))
        };
        for i in (0..assignment.total).filter(|i| !assignment.pending.contains_key(i)) {
            let owner = self.job.items.get(&i).and_then(|item| item.owner);
            let message = match owner {
                None => "the item has no owner and is not pending".to_owned(),
                Some(owner) if !members.contains(&owner) && !stays(i, &owner) => {
                    format!(
                        "the item belongs to {}, which is not a member of the assignment",
                        self.text(owner)
                    )
                }
                Some(_) => continue,
            };
            return self.violate(S4, Some(Slot::first(i)), message);
        }
    }

    /// Returns true if the transaction gives the item an owner.
    fn is_given(&self, i: u32) -> bool {
        let gives = |write: &Write<'_>| matches!(write, Write::Owner(item, Some(_)) if *item == i);
        self.txn.writes.iter().any(gives)
    }
}
