//! Backfill: the leader gives each item of a backfill one past fire after the other, as a manual
//! request in the record of the item.
//!
//! The record of an item names the last fire that it got, in the same write as the request. So each
//! item gets each fire once and in order, whichever leader decides and however stale its view is.
//! `docs/adr/0034-items-remember-the-fires-of-a-backfill.md` has the alternatives.

use reg_center::Version;
use sharding::ShardingItem;

use super::{Context, parameter_bytes};
use crate::plan::{Plan, Step};
use crate::view::item::Attention;
use crate::{Backfill, BackfillLog, Duty, JobConfig, Ledger, Versioned};

/// Withdraws requests of backfills that are not in progress, records how far the one in progress
/// is, and gives items their next fires.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    // Other instances would search the items in vain.
    cx.view.term_of(cx.me)?;
    withdraw(cx).or_else(|| {
        let (version, log) = cx.view.backfill_log()?;
        let backfill = log.open()?;
        let config = cx.view.config()?;
        if !cx.view.fits_config() || !config.monitor_execution {
            return None;
        }
        advance(cx, config, (version, log), backfill)
            .or_else(|| give(cx, config, version, backfill))
    })
}

/// Drops the requests of backfills that are cancelled or have ended, and ends a cancelled backfill
/// without such requests.
///
/// The order of changes in a feed is not that of the writes, so that a request may appear after the
/// end of its backfill. It is dropped then.
pub(crate) fn withdraw(cx: &Context<'_>) -> Option<Plan> {
    let (version, log) = cx.view.backfill_log()?;
    let requested = cx.view.items_with(Attention::Requested);
    let drops = requested.filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        let id = ledger.value.waiting_backfill()?;
        let goes_on = log.get(id).is_some_and(Backfill::is_in_progress);
        let next = ledger.value.drop_request().filter(|_| !goes_on)?;
        Some(Step::set_ledger(item, Some(ledger.version), next))
    });
    let drops: Vec<_> = drops.take(cx.settings.items_per_plan).collect();
    let ended = log.open().filter(|backfill| backfill.cancel.is_some());
    if drops.is_empty() {
        let ended = ended?.clone().ended_at(cx.present_ms());
        let plan = Plan::as_leader(Duty::Trigger, cx, "a cancelled backfill has ended")?;
        return Some(plan.step(Step::set_backfills(version, log.with(&ended))));
    }
    let plan = Plan::as_leader(Duty::Trigger, cx, "requests of a backfill that does not go on")?;
    Some(plan.step(Step::backfills_unchanged(version)).steps(drops))
}

/// Records the number of fires that all items have ended.
///
/// It rests on what the records of all items have shown at some time. It stays true: no item gets
/// an earlier fire again.
fn advance(
    cx: &Context<'_>,
    config: &JobConfig,
    (version, log): (Option<Version>, &BackfillLog),
    backfill: &Backfill,
) -> Option<Plan> {
    let mut done = backfill.fires.len();
    for (_, ledger) in items(cx, config, backfill) {
        done = done.min(ledger.map_or(0, |ledger| backfill.ended_by(&ledger.value)));
        if done <= backfill.done {
            return None;
        }
    }
    let moved = Backfill { done, ..backfill.clone() };
    let has_ended = done == backfill.fires.len();
    let moved = if has_ended { moved.ended_at(cx.present_ms()) } else { moved };
    let plan = Plan::as_leader(Duty::Trigger, cx, "all items have ended fires of a backfill")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::set_backfills(version, log.with(&moved)));
    Some(plan)
}

/// Gives items their next fires. It conflicts if an operator has cancelled the backfill.
fn give(
    cx: &Context<'_>,
    config: &JobConfig,
    version: Option<Version>,
    backfill: &Backfill,
) -> Option<Plan> {
    let changes = items(cx, config, backfill).filter_map(|(item, ledger)| {
        let ledger = ledger?;
        let (fire, at) = backfill.fire(backfill.next_of(&ledger.value)?)?;
        let next = ledger.value.with_backfill(backfill.id.clone(), fire, at)?;
        Some(Step::set_ledger(item, Some(ledger.version), next))
    });
    let steps = cx.within_one_plan(changes, |step| parameter_bytes(std::slice::from_ref(step)));
    let steps: Vec<_> = steps.collect();
    Plan::as_leader(Duty::Trigger, cx, "items get the next fire of a backfill")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::backfills_unchanged(version))
        .steps(steps)
        .if_any()
}

/// Returns the items of the backfill that the job has, with their records.
fn items<'a>(
    cx: &Context<'a>,
    config: &'a JobConfig,
    backfill: &'a Backfill,
) -> impl Iterator<Item = (ShardingItem, Option<&'a Versioned<Ledger>>)> {
    let items = backfill.items.iter().copied().filter(|item| config.has_item(*item));
    let view = cx.view;
    items.map(move |item| (item, view.item(item).ledger.as_ref()))
}
