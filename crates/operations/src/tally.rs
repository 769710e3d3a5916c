//! Counts over the items of a job. Each change of an item updates them, so that no reader has to
//! walk over all items.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{
    ItemView, JobView, Ledger, NodeKind, Outcome, OutcomeCounts, Slot, decode_progress,
};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

use crate::JobSnapshot;
use crate::attention::{Chance, chance, fire_since};
use crate::slots::{has_run, known_items, runner, slots_of};

/// Start of a run whose start is unknown. Such runs are the last among the oldest.
const UNKNOWN_START: i64 = i64::MAX;

/// Counts over the items that a job has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of items of which anything is known.
    known: usize,
    failing: usize,
    unfinished: usize,
    disabled: usize,
    /// Keys of the slots with a run in progress, by its start in milliseconds since 1970 UTC.
    running: BTreeSet<(i64, ShardingItem)>,
    /// Number of runs of each instance, if it is known.
    runs_on: BTreeMap<InstanceId, usize>,
    /// Number of items of each owner, whether the owner lives or not.
    owned: BTreeMap<InstanceId, usize>,
    /// Number of items by the fire that each has to start next, in milliseconds since 1970 UTC.
    due: BTreeMap<i64, usize>,
    /// The same of items whose owners may not have been ready for it.
    unproven: BTreeMap<i64, usize>,
    /// Number of items by the end of the last run, in milliseconds since 1970 UTC.
    ended: BTreeMap<i64, usize>,
    /// Runs of all items, also of those beyond the configured number.
    runs: CountsSum,
    /// Records that these runs have processed.
    processed: CountsSum,
}

/// Contribution of one item to the counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ItemFacts {
    is_known: bool,
    is_failing: bool,
    is_unfinished: bool,
    is_disabled: bool,
    /// Each run in progress: its start, the key of its slot, and its instance if that is known.
    running: Vec<(i64, ShardingItem, Option<InstanceId>)>,
    owner: Option<InstanceId>,
    chance: Option<Chance>,
    ended: Option<i64>,
    runs: OutcomeCounts,
    processed: OutcomeCounts,
}

/// Sum of counts. Any stored numbers fit, so that each can be subtracted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CountsSum {
    succeeded: u128,
    failed: u128,
}

impl CountsSum {
    fn add(&mut self, counts: OutcomeCounts) {
        self.succeeded += u128::from(counts.succeeded);
        self.failed += u128::from(counts.failed);
    }

    fn remove(&mut self, counts: OutcomeCounts) {
        self.succeeded -= u128::from(counts.succeeded);
        self.failed -= u128::from(counts.failed);
    }

    fn counts(self) -> OutcomeCounts {
        let shown = |sum| u64::try_from(sum).unwrap_or(u64::MAX);
        OutcomeCounts { succeeded: shown(self.succeeded), failed: shown(self.failed) }
    }
}

impl ItemFacts {
    /// Returns the contribution of an item. An item beyond the configured number adds the counts of
    /// its runs alone.
    pub(crate) fn of(job: &JobSnapshot, item: ShardingItem) -> Self {
        let total = job.config().map(|config| config.sharding_total_count);
        let (runs, processed) = (run_counts(job, item), processing_counts(job, item));
        if total.is_some_and(|total| item.index() >= total) {
            return Self { runs, processed, ..Self::default() };
        }
        let shown = job.view().item(item);
        let slots: Vec<_> = slots_of(job.view(), item).collect();
        let is_lost = |slot: Slot| job.lost_holder(slot.key()).is_some();
        let running = slots.iter().filter(|(slot, shown)| has_run(shown) && !is_lost(*slot));
        let run = |(slot, _): &(Slot, &ItemView)| {
            let since = job.run_start(slot.key()).unwrap_or(UNKNOWN_START);
            (since, slot.key(), runner(job.view(), slot.key()).cloned())
        };
        let idle = slots.iter().filter(|(slot, shown)| !has_run(shown) && !is_lost(*slot));
        Self {
            is_known: slots.iter().any(|(_, shown)| **shown != ItemView::default()),
            is_failing: job.failing_slot(item).is_some(),
            is_unfinished: slots.iter().any(|(_, shown)| shown.queued || shown.is_busy()),
            is_disabled: shown.is_disabled(),
            running: running.map(run).collect(),
            owner: shown.owner.as_ref().map(|owner| owner.value.clone()),
            chance: chance(job, item),
            ended: idle.filter_map(|(_, shown)| shown.ledger.as_ref()?.value.ended_ms).max(),
            runs,
            processed,
        }
    }
}

