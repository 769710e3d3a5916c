//! Records of items that Java instances own or owned, and for which they write none.

use std::borrow::Cow;

use sharding::ShardingItem;

use crate::java::memory::JavaMemory;
use crate::view::JobView;
use crate::view::item::ItemView;
use crate::{FireTime, Ledger};

/// Reader of records that adds the fires that Java instances account for.
///
/// Without Java instances, the result is the record in the view.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    memory: &'a JavaMemory,
    java_leads: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn of(view: &JobView, memory: &'a JavaMemory) -> Self {
        Self { memory, java_leads: view.has_java_leader() }
    }

    /// Returns the record of an item of this instance, with the fires that Java instances have run.
    /// A Java leader creates no records, so that under it the owner creates one.
    ///
    /// `last_missed` returns the last fire that gaps of a record report as missed.
    pub(crate) fn record_of<'v>(
        self,
        item: ShardingItem,
        view: &'v ItemView,
        last_missed: impl FnOnce(&Ledger) -> Option<FireTime>,
    ) -> Option<Cow<'v, Ledger>> {
        let mut ledger = match &view.ledger {
            Some(ledger) => Cow::Borrowed(&ledger.value),
            None if self.java_leads && !view.unreadable => Cow::Owned(Ledger::new(None)),
            None => return None,
        };
        if self.java_leads {
            let revived = ledger.revive(last_missed(&ledger));
            ledger = revived.map_or(ledger, Cow::Owned);
        }
        // Fires that a Java owner ran count as run, although the record lacks them.
        let Some(accounted) = self.memory.inference.accounted(item) else { return Some(ledger) };
        if let Some(handed_back) = ledger.handed_back(accounted) {
            ledger = Cow::Owned(handed_back);
        }
        if view.misfire {
            // A Java owner notes a misfire by the mark alone.
            let noted = ledger.noted_by_mark(accounted);
            ledger = noted.map_or(ledger, Cow::Owned);
        }
        Some(ledger)
    }
}
