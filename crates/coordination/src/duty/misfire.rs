//! Misfire: a fire that meets a busy item is noted, and run once when the item is free.

use super::{Context, Duty, MAX_ITEMS_PER_PLAN, OwnItem};
use crate::plan::{Plan, Step};
use crate::{Ledger, RunSource};

/// Notes what met a busy item; runs what was noted.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    cx.startable().filter(|config| config.monitor_execution && config.misfire)?;
    note(cx).or_else(|| run(cx))
}

fn note(cx: &Context<'_>) -> Option<Plan> {
    let fire = cx.local.due?;
    let next = |own: &OwnItem<'_>| own.ledger.value.note_misfire(fire);
    change(cx, &format!("fire {fire} met running items"), next)
}

/// Leaves items alone for which a fire is due: its claim stands for the noted fires as well.
fn run(cx: &Context<'_>) -> Option<Plan> {
    let next = |own: &OwnItem<'_>| {
        let noted = own.ledger.value.misfire?;
        let claimed_anyway = cx.local.due.is_some_and(|due| !own.ledger.value.has_settled(due));
        if own.view.disabled || claimed_anyway || !own.is_free(cx.local) {
            return None;
        }
        own.ledger.value.claim(cx.me.clone(), noted.last, RunSource::Misfire)
    };
    change(cx, "misfired before", next)
}

fn change(
    cx: &Context<'_>,
    reason: &str,
    next: impl Fn(&OwnItem<'_>) -> Option<Ledger>,
) -> Option<Plan> {
    let steps: Vec<Vec<Step>> = cx
        .own_items()
        .filter_map(|own| Some(own.change_to(next(&own)?)))
        .take(MAX_ITEMS_PER_PLAN)
        .collect();
    Plan::as_owner(Duty::Misfire, cx, reason)?.steps(steps.into_iter().flatten()).if_any()
}
