//! P4: the expected fires, by the schedules that were in force, and the blind match of runs to
//! them.

use std::collections::BTreeSet;

use super::{Facts, Findings, delay};
use crate::blind;
use crate::replay::trace::{ConfigFrom, JobTrace};

/// Expected fires of a job.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Fires that must be accounted for, ascending.
    fires: Vec<i64>,
    /// Fires close to a change of the schedule, which may be accounted for.
    may: BTreeSet<i64>,
    /// Fires that must be explained, ascending. They include `fires` and those close to a change.
    owed: Vec<i64>,
    /// Starts of schedules and of monitoring, and whether all instances agree on them.
    ///
    /// While the stored configuration is unusable, instances may follow different earlier ones.
    changes: Vec<(u64, bool)>,
    /// Reason why fires may be missing here.
    pub(super) problem: Option<String>,
}

/// Longest run in milliseconds: a year. A longer one means a wrong clock.
const LONGEST_MS: i64 = 366 * 86_400_000;

/// Distance in milliseconds from a change of the schedule or of an item's existence within which
/// fires are not judged.
///
/// Instances need time to see a change, and they date new items by their own clocks.
pub(super) const DATING_MS: i64 = 1_000;

impl Targets {
    pub(super) fn of(facts: &Facts<'_>, name: &str, job: &JobTrace) -> Self {
        let mut targets = Self::default();
        let epsilon = i64::try_from(facts.bounds.epsilon / 1_000_000).unwrap_or(i64::MAX);
        let mut configs = job.configs.iter().peekable();
        let mut since = None;
        targets.changes = changes(job);
        while let Some(from) = configs.next() {
            let begin = since.take().unwrap_or(from.mt);
            if configs.peek().is_some_and(|next| same_schedule(from, next)) {
                since = Some(begin);
                continue;
            }
            let Some(schedule) = &from.schedule else { continue };
            let until = configs.peek().map_or(facts.end, |next| next.mt);
            let (begin, until) = (facts.wall_of(begin), facts.wall_of(until));
            if until.saturating_sub(begin) > LONGEST_MS {
                targets.problem = Some(format!(
                    "a schedule was in force for {} ms and is not judged; valid is at most {LONGEST_MS} ms",
                    until.saturating_sub(begin)
                ));
                continue;
            }
            for fire in schedule.between(begin - epsilon, until + epsilon) {
                if begin + epsilon < fire && fire < until - epsilon {
                    targets.fires.push(fire);
                } else {
                    targets.may.insert(fire);
                }
            }
            targets.owed.extend(schedule.between(begin, until));
        }
        for (fire, is_certain) in delay::fires(facts, name, job) {
            if is_certain {
                targets.fires.push(fire);
            } else {
                targets.may.insert(fire);
            }
        }
        targets.fires.sort_unstable();
        targets.fires.dedup();
        targets
    }

    pub(super) fn is_known(&self, fire: i64) -> bool {
        self.fires.binary_search(&fire).is_ok() || self.may.contains(&fire)
    }

    /// Returns the fires that must be accounted for, strictly between two times.
    pub(super) fn between(&self, after: i64, before: i64) -> &[i64] {
        let first = self.fires.partition_point(|fire| *fire <= after);
        let end = self.fires.partition_point(|fire| *fire < before);
        self.fires.get(first..end).unwrap_or_default()
    }

    /// Returns true if all instances follow one schedule from one time to another.
    pub(super) fn is_one_schedule(&self, one: u64, other: u64) -> bool {
        let place = |mt| self.changes.partition_point(|(change, _)| *change <= mt);
        let agreed = place(one).checked_sub(1).is_some_and(|place| self.changes[place].1);
        agreed && place(one) == place(other)
    }

    /// Returns the fires that must be explained, strictly between two times.
    pub(super) fn owed_between(&self, after: i64, before: i64) -> &[i64] {
        let first = self.owed.partition_point(|fire| *fire <= after);
        let end = self.owed.partition_point(|fire| *fire < before);
        self.owed.get(first..end).unwrap_or_default()
    }

    /// Returns true if no schedule changed between two times.
    pub(super) fn are_certain(&self, from: i64, to: i64) -> bool {
        self.may.range(from..to.max(from)).next().is_none()
    }

    /// Returns the last certain or possible fire at or before a time.
    pub(super) fn last(&self, by: i64) -> Option<i64> {
        let place = self.fires.partition_point(|fire| *fire <= by);
        let certain = place.checked_sub(1).map(|place| self.fires[place]);
        certain.into_iter().chain(self.may.range(..=by).next_back().copied()).max()
    }

    /// Returns the next certain or possible fire after a time, if there is one before the end.
    pub(super) fn next(&self, after: i64) -> Option<i64> {
        let place = self.fires.partition_point(|fire| *fire <= after);
        let may = self.may.range(after.saturating_add(1)..).next();
        self.fires.get(place).into_iter().chain(may).min().copied()
    }
}

fn changes(job: &JobTrace) -> Vec<(u64, bool)> {
    let mut changes = Vec::new();
    let mut last: Option<(&ConfigFrom, bool)> = None;
    for (place, config) in job.configs.iter().enumerate() {
        let monitors = |of: &ConfigFrom| of.config.as_ref().is_some_and(|config| config.monitor);
        let is_it = |of: &ConfigFrom| same_schedule(of, config) && monitors(of) == monitors(config);
        let agreed = job.possible_configs(place).iter().all(is_it);
        let is_same = |(last, was_agreed)| is_it(last) && was_agreed == agreed;
        if !last.is_some_and(is_same) {
            changes.push((config.mt, agreed));
        }
        last = Some((config, agreed));
    }
    changes
}

fn same_schedule(a: &ConfigFrom, b: &ConfigFrom) -> bool {
    a.schedule == b.schedule && a.config.is_some() == b.config.is_some()
}

/// Matches runs to fires by time alone, per job and item, and counts fires and runs without a
/// partner.
pub(super) fn blind(facts: &Facts<'_>, findings: &mut Findings) {
    let (mut missed, mut extra) = (0, 0);
    for (index, name, job) in facts.jobs() {
        let targets = Targets::of(facts, name, job);
        let items: BTreeSet<u32> =
            facts.execs.iter().filter(|e| e.job == Some(index)).map(|e| e.slot.item).collect();
        for item in items {
            let of_item =
                facts.execs.iter().filter(|e| e.job == Some(index) && e.slot.item == item);
            let runs: Vec<u64> = of_item.map(|exec| exec.start.mt).collect();
            let windows = targets.fires.iter().map(|fire| {
                let from = facts.mt_of(*fire);
                blind::Window { from, until: from.saturating_add(facts.bounds.epsilon) }
            });
            let matched = blind::match_runs(&windows.collect::<Vec<_>>(), &runs);
            missed += matched.missed.len();
            extra += matched.extra.len();
        }
    }
    findings.count("blind: fires without a run in time", missed as u64);
    findings.count("blind: runs without a fire in time", extra as u64);
}
