//! Operators who request and cancel backfills, and the checks of their progress.

use coordination::{
    Backfill, BackfillCancel, BackfillLog, FireTime, JobView, OperatorStep, UnknownFields,
};
use reg_center::Version;
use sharding::ShardingItem;

use super::world::World;

/// Time between two past fires, in milliseconds.
const PERIOD_MS: i64 = 1_000;

impl World {
    /// An operator requests a backfill of this many past fires, unless one is in progress.
    pub(crate) fn request_backfill(
        &mut self,
        fires: u8,
        items: Option<u32>,
        concurrency: u8,
    ) -> bool {
        let Some((version, mut log)) = self.open_log(|log| log.open().is_none()) else {
            return false;
        };
        let now = self.true_wall();
        let until_ms = now - now.rem_euclid(PERIOD_MS);
        let from_ms = until_ms - i64::from(fires) * PERIOD_MS;
        let fires: Vec<_> = (0..i64::from(fires)).map(|n| from_ms + n * PERIOD_MS).collect();
        let items = items.unwrap_or(self.settings.items);
        log.push(Backfill {
            id: format!("backfill-{}", self.step).into(),
            by: "operator".to_owned(),
            why: "simulated".to_owned(),
            at: FireTime::of_request(now),
            from_ms,
            until_ms,
            total: fires.len(),
            fires: fires.into_iter().map(FireTime).collect(),
            items: (0..items).map(ShardingItem::new).collect(),
            concurrency: concurrency.into(),
            done: 0,
            cancel: None,
            ended_ms: None,
            unknown: UnknownFields::default(),
        });
        self.write_backfills(log, version)
    }

    /// An operator cancels the backfill in progress.
    pub(crate) fn cancel_backfill(&mut self) -> bool {
        let in_progress = |log: &BackfillLog| log.open().is_some_and(Backfill::is_in_progress);
        let Some((version, log)) = self.open_log(in_progress) else { return false };
        let (by, why) = ("operator".to_owned(), "simulated".to_owned());
        let cancel = BackfillCancel { by, why, at_ms: self.true_wall() };
        let Some(open) = log.open().cloned() else { return false };
        let log = log.with(&Backfill { cancel: Some(cancel), ..open });
        self.write_backfills(log, version)
    }

    fn open_log(
        &self,
        is_wanted: impl Fn(&BackfillLog) -> bool,
    ) -> Option<(Option<Version>, BackfillLog)> {
        let (version, log) = self.observer.view().backfill_log()?;
        is_wanted(log).then(|| (version, log.clone()))
    }

    fn write_backfills(&mut self, log: BackfillLog, expect: Option<Version>) -> bool {
        let step = OperatorStep::SetBackfills { log, expect };
        let txn = self.paths.layout.change(&[step]);
        self.operate(&txn)
    }

    /// Checks a write of the log of backfills.
    pub(crate) fn check_backfills(&mut self, before: &JobView) {
        let found = promises::breach_of_backfills(before, self.observer.view());
        let ended = |view: &JobView| {
            let mut ended = view.backfills().iter().filter(|one| one.ended_ms.is_some());
            ended.next_back().map(|one| (one.id.clone(), one.cancel.is_some()))
        };
        let (old, new) = (ended(before), ended(self.observer.view()));
        if let Some((_, is_cancelled)) = new.filter(|new| Some(new) != old.as_ref()) {
            self.coverage.count(if is_cancelled { "backfill_cancelled" } else { "backfill_done" });
        }
        self.report(found);
    }

    /// Checks that no backfill is in progress in a quiet cluster that can run it.
    pub(crate) fn check_backfill_ended(&mut self) {
        let open = self.observer.view().backfills().open();
        let waits = !self.settings.monitor || self.observer.view().config().is_none();
        if let Some(open) = open.filter(|_| !waits) {
            let text = format!("backfill {} is in progress: {open:?}", open.id);
            self.fail("S19", text);
        }
    }
}
