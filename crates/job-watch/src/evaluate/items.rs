//! Conditions that each item of a job must meet.

use std::collections::BTreeMap;
use std::time::Duration;

use coordination::{JobConfig, Ledger, Slot};
use jiff::Timestamp;
use operations::JobSnapshot;
use sharding::ShardingItem;

use super::{Judged, Seen, State, describe, suspended, suspension, unknown, violated};
use crate::Condition;
use crate::memory::is_item_suspended;

/// State of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The item meets the condition; its state may change at this time.
    Fine(Option<i64>),
    /// The deadline is running until this time.
    Waits(i64),
    /// The item violates the condition since this time.
    Violated(i64),
    Unknown(Blind),
    /// The item is not judged.
    Suspended,
}

/// Missing fact about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blind {
    NotMonitored,
    NoRecord,
    Unreadable,
    JavaOwner,
    JavaSince,
}

pub(super) fn judge(condition: Condition, job: &JobSnapshot, seen: Seen<'_>, now: i64) -> Judged {
    let Some(config) = job.config() else { return unknown("the job has no configuration") };
    let scene = Scene { job, config, seen, now };
    let verdict: Box<dyn Fn(ShardingItem) -> Verdict + '_> = match condition {
        Condition::LateAfter(after) => {
            if config.cron.is_none() {
                return suspended("the job has no schedule, and runs on request only");
            }
            if let Some(why) = suspension(job, now) {
                return suspended(why);
            }
            Box::new(move |item| scene.late(item, after))
        }
        Condition::MustSucceedWithin(period) => {
            if let Some(why) = suspension(job, now) {
                return suspended(why);
            }
            Box::new(move |item| scene.succeeded(item, period))
        }
        Condition::AtMost(longest) => Box::new(move |item| scene.takes(item, longest)),
        Condition::Failures(n) => return failures(scene, n),
        Condition::Exists | Condition::InstancesAtLeast(_) => return Judged::of(State::Ok),
    };
    combined(scene, condition, &*verdict)
}

/// Combines the verdicts: one violation is enough, and one unknown item hides that all others are
/// fine.
fn combined(
    scene: Scene<'_>,
    condition: Condition,
    verdict: &dyn Fn(ShardingItem) -> Verdict,
) -> Judged {
    let mut violations: Vec<(i64, ShardingItem)> = Vec::new();
    let mut blind: Option<(ShardingItem, Blind)> = None;
    let (mut pending, mut due, mut judged) = (None::<i64>, None::<i64>, false);
    for item in scene.job.items() {
        let at = match verdict(item) {
            Verdict::Fine(at) => at,
            Verdict::Waits(until) => {
                pending = Some(pending.map_or(until, |earlier| earlier.min(until)));
                Some(until)
            }
            Verdict::Violated(since) => {
                violations.push((since, item));
                None
            }
            Verdict::Unknown(why) => {
                blind.get_or_insert((item, why));
                None
            }
            Verdict::Suspended => continue,
        };
        judged = true;
        due = at.map_or(due, |at| Some(due.map_or(at, |due| due.min(at))));
    }
    violations.sort_unstable();
    let state = match (violations.first(), blind, pending) {
        (Some((since, first)), _, _) => {
            let why = describe::violation(scene, condition, *first, violations.len() - 1);
            violated(*since, why).state
        }
        (None, Some((item, why)), _) => unknown(&describe::blind(scene.job, item, why)).state,
        (None, None, Some(until)) => {
            let until = Timestamp::from_millisecond(until).unwrap_or(Timestamp::MAX);
            State::Pending { until }
        }
        (None, None, None) if !judged && !scene.job.items().is_empty() => {
            suspended("all items are disabled, or their servers are paused or disabled").state
        }
        (None, None, None) => State::Ok,
    };
    Judged { state, due, items: violations.len() }
}

/// Judges the failed runs of all items: of one item in a row, or of several items at once.
fn failures(scene: Scene<'_>, n: u32) -> Judged {
    let failing = scene.failing();
    let in_row = failing.iter().find(|(_, failing)| failing.count >= n);
    let mut since: Vec<i64> = failing.values().map(|failing| failing.since).collect();
    since.sort_unstable();
    let at_once = usize::try_from(n).ok().and_then(|n| since.get(n.saturating_sub(1)));
    match (in_row, at_once) {
        (None, None) => {}
        (Some((item, row)), _) => {
            let item = ShardingItem::new(*item);
            let why = describe::in_row(scene.job, item, row.count, row.cause);
            return Judged { items: failing.len(), ..violated(row.since, why) };
        }
        (None, Some(since)) => {
            let items: Vec<u32> = failing.keys().copied().collect();
            let cause = failing.values().next_back().and_then(|row| row.cause);
            let why = describe::at_once(scene.job, &items, cause);
            return Judged { items: items.len(), ..violated(*since, why) };
        }
    }
    let blind = scene
        .job
        .items()
        .into_iter()
        .filter(|item| !scene.history_shows(*item))
        .find_map(|item| Some((item, scene.record(item).err()?)));
    match blind {
        Some((item, why)) => unknown(&describe::blind(scene.job, item, why)),
        None => Judged::of(State::Ok),
    }
}

