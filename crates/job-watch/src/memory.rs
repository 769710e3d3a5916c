//! Facts about a job that its nodes no longer show: earlier successes and failures, and since when
//! a state lasts.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{JobConfig, Ledger, Outcome, RunSource, ServerState, Slot, server_of};
use jiff::Timestamp;
use operations::{JobSnapshot, JobState, job_state};
use serde::{Deserialize, Serialize};
use sharding::{InstanceId, ShardingItem};

use crate::{Condition, Expectation};

/// Maximum number of items of each kind that are stored for one job.
const MAX_STORED_ITEMS: usize = 200;

/// Facts about one job, from the states that were observed. It is a document of the registry, so
/// that they survive the watcher.
///
/// All times are in milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Fires before this time are not judged: the job was not known, suspended, or had another
    /// schedule. `None` before the first observation.
    pub(crate) judged_from: Option<i64>,
    /// Schedule of the last observation.
    #[serde(default)]
    schedule: String,
    /// All servers were paused or disabled at the last observation.
    #[serde(default)]
    is_suspended: bool,
    /// Items that were suspended at the last observation although the job was not.
    #[serde(default)]
    suspended_items: BTreeSet<u32>,
    /// Items that were suspended, with the end of that. Earlier fires are not judged.
    #[serde(default)]
    resumed_items: BTreeMap<u32, i64>,
    /// Last time at which a Java instance was alive.
    #[serde(default)]
    pub(crate) java_seen: Option<i64>,
    /// Time since which the job does not exist.
    #[serde(default)]
    pub(crate) absent_since: Option<i64>,
    /// Time since which fewer instances live than are expected.
    #[serde(default)]
    pub(crate) short_since: Option<i64>,
    /// Items whose last run failed.
    #[serde(default)]
    pub(crate) failing: BTreeMap<u32, Failing>,
    /// Last successes of items, with the fencing token of the run. They are not stored: in a new
    /// process, the records show the successes again.
    #[serde(skip)]
    successes: BTreeMap<u32, Success>,
    /// Times since which a run is seen whose start no node shows, by the keys of their slots. They
    /// are not stored.
    #[serde(skip)]
    running_since: BTreeMap<u32, i64>,
    /// Times since which a run is seen that waits for a takeover, by item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    orphaned_since: BTreeMap<u32, i64>,
    /// Last run of each slot whose outcome is counted. They are not stored.
    #[serde(skip)]
    counted: BTreeMap<Slot, u64>,
    /// Time since which this process observes the job without a gap.
    #[serde(skip)]
    pub(crate) observed_from: Option<i64>,
}

/// Failed runs of an item in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failing {
    /// Fencing token of the last one.
    token: u64,
    /// Number of failed runs that were observed.
    pub(crate) count: u32,
    /// End of the first one.
    pub(crate) since: i64,
    /// Last success before, if it was observed.
    #[serde(default)]
    success: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Success {
    token: u64,
    at: i64,
}

impl Memory {
    /// Adds the facts of an observation.
    ///
    /// Observing the same state again changes nothing but the last time of Java instances.
    pub fn observe(
        &mut self,
        job: Option<&JobSnapshot>,
        expectations: &[Expectation],
        now: Timestamp,
    ) {
        let now = now.as_millisecond();
        self.observed_from.get_or_insert(now);
        let Some(job) = job.filter(|job| job.has_config()) else {
            self.absent_since.get_or_insert(now);
            return;
        };
        self.absent_since = None;
        let is_short = |expectation: &Expectation| match expectation.condition {
            Condition::InstancesAtLeast(least) => count(job) < least,
            Condition::Exists
            | Condition::LateAfter(_)
            | Condition::MustSucceedWithin(_)
            | Condition::AtMost(_)
            | Condition::Failures(_) => false,
        };
        let is_short = expectations.iter().any(is_short);
        self.short_since = if is_short { self.short_since.or(Some(now)) } else { None };
        let has_java = job.view().instances().any(|id| job.is_java(id) == Some(true));
        // Without records, nothing could be taken for a fact of the present.
        if has_java && job.view().items().any(|(_, item)| item.ledger.is_some()) {
            self.java_seen = Some(now);
        }
        let Some(config) = job.config() else { return };
        self.observe_schedule(job, config, now);
        for item in job.items() {
            self.observe_item(job, item, now);
        }
        let total = config.sharding_total_count;
        self.failing.retain(|item, _| *item < total);
        self.successes.retain(|item, _| *item < total);
        self.counted.retain(|slot, _| slot.item.index() < total);
        self.orphaned_since.retain(|item, _| *item < total);
    }

    fn observe_schedule(&mut self, job: &JobSnapshot, config: &JobConfig, now: i64) {
        let schedule = schedule_text(config);
        let is_suspended = matches!(job_state(job), JobState::Paused | JobState::Disabled);
        let is_other = self.schedule != schedule || (self.is_suspended && !is_suspended);
        if self.judged_from.is_none() || is_other {
            self.judged_from = Some(now);
        }
        (self.schedule, self.is_suspended) = (schedule, is_suspended);
        if is_suspended {
            // The end of the job's suspension covers all items.
            self.suspended_items.clear();
            self.resumed_items.clear();
        }
    }

