//! Retired items: their records stay, so that fencing tokens rise further if the items come back.

use sharding::ShardingItem;

use crate::duty::Context;
use crate::duty::gap_judge::GapJudge;
use crate::plan::Step;
use crate::view::item::ItemView;
use crate::wire::NodeKind;

/// Returns the steps that retire an item; none while it is busy.
pub(super) fn retire(
    cx: &Context<'_>,
    judge: Option<&mut GapJudge<'_>>,
    view: &ItemView,
    item: ShardingItem,
) -> Vec<Step> {
    if view.is_busy() {
        return Vec::new();
    }
    let record = view.ledger.as_ref().and_then(|ledger| {
        let retired = ledger.value.retire()?;
        let retired = match judge {
            Some(judge) => judge.retired(cx, item, &ledger.value, retired),
            None => retired,
        };
        Some(Step::set_ledger(item, Some(ledger.version), retired))
    });
    let owner = view.owner.as_ref().map(|owner| Step::clear_owner(item, owner.version));
    // A stale view may show the owner but lack the record of a run.
    let unseen =
        (owner.is_some() && view.ledger.is_none()).then(|| Step::absent(NodeKind::Ledger(item)));
    let misfire = view.misfire.then(|| Step::unmark_misfire(item));
    record.into_iter().chain(unseen).chain(owner).chain(misfire).collect()
}