/// Returns true if the last run that has ended did not succeed, so that its work is missing. An
/// interrupted run is one of them. What is shown as failing and what is run again follow this rule.
pub(crate) fn has_failed(record: &Ledger) -> bool {
    match record.outcome {
        Some(Outcome::Failed | Outcome::Panicked | Outcome::TimedOut | Outcome::Interrupted) => {
            true
        }
        // An operator wanted the end of a cancelled run.
        Some(Outcome::Succeeded | Outcome::Cancelled | Outcome::Disabled) | None => false,
    }
}

/// Returns the numbers of runs of an item that succeeded and that failed, in all of its slots.
pub(crate) fn run_counts(job: &JobSnapshot, item: ShardingItem) -> OutcomeCounts {
    let slots = slots_of(job.view(), item);
    let counts = slots.filter_map(|(_, shown)| Some(shown.ledger.as_ref()?.value.runs));
    counts.fold(OutcomeCounts::default(), OutcomeCounts::plus)
}

/// Returns the numbers of records that all runs of an item have processed, in all of its slots;
/// zero if none are stored, or they cannot be read.
pub(crate) fn processing_counts(job: &JobSnapshot, item: ShardingItem) -> OutcomeCounts {
    let of_slot = |(slot, _): (Slot, &ItemView)| {
        let node = job.node(&NodeKind::Progress(slot.key()))?;
        decode_progress(&node.data).ok().map(|record| record.counts)
    };
    let counts = slots_of(job.view(), item).filter_map(of_slot);
    counts.fold(OutcomeCounts::default(), OutcomeCounts::plus)
}

impl JobSnapshot {
    /// Returns the start of the present run of an item, or of the slot with this key, in
    /// milliseconds since 1970 UTC: by the record, or the time of the mark by the registry's clock.
    /// Java instances write no records.
    ///
    /// Returns `None` if the slot has no run, or no node shows the start.
    #[must_use]
    pub fn run_start(&self, key: ShardingItem) -> Option<i64> {
        let shown = self.view().item(key);
        if !has_run(shown) {
            return None;
        }
        let record = shown.ledger.as_ref().map(|record| &record.value);
        let recorded = record.filter(|record| record.running().is_some());
        let marked = || {
            let mark = self.node(&NodeKind::Running(key))?;
            Timestamp::try_from(mark.stat.modified_at?).ok().map(Timestamp::as_millisecond)
        };
        recorded.and_then(|record| record.began_ms).or_else(marked)
    }
}

impl Tally {
    pub(crate) fn of(job: &JobSnapshot) -> Self {
        let mut tally = Self::default();
        for item in known_items(job.view()) {
            tally.add(ItemFacts::of(job, item));
        }
        tally
    }

    /// Replaces the contribution of an item.
    pub(crate) fn replace(&mut self, before: ItemFacts, after: ItemFacts) {
        if before != after {
            self.remove(before);
            self.add(after);
        }
    }

    fn add(&mut self, facts: ItemFacts) {
        self.known += usize::from(facts.is_known);
        self.failing += usize::from(facts.is_failing);
        self.unfinished += usize::from(facts.is_unfinished);
        self.disabled += usize::from(facts.is_disabled);
        for (since, slot, runs_on) in facts.running {
            self.running.insert((since, slot));
            if let Some(id) = runs_on {
                *self.runs_on.entry(id).or_default() += 1;
            }
        }
        if let Some(owner) = facts.owner {
            *self.owned.entry(owner).or_default() += 1;
        }
        if let Some((fires, fire)) = facts.chance.map(|chance| self.fires(chance)) {
            *fires.entry(fire).or_default() += 1;
        }
        if let Some(ended) = facts.ended {
            *self.ended.entry(ended).or_default() += 1;
        }
        self.runs.add(facts.runs);
        self.processed.add(facts.processed);
    }