    fn observe_item(&mut self, job: &JobSnapshot, item: ShardingItem, now: i64) {
        let index = item.index();
        let running = job.running_slots(item);
        for slot in job.slots(item) {
            let key = slot.key();
            if running.contains(&slot) && job.run_start(key).is_none() {
                self.running_since.entry(key.index()).or_insert(now);
            } else {
                self.running_since.remove(&key.index());
            }
        }
        if job.is_orphaned(item) {
            self.orphaned_since.entry(index).or_insert(now);
        } else {
            self.orphaned_since.remove(&index);
        }
        let shown = job.view().item(item);
        let Some(record) = shown.ledger.as_ref().map(|ledger| &ledger.value) else { return };
        self.observe_outcomes(job, item, now);
        if self.is_suspended {
            return;
        }
        if is_item_suspended(job, item) {
            self.suspended_items.insert(index);
        } else if self.suspended_items.remove(&index) {
            self.resumed_items.insert(index, now);
        }
        let is_settled = |from: &i64| record.last_fire.is_some_and(|fire| fire.0 >= *from);
        if self.resumed_items.get(&index).is_some_and(is_settled) {
            self.resumed_items.remove(&index);
        }
    }

    /// Counts the outcomes of the last runs of the slots of an item, in the order of their ends.
    fn observe_outcomes(&mut self, job: &JobSnapshot, item: ShardingItem, now: i64) {
        let record = |slot: Slot| Some(&job.view().item(slot.key()).ledger.as_ref()?.value);
        let slots = job.slots(item).into_iter();
        let mut ends: Vec<_> = slots
            .filter_map(|slot| record(slot).map(|record| (end_of(record, now), slot, record)))
            .collect();
        ends.sort_unstable_by_key(|(ended, slot, _)| (*ended, *slot));
        let has_slots = ends.len() > 1;
        for (ended, slot, record) in ends {
            let token = token_of_end(slot, record);
            // A row of failures has runs of several slots, so that its last token does not show
            // which of them are counted.
            let is_counted = self.counted.insert(slot, token) == Some(token);
            if !(has_slots && is_counted) {
                self.observe_outcome(item.index(), record, token, ended);
            }
        }
    }

    /// Counts the outcome of the last run that has ended. While the slot has a run, that is the run
    /// before, whose end the record no longer has.
    fn observe_outcome(&mut self, item: u32, record: &Ledger, token: u64, ended: i64) {
        // A takeover has a token of its own, although no run has ended before it.
        let is_takeover = record.run().is_some_and(|run| run.source == RunSource::Failover);
        if is_takeover && (self.failing.contains_key(&item) || self.successes.contains_key(&item)) {
            return;
        }
        match record.outcome {
            Some(Outcome::Succeeded) => {
                self.failing.remove(&item);
                if self.successes.get(&item).is_none_or(|known| known.token != token) {
                    self.successes.insert(item, Success { token, at: ended });
                }
            }
            Some(Outcome::Failed | Outcome::Panicked | Outcome::TimedOut) => {
                let success = self.successes.get(&item).map(|success| success.at);
                let first = Failing { token, count: 0, since: ended, success };
                let failing = self.failing.entry(item).or_insert(first);
                if failing.count == 0 || failing.token != token {
                    failing.count = failing.count.saturating_add(1);
                    failing.token = token;
                }
            }
            // None of them shows whether the cause of an earlier failure is gone.
            Some(Outcome::Interrupted | Outcome::Cancelled | Outcome::Disabled) | None => {}
        }
    }

    /// Returns the last success of an item that was observed.
    pub(crate) fn last_success(&self, item: u32) -> Option<i64> {
        let observed = self.successes.get(&item).map(|success| success.at);
        observed.max(self.failing.get(&item).and_then(|failing| failing.success))
    }

    /// Returns the time since which a run was observed whose start no node shows, by the key of its
    /// slot.
    pub(crate) fn running_since(&self, key: u32) -> Option<i64> {
        self.running_since.get(&key).copied()
    }

    /// Returns the time since which a run of an item was observed that waits for a takeover.
    pub(crate) fn orphaned_since(&self, item: u32) -> Option<i64> {
        self.orphaned_since.get(&item).copied()
    }

    /// Returns the time before which fires of an item are not judged.
    pub(crate) fn judged_from(&self, item: u32) -> Option<i64> {
        self.judged_from.max(self.resumed_items.get(&item).copied())
    }

    /// Judges all fires since the last ones in the records, as if the job had always been known,
    /// with the present schedule and without a suspension.
    pub(crate) fn judge_all_fires(&mut self) {
        self.judged_from = Some(i64::MIN);
        self.orphaned_since.clear();
    }

