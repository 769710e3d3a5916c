//! Backfills: the past fires that items get, and the progress that the leader records. S19.

use crate::Property::S19;
use crate::docs::{Backfill, Ledger};
use crate::replay::job::Item;
use crate::replay::judge::Judge;
use crate::slot::Slot;

impl Judge<'_> {
    /// Judges that a record gets the next past fire of a backfill in progress, once, together with
    /// the note of it.
    pub(crate) fn past_fire(&mut self, i: Slot, before: &Ledger, after: &Ledger) {
        let is_new = after.request != before.request;
        let asked = after.request.filter(|_| is_new).and_then(|to| Some((to.id, to.past_fire?)));
        let Some((id, fire)) = asked else {
            self.expect(after.backfilled == before.backfilled, S19, Some(i), |_| {
                "the record notes a past fire without a request for it".to_owned()
            });
            return;
        };
        let noted = after.backfilled.is_some_and(|last| (last.id, last.fire) == (id, fire));
        self.expect(noted, S19, Some(i), |_| {
            format!("the record has a request for the past fire {fire} and does not note it")
        });
        let job = self.job;
        let Some(backfill) = job.backfills.iter().find(|one| one.id == id && one.is_open()) else {
            let text = format!(
                "the item got the past fire {fire}, and backfill {} is not in progress",
                self.text(id)
            );
            self.violate(S19, Some(i), text);
            return;
        };
        let last = before.backfilled.filter(|last| last.id == id).map(|last| last.fire);
        let later = |(place, known): &(usize, &i64)| {
            *place >= backfill.done && last.is_none_or(|last| **known > last)
        };
        let next = backfill.fires.iter().enumerate().find(later);
        let is_next = next.is_some_and(|(_, next)| *next == fire);
        self.expect(is_next, S19, Some(i), |_| {
            format!("the item got the past fire {fire}; its next one is {next:?}, after {last:?}")
        });
        let most = backfill.done + backfill.concurrency;
        self.expect(next.is_none_or(|(place, _)| place < most), S19, Some(i), |_| {
            format!("the item got fire {next:?}, and fires up to number {most} may be in progress")
        });
    }

    /// Judges a write of the log of backfills by an instance: counted fires are ended on all items,
    /// a cancellation stays, and an ended backfill stays ended.
    pub(crate) fn backfill_progress(&mut self, after: &[Backfill]) {
        let job = self.job;
        for new in after {
            let Some(old) = job.backfills.iter().find(|old| old.id == new.id) else { continue };
            let kept = new.done >= old.done && new.cancelled == old.cancelled;
            self.expect(kept && (new.ended || !old.ended), S19, None, |judge| {
                format!("backfill {} went back from {old:?} to {new:?}", judge.text(new.id))
            });
            let counted = old.fires.get(old.done..new.done).and_then(<[i64]>::last);
            let Some(last) = counted else { continue };
            let total = job.config().map_or(0, |config| config.total);
            let items = new.items.iter().flat_map(|(first, last)| *first..=*last);
            for i in items.filter(|i| *i < total) {
                let ended = job.items.get(&i).is_some_and(|item| has_ended(item, new, *last));
                self.expect(ended, S19, Some(Slot::first(i)), |judge| {
                    let id = judge.text(new.id);
                    format!("backfill {id} counts the fire {last}, which the item has yet to end")
                });
            }
        }
        let known = |id| after.iter().any(|new| new.id == id);
        let lost = job.backfills.iter().any(|old| !old.ended && !known(old.id));
        self.expect(!lost, S19, None, |_| "a backfill in progress was removed".to_owned());
    }
}

/// Returns true if the item got the fire or a later one, and no run for it is owed or unfinished.
fn has_ended(item: &Item, of: &Backfill, fire: i64) -> bool {
    let Some(record) = item.first.ledger else { return false };
    let waits = record.request.is_some_and(|request| request.past_fire == Some(fire));
    let runs = record.run.is_some_and(|run| run.past_fire == Some(fire));
    let got = record.backfilled.filter(|last| last.id == of.id);
    got.is_some_and(|last| last.fire >= fire) && !waits && !runs
}
