//! Assignments: whole at every revision, of what is the case, and never under a run. S4, S5, S9.

use std::collections::BTreeSet;

use crate::Property::{S4, S5, S9};
use crate::docs::Assignment;
use crate::names::Name;
use crate::replay::judge::{Judge, Write};

impl Judge<'_> {
    /// No owner changes under a run.
    pub(crate) fn owner(&mut self, i: u32, owner: Option<Name>) {
        let Some(item) = self.job.items.get(&i) else { return };
        if item.owner == owner || !self.job.is_monitored() {
            return;
        }
        let busy = item.ledger.filter(|ledger| ledger.is_busy());
        self.expect(busy.is_none(), S5, Some(i), |judge| {
            format!(
                "went from {} to {} under {}",
                item.owner.map_or("nobody", |owner| judge.text(owner)),
                owner.map_or("nobody", |owner| judge.text(owner)),
                judge.run(busy.and_then(|ledger| ledger.run))
            )
        });
    }

    /// A new assignment is made for the configuration of this revision, and handles no request that was not made. While
    /// what is stored cannot be read, it may be made for what the one before was made for.
    pub(crate) fn inputs(&mut self, new: &Assignment) {
        let requested = self.job.request.and_then(|version| u32::try_from(version).ok());
        let handled = self.job.assignment.as_ref().map_or(0, |old| old.handled);
        let current = requested.is_some_and(|request| (handled..=request).contains(&new.handled));
        self.expect(current, S9, None, |_| {
            format!(
                "an assignment handles request {}; {handled} was handled before, and {requested:?} \
                 is the last one made",
                new.handled
            )
        });
        let Some(config) = self.job.config().cloned() else { return };
        let fits = config.total == new.total && config.strategy == new.strategy;
        let before = self.job.assignment.as_ref().filter(|_| !self.job.is_readable());
        let fits = fits
            || before.is_some_and(|old| old.total == new.total && old.strategy == new.strategy);
        self.expect(fits, S9, None, |_| {
            format!(
                "an assignment of {} items by {:?} was written; the configuration has {} by {:?}",
                new.total, new.strategy, config.total, config.strategy
            )
        });
    }

    /// Owners change only together with the record of what they were made for.
    pub(crate) fn accompanied(&mut self) {
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
            | Write::Draining(..)
            | Write::Named(..)
            | Write::Ledger(..)
            | Write::Mark(..) => None,
        });
        let Some(item) = moved else { return };
        let accompanied = self.txn.writes.iter().any(is_record);
        self.expect(accompanied, S4, Some(item), |_| {
            "changed hands without a new version of the assignment".to_owned()
        });
    }

    /// After a transaction: every item has an owner who is a member, or waits to move. Under static sharding items also
    /// stay with who is away or not available; they are given to members, or to a name that may come back.
    pub(crate) fn whole(&mut self) {
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
                None => "has no owner and does not wait to move".to_owned(),
                Some(owner) if !members.contains(&owner) && !stays(i, &owner) => {
                    format!("belongs to {}, who is no member of the assignment", self.text(owner))
                }
                Some(_) => continue,
            };
            return self.violate(S4, Some(i), message);
        }
    }

    /// Returns true if the transaction gives the item to somebody.
    fn is_given(&self, i: u32) -> bool {
        let gives = |write: &Write<'_>| matches!(write, Write::Owner(item, Some(_)) if *item == i);
        self.txn.writes.iter().any(gives)
    }
}