    /// Adds what another process has stored. Facts of this process win where both have one.
    pub(crate) fn merge(&mut self, stored: Self) {
        let was_resumed = stored.is_suspended && !self.is_suspended;
        if stored.schedule == self.schedule && !was_resumed {
            self.judged_from = self.judged_from.min(stored.judged_from).or(self.judged_from);
        }
        let resumed = stored.suspended_items.difference(&self.suspended_items);
        if let Some(from) = self.observed_from {
            self.resumed_items.extend(resumed.map(|item| (*item, from)));
        }
        for (item, from) in stored.resumed_items {
            self.resumed_items.entry(item).or_insert(from);
        }
        for (item, since) in stored.orphaned_since {
            if let Some(own) = self.orphaned_since.get_mut(&item) {
                *own = since.min(*own);
            }
        }
        self.java_seen = self.java_seen.max(stored.java_seen);
        self.absent_since = earlier(self.absent_since, stored.absent_since);
        self.short_since = earlier(self.short_since, stored.short_since);
        for (item, theirs) in stored.failing {
            // Without an entry of this process, the item has succeeded since.
            let Some(own) = self.failing.get_mut(&item) else { continue };
            own.count = if own.token == theirs.token {
                own.count.max(theirs.count)
            } else if own.since > theirs.since {
                own.count.saturating_add(theirs.count)
            } else {
                // The runs of this process include the stored ones.
                own.count
            };
            own.since = own.since.min(theirs.since);
            own.success = own.success.max(theirs.success);
        }
    }

    /// Returns the part to store, of bounded size.
    pub(crate) fn stored(&self) -> Self {
        let mut stored = Self {
            judged_from: self.judged_from,
            schedule: self.schedule.clone(),
            is_suspended: self.is_suspended,
            suspended_items: self.suspended_items.clone(),
            resumed_items: self.resumed_items.clone(),
            orphaned_since: self.orphaned_since.clone(),
            absent_since: self.absent_since,
            short_since: self.short_since,
            failing: self.failing.clone(),
            ..Self::default()
        };
        // The time changes with each observation. Rounded up, it is stored rarely, and no record is
        // taken for newer than the Java instance.
        stored.java_seen = self.java_seen.map(|at| at - at.rem_euclid(600_000) + 600_000);
        while stored.suspended_items.len() > MAX_STORED_ITEMS {
            stored.suspended_items.pop_last();
        }
        for times in [&mut stored.resumed_items, &mut stored.orphaned_since] {
            while times.len() > MAX_STORED_ITEMS {
                times.pop_last();
            }
        }
        if stored.failing.len() > MAX_STORED_ITEMS {
            // More failing items at once than any expectation tolerates; the longest rows stay.
            let mut counts: Vec<_> = stored.failing.iter().map(|(i, f)| (f.count, *i)).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts.truncate(MAX_STORED_ITEMS);
            let kept: BTreeSet<u32> = counts.into_iter().map(|(_, item)| item).collect();
            stored.failing.retain(|item, _| kept.contains(item));
        }
        stored
    }
}

/// Returns the end of the last run of a slot that has ended, or a time soon after it.
fn end_of(record: &Ledger, now: i64) -> i64 {
    let ended = if record.is_busy() { record.began_ms } else { record.ended_ms };
    ended.unwrap_or(now)
}

/// Returns a number that identifies the last run of a slot that has ended, among all runs of the
/// item. It is the token for the first slot.
fn token_of_end(slot: Slot, record: &Ledger) -> u64 {
    let token = record.token.0.saturating_sub(u64::from(record.is_busy()));
    // Tokens count runs, so that they stay far below this.
    token | (u64::from(slot.number) << 48)
}

/// Returns the smaller of two times; a side without a time means that the state does not last.
fn earlier(own: Option<i64>, stored: Option<i64>) -> Option<i64> {
    own.map(|own| stored.map_or(own, |stored| stored.min(own)))
}

/// Returns the number of live instances.
pub(crate) fn count(job: &JobSnapshot) -> u32 {
    u32::try_from(job.view().instances().count()).unwrap_or(u32::MAX)
}

/// Returns true if an item starts nothing because an operator disabled it, or paused or disabled
/// the server of its owner.
pub(crate) fn is_item_suspended(job: &JobSnapshot, item: ShardingItem) -> bool {
    let shown = job.view().item(item);
    let owner: Option<&InstanceId> = job.owner(item);
    let held = owner.filter(|owner| job.view().is_registered(owner)).is_some_and(|owner| {
        let ip = server_of(owner);
        let state = ip.and_then(|ip| job.view().server_state(&ip));
        state != Some(ServerState::Enabled)
    });
    shown.is_disabled() || held
}

/// Returns the texts that determine the fires. Those that earlier watchers did not know stand at
/// the end and only if they are set, so that a stored text stays equal.
fn schedule_text(config: &JobConfig) -> String {
    let JobConfig { cron, time_zone, excluded_days, not_before, not_after, .. } = config;
    let parts = [cron, time_zone, excluded_days];
    let mut text = parts.map(|part| part.as_deref().unwrap_or_default()).join("|");
    let later = [
        ("excluded_times", &config.excluded_times),
        ("not_before", not_before),
        ("not_after", not_after),
        ("repeated_hour", &config.repeated_hour),
    ];
    for (name, value) in later {
        if let Some(value) = value {
            text.push_str(&format!("|{name}={value}"));
        }
    }
    text
}
