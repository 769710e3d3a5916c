//! Records of a window of the period: a bounded part of it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use coordination::RunSource;
use sharding::{InstanceId, ShardingItem};

use super::expected::Expected;
use crate::query::MAX_PAGE;
use crate::store::{Fault, Order, Store};
use crate::{DropRecord, FireOutcome, FireQuery, FireRecord};

pub(super) use crate::store::time;

/// Maximum number of records in a window, and of reports.
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

/// Facts from before a window.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Gaps that may last into the window.
    pub(super) gaps: Gaps,
    /// Instance of the last run of an item, as far as it was needed. `None` if there is no run.
    owners: BTreeMap<u32, Option<InstanceId>>,
}

impl Carried {
    /// Carries gaps only.
    pub(super) fn of_gaps(gaps: Gaps) -> Self {
        Self { gaps, owners: BTreeMap::new() }
    }
}

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
    /// Runs of backfills for the fires of the window, by past fire and item: the last completed
    /// one, if there is one.
    pub(super) backfills: BTreeMap<(i64, u32), FireRecord>,
    /// Reasons of instances that missed a fire with all their items, by fire.
    pub(super) reports: BTreeMap<i64, BTreeMap<InstanceId, String>>,
    /// Instance of the last run of an item before the window, for items with a report to judge.
    owners_before: BTreeMap<u32, Option<InstanceId>>,
    /// Instance of the first run of an item after the window, for items with a report to judge.
    owners_after: BTreeMap<u32, InstanceId>,
}

