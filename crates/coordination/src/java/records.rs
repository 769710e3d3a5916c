//! Records of items that Java instances own or owned, and for which they write none.

use std::borrow::Cow;

use sharding::ShardingItem;

use crate::Ledger;
use crate::duty::Context;
use crate::view::items::ItemView;

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
    if java_leads && let Some(revived) = ledger.revive(cx.last_missed(&ledger)) {
        ledger = Cow::Owned(revived);
    }
    let Some(accounted) = cx.local.java.inference.accounted(item) else { return Some(ledger) };
    // Fires that a Java owner ran count as run, although the record lacks them.
    if let Some(handed_back) = ledger.handed_back(accounted) {
        ledger = Cow::Owned(handed_back);
    }
    // A Java owner notes a misfire by the mark alone.
    if view.misfire
        && let Some(noted) = ledger.noted_by_mark(accounted)
    {
        ledger = Cow::Owned(noted);
    }
    Some(ledger)
}
