//! Backfills: past fires of a schedule that an operator requests to run again.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use sharding::ShardingItem;

use crate::{FireTime, Ledger, UnknownFields};

/// Maximum number of fires of one backfill. Its record has to fit one node.
pub const MAX_BACKFILL_FIRES: usize = 1_000;

/// Maximum number of fires of a backfill that are in progress at once.
pub const MAX_BACKFILL_CONCURRENCY: usize = 16;

/// Time between the identities of two fires of a backfill, in milliseconds. It keeps them odd.
const MS_PER_FIRE: i64 = 2;

/// Past fires of a job that its items run again, and how far they have come.
///
/// The leader gives each item the next fire once the item has ended the one before. The record of
/// an item names the last fire that it got, so that no fire is skipped or repeated whatever leader
/// decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backfill {
    /// Id of the backfill, unique within the job.
    pub id: Arc<str>,
    /// Author.
    pub by: String,
    /// Reason.
    pub why: String,
    /// Time of the request, an odd number of milliseconds since 1970 UTC. It identifies the runs of
    /// the first fire.
    pub at: FireTime,
    /// Start of the period whose fires run again, in milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Exclusive end of that period, in milliseconds since 1970 UTC.
    pub until_ms: i64,
    /// The fires, in ascending order. Empty once the backfill has ended.
    pub fires: Vec<FireTime>,
    /// Number of fires at the start.
    pub total: usize,
    /// Items that run the fires.
    pub items: BTreeSet<ShardingItem>,
    /// Number of fires that may be in progress at once: 1 to [`MAX_BACKFILL_CONCURRENCY`].
    pub concurrency: usize,
    /// Number of fires that all items have ended.
    pub done: usize,
    /// Cancellation, if an operator requested it.
    pub cancel: Option<BackfillCancel>,
    /// Time of the end, in milliseconds since 1970 UTC.
    pub ended_ms: Option<i64>,
    /// Fields that a later version added.
    pub unknown: UnknownFields,
}

/// Cancellation of a backfill.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackfillCancel {
    /// Author.
    pub by: String,
    /// Reason.
    pub why: String,
    /// Time of the request, in milliseconds since 1970 UTC.
    pub at_ms: i64,
}

impl Backfill {
    /// Returns true if the leader may still give items fires of it: it has neither ended nor is it
    /// cancelled.
    #[must_use]
    pub fn is_in_progress(&self) -> bool {
        self.ended_ms.is_none() && self.cancel.is_none()
    }

    /// Returns the index of the fire that the item gets next, if it may get one now.
    ///
    /// An item that was retired meanwhile continues at the fire that the others are at.
    pub(crate) fn next_of(&self, ledger: &Ledger) -> Option<usize> {
        let window = self.window();
        let next = self.got_by(ledger).max(window.start);
        (window.contains(&next) && !ledger.is_backfilling()).then_some(next)
    }

    /// Returns the fire of this index, and the time that identifies its runs.
    pub(crate) fn fire(&self, index: usize) -> Option<(FireTime, FireTime)> {
        let n = i64::try_from(index).ok()?;
        Some((*self.fires.get(index)?, FireTime(self.at.0 + MS_PER_FIRE * n)))
    }

    /// Returns the number of fires that the item has ended.
    pub(crate) fn ended_by(&self, ledger: &Ledger) -> usize {
        let got = self.got_by(ledger);
        if ledger.is_backfilling() { got.saturating_sub(1) } else { got }
    }

    /// Returns the number of fires that the item has got.
    fn got_by(&self, ledger: &Ledger) -> usize {
        let last = ledger.backfilled.as_ref().filter(|last| last.id == self.id);
        last.map_or(0, |last| self.fires.partition_point(|fire| *fire <= last.fire))
    }

    /// Returns the indices of the fires that may be in progress.
    fn window(&self) -> Range<usize> {
        let end = self.done.saturating_add(self.concurrency).min(self.fires.len());
        self.done.min(end)..end
    }

    /// Returns the backfill after its end. The fires are no longer needed.
    pub(crate) fn ended_at(self, ended_ms: i64) -> Self {
        Self { fires: Vec::new(), ended_ms: Some(ended_ms), ..self }
    }
}

/// The backfills of a job, oldest first: the one in progress, and the last ended ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BackfillLog(Vec<Backfill>);

impl BackfillLog {
    /// Maximum number of ended backfills that are kept.
    pub const MAX_ENDED: usize = 8;

    pub(crate) const EMPTY: &'static Self = &Self(Vec::new());

