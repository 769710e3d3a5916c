//! Records of a window of the period: a bounded part of it.

use std::collections::{BTreeMap, BTreeSet};

use sharding::ShardingItem;

use crate::query::MAX_PAGE;
use crate::store::{Fault, Order, Store};
use crate::{DropRecord, FireOutcome, FireQuery, FireRecord};

pub(super) use crate::store::time;

/// Maximum number of records in a window.
pub(super) const MAX_RECORDS: usize = 200_000;

/// A gap of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedGap {
    pub(super) first_ms: i64,
    /// Exclusive end.
    pub(super) until_ms: i64,
    pub(super) reason: String,
}

impl RecordedGap {
    pub(super) fn of(record: &FireRecord) -> Option<Self> {
        let is_gap = record.outcome == FireOutcome::gap();
        let reason = record.reason.clone().filter(|_| is_gap);
        Some(Self {
            first_ms: record.fire.as_millisecond(),
            until_ms: record.gap_until?.as_millisecond(),
            reason: reason.unwrap_or_else(|| "no instance ran the fires of this gap".to_owned()),
        })
    }

    pub(super) fn has(&self, fire_ms: i64) -> bool {
        (self.first_ms..self.until_ms).contains(&fire_ms)
    }
}

/// Gaps by item, earliest first.
pub(super) type Gaps = BTreeMap<u32, Vec<RecordedGap>>;

/// Records of the whole period.
#[derive(Debug, Default)]
pub(super) struct Background {
    /// Last recorded fire of items, of the last minute.
    pub(super) latest: BTreeMap<u32, i64>,
    /// Records that the store has lost in the period.
    pub(super) drops: Vec<DropRecord>,
}

/// Records of a window.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Fires of the window by time and item.
    pub(super) records: BTreeMap<(i64, u32), FireRecord>,
    /// Those of them that were run, by item and time.
    runs: BTreeSet<(u32, i64)>,
    /// Gaps that begin in the window, and the last one before it.
    gaps: Gaps,
    /// First run of an item after the window, for items with fires that wait for a run.
    pub(super) later_runs: BTreeMap<u32, FireRecord>,
    /// Reasons of instances that missed a fire with all their items, by fire.
    pub(super) reports: BTreeMap<i64, String>,
}

impl Evidence {
    /// Creates evidence without records. `gaps` are those that began before the window.
    pub(super) fn after(gaps: Gaps) -> Self {
        Self { gaps, ..Self::default() }
    }

    /// Adds records, earliest first.
    pub(super) fn extend(&mut self, records: impl IntoIterator<Item = FireRecord>) {
        for record in records {
            let item = record.item.index();
            if let Some(gap) = RecordedGap::of(&record) {
                self.gaps.entry(item).or_default().push(gap);
            }
            let fire_ms = record.fire.as_millisecond();
            if record.token.is_some() {
                self.runs.insert((item, fire_ms));
            }
            self.records.insert((fire_ms, item), record);
        }
    }

    /// Returns the gap of an item that a fire lies in.
    pub(super) fn gap_with(&self, fire_ms: i64, item: u32) -> Option<&RecordedGap> {
        self.gaps.get(&item)?.iter().rev().find(|gap| gap.has(fire_ms))
    }

    /// Returns the items with a misfired fire that no run of the window stands for.
    fn waiting_items(&self) -> BTreeSet<u32> {
        let is_misfired = |record: &&FireRecord| record.outcome == FireOutcome::misfired();
        let waiting = self.records.values().filter(is_misfired);
        let waiting = waiting.filter(|record| self.run_after(record).is_none());
        waiting.map(|record| record.item.index()).collect()
    }

    /// Returns the run that stands for a fire which met the busy item: the next one of the item
    /// that began after it.
    pub(super) fn run_after(&self, misfired: &FireRecord) -> Option<&FireRecord> {
        let item = misfired.item.index();
        let after = misfired.fire.as_millisecond().saturating_add(1);
        let later = self.runs.range((item, after)..=(item, i64::MAX));
        let mut later = later.filter_map(|(item, fire_ms)| self.records.get(&(*fire_ms, *item)));
        later
            .find(|run| run.began.is_none_or(|began| began >= misfired.fire))
            .or_else(|| self.later_runs.get(&item))
    }

    /// Returns the last gap of each item, for the next window.
    pub(super) fn into_last_gaps(mut self) -> Gaps {
        for gaps in self.gaps.values_mut() {
            gaps.drain(..gaps.len().saturating_sub(1));
        }
        self.gaps
    }
}

/// The window has more than `MAX_RECORDS` records.
pub(super) struct TooManyRecords;

/// A job and a part of the period, in milliseconds: the end is exclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) job: &'a str,
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
}

impl Window<'_> {
    fn query(&self) -> FireQuery {
        FireQuery::default().job(self.job)
    }
}

impl Store {
    /// Reads the records of a window. `gaps` are those that began before it.
    pub(super) async fn evidence(
        &self,
        window: Window<'_>,
        gaps: Gaps,
    ) -> Result<Result<Evidence, TooManyRecords>, Fault> {
        let mut evidence = Evidence::after(gaps);
        let query = window.query().from(time(window.from_ms)).until(time(window.until_ms));
        let mut after = None;
        loop {
            let page = self.fires(&query, MAX_PAGE, Order::EarliestFirst, after.as_ref()).await?;
            evidence.extend(page.fires);
            if evidence.records.len() > MAX_RECORDS {
                return Ok(Err(TooManyRecords));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for item in evidence.waiting_items() {
            let mut query = window.query().item(ShardingItem::new(item));
            query = query.from(time(window.until_ms));
            query.has_run = true;
            let page = self.fires(&query, 1, Order::EarliestFirst, None).await?;
            evidence.later_runs.extend(page.fires.into_iter().map(|run| (item, run)));
        }
        evidence.reports =
            self.missed_by_instances(window.job, window.from_ms, window.until_ms).await?;
        Ok(Ok(evidence))
    }

    /// Returns the gaps that begin before a time and last beyond it.
    pub(super) async fn gaps_over(&self, job: &str, at_ms: i64) -> Result<Gaps, Fault> {
        let mut query = FireQuery::default().job(job).until(time(at_ms));
        query.gap_beyond = Some(time(at_ms));
        let mut evidence = Evidence::default();
        let mut after = None;
        loop {
            let page = self.fires(&query, MAX_PAGE, Order::EarliestFirst, after.as_ref()).await?;
            evidence.extend(page.fires);
            after = page.next;
            if after.is_none() {
                return Ok(evidence.into_last_gaps());
            }
        }
    }
}