/// Failed runs of an item in a row.
#[derive(Clone, Copy)]
struct FailingRow<'a> {
    count: u32,
    since: i64,
    /// Cause of the last one by a history; the record has that of other runs.
    cause: Option<&'a str>,
}

/// A job and the time at which it is judged.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) job: &'a JobSnapshot,
    config: &'a JobConfig,
    seen: Seen<'a>,
    now: i64,
}

impl<'a> Scene<'a> {
    /// Returns the record of an item, if it shows the item's runs.
    ///
    /// A record of a Rust instance stays when Java instances own the item, and is old then.
    fn record(&self, item: ShardingItem) -> Result<&'a Ledger, Blind> {
        if !self.config.monitor_execution {
            return Err(Blind::NotMonitored);
        }
        let shown = self.job.view().item(item);
        if shown.unreadable {
            return Err(Blind::Unreadable);
        }
        let record = &shown.ledger.as_ref().ok_or(Blind::NoRecord)?.value;
        match self.job.owner(item).filter(|owner| self.job.view().is_registered(owner)) {
            Some(owner) if self.job.is_java(owner) == Some(false) => Ok(record),
            Some(_) => Err(Blind::JavaOwner),
            None => {
                let last = record.last_fire.map(|fire| fire.0).max(record.began_ms);
                let java = self.seen.memory.java_seen;
                if java.is_some() && java > last { Err(Blind::JavaSince) } else { Ok(record) }
            }
        }
    }

    /// Returns true if a history shows the ends of an item's runs, and its record does not.
    fn history_shows(&self, item: ShardingItem) -> bool {
        let Some(history) = self.seen.history else { return false };
        let owner = self.job.owner(item).filter(|owner| self.job.view().is_registered(owner));
        // The history has the runs of Java instances only.
        let is_rust = owner.is_some_and(|owner| self.job.is_java(owner) == Some(false));
        let index = item.index();
        let is_known =
            history.last_success.contains_key(&index) || history.failed.contains_key(&index);
        is_known && !is_rust && self.record(item).is_err()
    }

    /// Returns the items whose last run failed, by their records or by the history.
    fn failing(&self) -> BTreeMap<u32, FailingRow<'a>> {
        let observed = self.seen.memory.failing.iter();
        let row = |count, since| FailingRow { count, since, cause: None };
        let mut all: BTreeMap<u32, FailingRow<'a>> =
            observed.map(|(item, failing)| (*item, row(failing.count, failing.since))).collect();
        let Some(history) = self.seen.history else { return all };
        for item in self.job.items().into_iter().filter(|item| self.history_shows(*item)) {
            let index = item.index();
            let record = self.job.view().item(item).ledger.as_ref();
            let ended = record.and_then(|record| record.value.ended_ms);
            // A success of a Java instance ends the row that the record began.
            if history.last_success.get(&index).is_some_and(|success| Some(*success) > ended) {
                all.remove(&index);
            }
            let success = self.seen.memory.last_success(index);
            let Some(failed) = history.failed.get(&index).filter(|f| Some(f.last) > success) else {
                continue;
            };
            // The history has not the successes of Rust instances: after one of them, only the last
            // failed run is sure.
            let (count, since) = if Some(failed.since) > success {
                (failed.count, failed.since)
            } else {
                (1, failed.last)
            };
            let before = all.get(&index).map_or(0, |row| row.count);
            let since = all.get(&index).map_or(since, |row| row.since.min(since));
            let count = before.saturating_add(count);
            all.insert(index, FailingRow { count, since, cause: failed.cause.as_deref() });
        }
        all
    }

    /// Returns the first fire that an item owes, and the time at which it is late.
    pub(super) fn owed(&self, item: ShardingItem, after: Duration) -> Option<(i64, i64)> {
        let record = self.record(item).ok()?;
        let allowed = millis(after).saturating_add(self.job.jitter_ms());
        // A run held the fires back until its instance was gone.
        let orphaned = self.seen.memory.orphaned_since(item.index()).unwrap_or(i64::MIN);
        let late = |owed: i64| owed.max(orphaned).saturating_add(allowed);
        let from = self.seen.memory.judged_from(item.index()).unwrap_or(self.now);
        if let Some(noted) = record.misfire.filter(|noted| noted.last.0 >= from) {
            // The item was busy at the noted fires, so their run is owed since the end of that.
            let owed = noted.first.0.max(self.last_end(item).unwrap_or(i64::MIN));
            return Some((noted.first.0, late(owed)));
        }
        // Fires that met a busy item are no later than the end of its run.
        let settled =
            record.last_fire.map(|fire| fire.0).max(self.end_that_settles(item)).max(Some(from))?;
        let fire = self.job.fire_after(settled)?;
        Some((fire, late(fire)))
    }

    fn late(&self, item: ShardingItem, after: Duration) -> Verdict {
        if is_item_suspended(self.job, item) {
            return Verdict::Suspended;
        }
        if let Err(blind) = self.record(item) {
            return Verdict::Unknown(blind);
        }
        // Later fires wait for runs that go on; `at_most` judges these. A lost run delays them only
        // until it is taken over.
        if self.job.is_held_by_runs(item) {
            return Verdict::Fine(None);
        }
        match self.owed(item, after) {
            None => Verdict::Fine(None),
            Some((_, late)) if late <= self.now => Verdict::Violated(late),
            Some((fire, late)) if fire <= self.now => Verdict::Waits(late),
            Some((fire, _)) => Verdict::Fine(Some(fire)),
        }
    }

    /// Returns the last known success of an item.
    pub(super) fn last_success(&self, item: ShardingItem) -> Option<i64> {
        self.seen.last_success(item.index())
    }

    fn succeeded(&self, item: ShardingItem, period: Duration) -> Verdict {
        if is_item_suspended(self.job, item) {
            return Verdict::Suspended;
        }
        let success = self.last_success(item);
        let record = self.record(item);
        let from = match (success, &record) {
            (Some(success), _) => success,
            (None, Err(blind)) => return Verdict::Unknown(*blind),
            // The last success is not known, but it was before the last run began, and this
            // process has seen none.
            (None, Ok(record)) => {
                let observed = self.seen.memory.observed_from.unwrap_or(self.now);
                record.began_ms.map_or(observed, |began| began.min(observed))
            }
        };
        // Old facts of an item whose present runs are not recorded show no violation.
        let due = from.saturating_add(millis(period));
        match (record, self.seen.history) {
            (Err(blind), None) if due <= self.now => Verdict::Unknown(blind),
            // The next reading of the history decides.
            (Err(_), Some(facts)) if facts.read_at.is_some_and(|read| read < due) => {
                Verdict::Fine(None)
            }
            _ if due <= self.now => Verdict::Violated(due),
            _ if success.is_none() => Verdict::Waits(due),
            _ => Verdict::Fine(Some(due)),
        }
    }

    /// Returns the last end of a run of an item by its records.
    fn last_end(&self, item: ShardingItem) -> Option<i64> {
        let record = |slot: Slot| self.job.view().item(slot.key()).ledger.as_ref();
        self.job.slots(item).into_iter().filter_map(|slot| record(slot)?.value.ended_ms).max()
    }

    /// Returns the end of a run up to which the item could start no fire. With several slots, a run
    /// does not prevent others.
    fn end_that_settles(&self, item: ShardingItem) -> Option<i64> {
        if self.config.slots() > 1 { None } else { self.last_end(item) }
    }

    /// Returns the slot of the oldest run of an item, and the time at which that began or was first
    /// seen.
    pub(super) fn oldest_run(&self, item: ShardingItem) -> Option<(Slot, Option<i64>)> {
        let began = |slot: Slot| {
            let known = self.job.run_start(slot.key());
            known.or(self.seen.memory.running_since(slot.key().index()))
        };
        let runs = self.job.running_slots(item).into_iter().map(|slot| (slot, began(slot)));
        runs.min_by_key(|(_, began)| began.unwrap_or(i64::MAX))
    }

    fn takes(&self, item: ShardingItem, longest: Duration) -> Verdict {
        if !self.config.monitor_execution {
            return Verdict::Unknown(Blind::NotMonitored);
        }
        let Some((_, Some(began))) = self.oldest_run(item) else { return Verdict::Fine(None) };
        let until = began.saturating_add(millis(longest));
        if until <= self.now { Verdict::Violated(until) } else { Verdict::Fine(Some(until)) }
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