impl Evidence {
    /// Creates evidence without records.
    pub(super) fn after(Carried { gaps, owners }: Carried) -> Self {
        Self { gaps, owners_before: owners, ..Self::default() }
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

    /// Adds runs of backfills, earliest first.
    pub(super) fn extend_backfills(&mut self, records: impl IntoIterator<Item = FireRecord>) {
        for record in records {
            let Some(past) = record.past_fire else { continue };
            let key = (past.as_millisecond(), record.item.index());
            if record.last_completed.is_some() || !self.backfills.contains_key(&key) {
                self.backfills.insert(key, record);
            }
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
            .find(|run| !is_of_request(run) && run.began.is_none_or(|began| began >= misfired.fire))
            .or_else(|| self.later_runs.get(&item))
    }

    /// Returns the reason of the owner of an item that missed a fire with all its items.
    ///
    /// The history has no owners of items. The owner is taken to be the instance that ran the item
    /// last before the fire, or first after it.
    pub(super) fn missed_by_owner(&self, fire_ms: i64, item: u32) -> Option<&str> {
        let reports = self.reports.get(&fire_ms)?;
        let owners = [self.owner_before(fire_ms, item), self.owner_after(fire_ms, item)];
        owners.into_iter().flatten().find_map(|owner| reports.get(owner)).map(String::as_str)
    }

    fn owner_before(&self, fire_ms: i64, item: u32) -> Option<&InstanceId> {
        let mut earlier = self.runs.range((item, i64::MIN)..(item, fire_ms)).rev();
        let owner = earlier.find_map(|run| self.owner_by(*run));
        owner.or_else(|| self.owners_before.get(&item)?.as_ref())
    }

    fn owner_after(&self, fire_ms: i64, item: u32) -> Option<&InstanceId> {
        let mut later = self.runs.range((item, fire_ms)..=(item, i64::MAX));
        let owner = later.find_map(|run| self.owner_by(*run));
        owner.or_else(|| self.owners_after.get(&item))
    }

    /// Returns the owner of an item that a run shows. A takeover shows none: any instance may take
    /// a run over.
    fn owner_by(&self, (item, fire_ms): (u32, i64)) -> Option<&InstanceId> {
        let run = self.records.get(&(fire_ms, item))?;
        run.instance.as_ref().filter(|_| run.source != Some(RunSource::Failover))
    }

    /// Returns the items with a fire that nothing but a report of their owner can explain, and that
    /// no known owner has reported.
    fn items_to_explain(&self, expected: &Expected) -> BTreeSet<u32> {
        let reported = self.reports.keys().filter_map(|fire_ms| expected.at(*fire_ms));
        let fires = reported.flat_map(|fire| (0..fire.items).map(move |item| (fire.fire_ms, item)));
        let open = fires.filter(|(fire_ms, item)| {
            !self.records.contains_key(&(*fire_ms, *item))
                && self.gap_with(*fire_ms, *item).is_none()
                && self.missed_by_owner(*fire_ms, *item).is_none()
        });
        open.map(|(_, item)| item).collect()
    }

    /// Returns the last gap and the last owner of each item, for the next window.
    pub(super) fn into_carried(mut self) -> Carried {
        let ran: BTreeSet<u32> = self.runs.iter().map(|(item, _)| *item).collect();
        for item in ran {
            if let Some(owner) = self.owner_before(i64::MAX, item).cloned() {
                self.owners_before.insert(item, Some(owner));
            }
        }
        for gaps in self.gaps.values_mut() {
            gaps.drain(..gaps.len().saturating_sub(1));
        }
        Carried { gaps: self.gaps, owners: self.owners_before }
    }
}

/// Returns true if a run was of a request of an operator: it stands for no scheduled fire.
///
/// Times of requests are odd, also after a takeover, which changes the source.
fn is_of_request(run: &FireRecord) -> bool {
    matches!(run.source, Some(RunSource::Manual | RunSource::Backfill))
        || run.fire.as_millisecond() % 2 != 0
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
    /// Reads the records of a window.
    pub(super) async fn evidence(
        &self,
        window: Window<'_>,
        carried: Carried,
        expected: &Expected,
    ) -> Result<Result<Evidence, TooManyRecords>, Fault> {
        let mut evidence = Evidence::after(carried);
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
        let mut query = window.query();
        query.past_fires = Some((window.from_ms, window.until_ms));
        let mut after = None;
        loop {
            let page = self.fires(&query, MAX_PAGE, Order::EarliestFirst, after.as_ref()).await?;
            evidence.extend_backfills(page.fires);
            if evidence.backfills.len() > MAX_RECORDS {
                return Ok(Err(TooManyRecords));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        for item in evidence.waiting_items() {
            let mut query = window.query().item(ShardingItem::new(item)).with_run();
            query = query.from(time(window.until_ms));
            query.without_requests = true;
            let page = self.fires(&query, 1, Order::EarliestFirst, None).await?;
            evidence.later_runs.extend(page.fires.into_iter().map(|run| (item, run)));
        }
        let limit = i64::try_from(MAX_RECORDS).unwrap_or(i64::MAX);
        let period = (window.from_ms, window.until_ms);
        evidence.reports = self.missed_by_instances(window.job, period, limit).await?;
        if evidence.reports.values().map(BTreeMap::len).sum::<usize>() >= MAX_RECORDS {
            return Ok(Err(TooManyRecords));
        }
        self.add_owners(window, expected, &mut evidence).await?;
        Ok(Ok(evidence))
    }

    /// Adds the instances that ran items before and after the window, as far as a report of a
    /// missed fire depends on them.
    async fn add_owners(
        &self,
        window: Window<'_>,
        expected: &Expected,
        evidence: &mut Evidence,
    ) -> Result<(), Fault> {
        for item in evidence.items_to_explain(expected) {
            if let Entry::Vacant(unknown) = evidence.owners_before.entry(item) {
                let query = window.query().until(time(window.from_ms));
                unknown.insert(self.owner(query, item, Order::LatestFirst).await?);
            }
        }
        for item in evidence.items_to_explain(expected) {
            let query = window.query().from(time(window.until_ms));
            let owner = self.owner(query, item, Order::EarliestFirst).await?;
            evidence.owners_after.extend(owner.map(|owner| (item, owner)));
        }
        Ok(())
    }

    /// Returns the instance of the first run of an item, in this order, that is not a takeover.
    async fn owner(
        &self,
        query: FireQuery,
        item: u32,
        order: Order,
    ) -> Result<Option<InstanceId>, Fault> {
        let mut query = query.item(ShardingItem::new(item)).with_run();
        query.without_takeovers = true;
        let page = self.fires(&query, 1, order, None).await?;
        Ok(page.fires.into_iter().next().and_then(|run| run.instance))
    }

    /// Returns the gaps that begin before a time and last beyond it.
    pub(super) async fn gaps_over(&self, job: &str, at_ms: i64) -> Result<Carried, Fault> {
        let mut query = FireQuery::default().job(job).until(time(at_ms));
        query.gap_beyond = Some(time(at_ms));
        let mut evidence = Evidence::default();
        let mut after = None;
        loop {
            let page = self.fires(&query, MAX_PAGE, Order::EarliestFirst, after.as_ref()).await?;
            evidence.extend(page.fires);
            after = page.next;
            if after.is_none() {
                let Carried { gaps, .. } = evidence.into_carried();
                return Ok(Carried::of_gaps(gaps));
            }
        }
    }
}
