//! Records of items that Java instances own or owned, and for which they write none.

use std::borrow::Cow;

use sharding::ShardingItem;

use crate::Ledger;
use crate::duty::Context;
use crate::view::item::ItemView;

/// Returns the record of an item of this instance, with the fires that Java instances have run. A
/// Java leader creates no records, so that under it the owner creates one.
pub(crate) fn record_of<'a>(
    cx: &Context<'a>,
    item: ShardingItem,
    view: &'a ItemView,
) -> Option<Cow<'a, Ledger>> {
    let java_leads = cx.view.has_java_leader();
    let mut ledger = match &view.ledger {
        Some(ledger) => Cow::Borrowed(&ledger.value),
        None if java_leads && !view.unreadable => Cow::Owned(Ledger::new(None)),
        None => return None,
    };
    if let Some(revived) = ledger.revive(cx.last_missed(&ledger)).filter(|_| java_leads) {
        ledger = Cow::Owned(revived);
    }
    // Fires that a Java owner ran count as run, although the record lacks them.
    let accounted = cx.local.java.inference.accounted(item);
    if let Some(handed_back) = accounted.and_then(|fire| ledger.handed_back(fire)) {
        ledger = Cow::Owned(handed_back);
    }
    // A Java owner notes a misfire by the mark alone.
    let noted = accounted.filter(|_| view.misfire).and_then(|fire| ledger.noted_by_mark(fire));
    if let Some(noted) = noted {
        ledger = Cow::Owned(noted);
    }
    Some(ledger)
}
