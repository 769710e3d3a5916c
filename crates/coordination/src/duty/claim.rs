//! Claim: before an item runs, its record says who runs it and for which fire.

use super::{Context, Duty, MAX_ITEMS_PER_PLAN, OwnItem};
use crate::plan::{Plan, Step};
use crate::{Ledger, RunSource};

/// Claims what is due and free: the scheduled fire first, then an operator's request.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    cx.startable().filter(|config| config.monitor_execution)?;
    scheduled(cx).or_else(|| requested(cx))
}

/// A due fire stays due until the next one. An item that is assigned to this instance in between, because its owner
/// died or left, is thus run late rather than not at all.
fn scheduled(cx: &Context<'_>) -> Option<Plan> {
    let fire = cx.local.due?;
    let next = |own: &OwnItem<'_>| {
        if own.ledger.value.has_settled(fire) {
            return None;
        }
        if own.view.disabled {
            return own.ledger.value.skip_disabled(fire);
        }
        own.ledger.value.claim(cx.me.clone(), fire, RunSource::Normal)
    };
    claim(cx, &format!("fire {fire} is due"), next)
}

fn requested(cx: &Context<'_>) -> Option<Plan> {
    let request = cx.local.request.as_ref()?;
    let next = |own: &OwnItem<'_>| {
        if own.view.disabled || !request.items.contains(&own.item) {
            return None;
        }
        own.ledger.value.claim(cx.me.clone(), request.at, RunSource::Manual)
    };
    claim(cx, "an operator asked for it", next)
}

fn claim(
    cx: &Context<'_>,
    reason: &str,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let steps: Vec<Vec<Step>> = cx
        .own_items()
        .filter(|own| own.is_free(cx.local))
        .filter_map(|own| Some(own.change_to(next(&own)?)))
        .take(MAX_ITEMS_PER_PLAN)
        .collect();
    Plan::as_owner(Duty::Claim, cx, reason)?.steps(steps.into_iter().flatten()).if_any()
}