    fn remove(&mut self, facts: ItemFacts) {
        self.known -= usize::from(facts.is_known);
        self.failing -= usize::from(facts.is_failing);
        self.unfinished -= usize::from(facts.is_unfinished);
        self.disabled -= usize::from(facts.is_disabled);
        for (since, slot, runs_on) in facts.running {
            self.running.remove(&(since, slot));
            if let Some(id) = runs_on {
                take_one(&mut self.runs_on, &id);
            }
        }
        if let Some(owner) = facts.owner {
            take_one(&mut self.owned, &owner);
        }
        if let Some((fires, fire)) = facts.chance.map(|chance| self.fires(chance)) {
            take_one(fires, &fire);
        }
        if let Some(ended) = facts.ended {
            take_one(&mut self.ended, &ended);
        }
        self.runs.remove(facts.runs);
        self.processed.remove(facts.processed);
    }

    pub(crate) fn known(&self) -> usize {
        self.known
    }

    /// Returns the number of items whose last run did not succeed.
    pub(crate) fn failing(&self) -> usize {
        self.failing
    }

    /// Returns true if the record or a mark of any item shows a run that has not ended.
    pub(crate) fn any_unfinished(&self) -> bool {
        self.unfinished > 0
    }

    /// Returns the number of items that an operator has disabled.
    pub(crate) fn disabled(&self) -> usize {
        self.disabled
    }

    /// Returns the keys of the slots with a run in progress, the oldest run first, with the start
    /// of each in milliseconds since 1970 UTC. Runs whose start is unknown are the last.
    pub(crate) fn running(&self) -> impl ExactSizeIterator<Item = (Option<i64>, ShardingItem)> {
        let known = |since: i64| (since != UNKNOWN_START).then_some(since);
        self.running.iter().map(move |(since, item)| (known(*since), *item))
    }

    /// Returns the numbers of runs by their instance, if it is known.
    pub(crate) fn runs_on(&self) -> &BTreeMap<InstanceId, usize> {
        &self.runs_on
    }

    /// Returns the number of items whose owner is registered.
    pub(crate) fn owned_by_live(&self, view: &JobView) -> usize {
        view.instances().map(|id| self.owned_by(id)).sum()
    }

    /// Returns the number of items that an instance owns, whether it lives or not.
    pub(crate) fn owned_by(&self, id: &InstanceId) -> usize {
        self.owned.get(id).copied().unwrap_or_default()
    }

    fn fires(&mut self, chance: Chance) -> (&mut BTreeMap<i64, usize>, i64) {
        match chance {
            Chance::Proven { fire_ms } => (&mut self.due, fire_ms),
            Chance::Unproven { fire_ms } => (&mut self.unproven, fire_ms),
        }
    }

    /// Returns the earliest fire that an item has to start, in milliseconds since 1970 UTC.
    ///
    /// See [`due_fire`](crate::due_fire) for `ready_ms`.
    pub(crate) fn first_due(&self, job: &JobSnapshot, ready_ms: Option<i64>) -> Option<i64> {
        let proven = self.due.first_key_value().map(|(fire, _)| *fire);
        let unproven = ready_ms.and_then(|ready| {
            let (first, _) = self.unproven.first_key_value()?;
            let later = self.unproven.range(ready..).next().map(|(fire, _)| *fire);
            [fire_since(job, *first, ready), later].into_iter().flatten().min()
        });
        [proven, unproven].into_iter().flatten().min()
    }

    /// Returns the numbers of runs of all items.
    pub(crate) fn runs(&self) -> OutcomeCounts {
        self.runs.counts()
    }

    /// Returns the numbers of records that all runs of the items have processed.
    pub(crate) fn processed(&self) -> OutcomeCounts {
        self.processed.counts()
    }

    /// Returns the last end of a run, in milliseconds since 1970 UTC.
    pub(crate) fn last_end(&self) -> Option<i64> {
        self.ended.last_key_value().map(|(end, _)| *end)
    }
}

/// Decrements a count, and removes it at zero.
fn take_one<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
