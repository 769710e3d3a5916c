//! Retired items: their records stay, so that fencing tokens rise further if the items come back.

use sharding::ShardingItem;

use crate::duty::Context;
use crate::duty::gap_judge::GapJudge;
use crate::plan::Step;
use crate::view::item::ItemView;
use crate::wire::NodeKind;

/// Returns the steps that retire an item; none while one of its slots is busy.
pub(super) fn retire(
    cx: &Context<'_>,
    judge: Option<&mut GapJudge<'_>>,
    view: &ItemView,
    item: ShardingItem,
) -> Vec<Step> {
    if view.is_busy() || cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy()) {
        return Vec::new();
    }
    let further_slots = cx.view.further_slots_of(item);
    let mut steps: Vec<_> =
        further_slots.map(|(key, slot)| Step::ledger_as_shown(key, slot)).collect();
    if let Some(ledger) = &view.ledger
        && let Some(retired) = ledger.value.retire()
    {
        let with_gaps = match judge {
            Some(judge) => judge.retired(cx, item, &ledger.value, retired),
            None => retired,
        };
        steps.push(Step::set_ledger(item, Some(ledger.version), with_gaps));
    }
    if let Some(owner) = &view.owner {
        // A stale view may show the owner but lack the record of a run.
        if view.ledger.is_none() {
            steps.push(Step::absent(NodeKind::Ledger(item)));
        }
        steps.push(Step::clear_owner(item, owner.version));
    }
    if view.misfire {
        steps.push(Step::unmark_misfire(item));
    }
    steps
}
