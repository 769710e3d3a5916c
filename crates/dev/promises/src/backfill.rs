//! The rules of backfills.

use coordination::{Backfill, JobView, Ledger};
use sharding::ShardingItem;

use crate::{Breach, Finding};

/// Judges S19 for a write of an item's record: the request for a past fire comes with the note of
/// that fire, the fire is the next one of a backfill in progress, and its window has it.
pub(crate) fn breach_of_gift(
    view: &JobView,
    item: ShardingItem,
    old: &Ledger,
    new: &Ledger,
) -> Option<Finding> {
    let found = |text: &str| {
        let text = format!("item {item} {text}: {} became {}", old.summary(), new.summary());
        Some(Finding::new(Breach::Backfill, text))
    };
    let request = new.request.as_ref().filter(|_| new.request != old.request);
    let asked = request.and_then(|request| Some((&request.id, request.past_fire?)));
    let Some((id, fire)) = asked else {
        let moved = new.backfilled != old.backfilled;
        return if moved { found("notes a past fire without a request") } else { None };
    };
    let noted = new.backfilled.as_ref();
    if !noted.is_some_and(|last| last.id == *id && last.fire == fire) {
        return found("has a request for a past fire that it does not note");
    }
    let Some(backfill) = view.backfills().get(id).filter(|backfill| backfill.is_in_progress())
    else {
        return found("got a fire of a backfill that is not in progress");
    };
    let last = old.backfilled.as_ref().filter(|last| last.id == *id).map(|last| last.fire);
    let next = backfill.fires.iter().skip(backfill.done).find(|fire| Some(**fire) > last);
    if next != Some(&fire) {
        return found("got another fire of a backfill than its next one");
    }
    let place = backfill.fires.iter().position(|known| *known == fire);
    if place.is_none_or(|place| place >= backfill.done + backfill.concurrency) {
        return found("got a fire beyond the concurrency of its backfill");
    }
    let runs = old.run().is_some_and(|run| run.past_fire.is_some());
    if runs { found("got a past fire during the run of another") } else { None }
}

/// Returns true if the waiting request belongs to a backfill that is not in progress, so that it
/// may be dropped.
pub(crate) fn is_withdrawn(view: &JobView, ledger: &Ledger) -> bool {
    let request = ledger.request.as_ref().filter(|request| request.past_fire.is_some());
    let of = request.map(|request| view.backfills().get(&request.id));
    of.is_some_and(|backfill| !backfill.is_some_and(Backfill::is_in_progress))
}

/// Judges S19 for a write of the log of backfills, by the view after it: no backfill goes back, and
/// each counted fire is ended on all items that the job has.
#[must_use]
pub fn breach_of_backfills(before: &JobView, after: &JobView) -> Option<Finding> {
    let found = |text: String| Some(Finding::new(Breach::Backfill, text));
    for backfill in after.backfills().iter() {
        let id = &backfill.id;
        let Some(old) = before.backfills().get(id) else { continue };
        let goes_on = old.cancel.is_some() && backfill.cancel.is_none();
        let reopened = old.ended_ms.is_some() && backfill.ended_ms != old.ended_ms;
        if backfill.done < old.done || goes_on || reopened {
            return found(format!("backfill {id} went back: {old:?} became {backfill:?}"));
        }
        if backfill.done == old.done {
            continue;
        }
        let Some(last) = old.fires.get(backfill.done - 1) else {
            return found(format!("backfill {id} counts more fires than it has"));
        };
        let total = after.config().map_or(0, |config| config.sharding_total_count);
        for item in backfill.items.iter().filter(|item| item.index() < total) {
            let Some(record) = &after.item(*item).ledger else {
                return found(format!("backfill {id} counts fires of item {item}, without record"));
            };
            let got = record.value.backfilled.as_ref().filter(|noted| noted.id == *id);
            let is_last = got.is_some_and(|noted| noted.fire == *last);
            let asked = record.value.request.as_ref();
            let waits = asked.is_some_and(|request| request.past_fire == Some(*last));
            let runs = record.value.run().is_some_and(|run| run.past_fire == Some(*last));
            if got.is_none_or(|noted| noted.fire < *last) || (is_last && (waits || runs)) {
                return found(format!(
                    "backfill {id} counts the fire {last}, which item {item} has yet to end: {}",
                    record.value.summary()
                ));
            }
        }
    }
    None
}