    /// Adds a backfill and removes the oldest ended ones beyond the limit.
    pub fn push(&mut self, backfill: Backfill) {
        self.0.push(backfill);
        let ended = self.0.iter().filter(|known| known.ended_ms.is_some()).count();
        let mut surplus = ended.saturating_sub(Self::MAX_ENDED);
        self.0.retain(|known| {
            let drops = surplus > 0 && known.ended_ms.is_some();
            surplus -= usize::from(drops);
            !drops
        });
    }

    /// Returns the backfills, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Backfill> {
        self.0.iter()
    }

    /// Returns the backfill that has not ended, if there is one.
    ///
    /// A job has at most one: the record of an item remembers the fires of one backfill only.
    #[must_use]
    pub fn open(&self) -> Option<&Backfill> {
        self.0.iter().find(|backfill| backfill.ended_ms.is_none())
    }

    /// Returns the backfill with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Backfill> {
        self.0.iter().find(|backfill| *backfill.id == *id)
    }

    /// Returns the log with this backfill in place of the one with its id.
    #[must_use]
    pub fn with(&self, changed: &Backfill) -> Self {
        let replaced =
            self.0.iter().map(|known| if known.id == changed.id { changed } else { known });
        Self(replaced.cloned().collect())
    }
}

impl FromIterator<Backfill> for BackfillLog {
    fn from_iter<T: IntoIterator<Item = Backfill>>(backfills: T) -> Self {
        Self(backfills.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Claimant, Outcome};
    use reg_center::Version;
    use sharding::InstanceId;

    fn backfill(id: &str, ended_ms: Option<i64>) -> Backfill {
        Backfill {
            id: id.into(),
            by: "anna".to_owned(),
            why: "wrong rates".to_owned(),
            at: FireTime(9_001),
            from_ms: 1_000,
            until_ms: 4_000,
            fires: [1_000, 2_000, 3_000].map(FireTime).to_vec(),
            total: 3,
            items: [ShardingItem::new(0)].into(),
            concurrency: 2,
            done: 0,
            cancel: None,
            ended_ms,
            unknown: UnknownFields::default(),
        }
    }

    #[test]
    fn item_gets_each_fire_once_and_in_order_within_the_window() {
        let of = |done| Backfill { done, ..backfill("b", None) };
        let by = Claimant { holder: InstanceId::new("a"), config: Version(0), now_ms: 1 };
        let gets = |ledger: &Ledger, done: usize| {
            let (fire, at) = of(done).fire(of(done).next_of(ledger)?)?;
            ledger.with_backfill("b".into(), fire, at)
        };
        let mut ledger = Ledger::new(None);
        for (n, fire) in [1_000, 2_000].into_iter().enumerate() {
            let waits = gets(&ledger, 0).unwrap();
            assert_eq!((gets(&waits, 0), of(0).ended_by(&waits)), (None, n));
            let runs = waits.answer(&by).unwrap();
            let run = runs.run().unwrap();
            assert_eq!(run.past_fire, Some(FireTime(fire)));
            assert_eq!(run.fire, FireTime(9_001 + 2 * i64::try_from(n).unwrap()));
            assert_eq!((gets(&runs, 0), of(0).ended_by(&runs)), (None, n));
            ledger = runs.complete(Outcome::Failed, 2).unwrap();
            assert_eq!(of(0).ended_by(&ledger), n + 1);
        }
        assert_eq!(gets(&ledger, 0), None, "the window ends");
        let last = gets(&ledger, 1).unwrap().answer(&by).unwrap();
        assert_eq!(last.run().unwrap().past_fire, Some(FireTime(3_000)));
        let done = last.complete(Outcome::Succeeded, 3).unwrap();
        assert_eq!((of(2).ended_by(&done), gets(&done, 2)), (3, None));
        assert_eq!(of(2).next_of(&Ledger::new(None)), Some(2), "an item that comes back");
        let other = Backfill { id: "c".into(), ..of(0) };
        assert_eq!((other.next_of(&done), other.ended_by(&done)), (Some(0), 0));
    }

    #[test]
    fn oldest_ended_backfills_are_removed() {
        let mut log = BackfillLog::default();
        log.push(backfill("open", None));
        for n in 0..20 {
            log.push(backfill(&n.to_string(), Some(n)));
        }
        let ids: Vec<&str> = log.iter().map(|known| &*known.id).collect();
        assert_eq!(ids, ["open", "12", "13", "14", "15", "16", "17", "18", "19"]);
        assert_eq!(log.open().map(|known| &*known.id), Some("open"));
        let ended = log.with(&backfill("open", None).ended_at(7));
        assert_eq!(ended.open(), None);
        assert_eq!(ended.get("open").map(|known| known.fires.len()), Some(0));
    }
}
