//! Gaps: scheduled fires that no instance ran, noted or skipped. The item's record proves them when its next fire is accounted for.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;

use crate::mutant::{self, Mutant};
use crate::{FireTime, JobConfig};

/// How many gaps a ledger record keeps at most; beyond that the two oldest are merged.
pub(crate) const MAX_GAPS: usize = 4;
/// How many fires of a gap are counted at most. A gap of more has no count.
const MOST_COUNTED: usize = 10_000;

/// Scheduled fires of an item that no instance ran, noted or skipped.
///
/// A fire in it may have been reported with a reason before ([`JobEvent::Missed`](crate::JobEvent::Missed)); then that reason
/// explains it. A record with more than 4 unreported gaps merges the two oldest: fires between them may have been run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The first of these fires.
    pub first: FireTime,
    /// The exclusive end: the fire that was claimed, noted or skipped next, or the moment at which the item was retired.
    pub until: FireTime,
    /// How many fires, at least 1. `None` if another schedule may have come into force in between, if fires between merged gaps
    /// may have been run, or if there are more than 10 000.
    pub count: Option<u32>,
    /// The registry version of the configuration whose schedule has the first fire; `None` if the record does not say.
    pub config: Option<Version>,
    /// The registry version of the configuration in force at the end, if its schedule may differ from that of `config`. The
    /// fires up to the change are judged by the former schedule; the record does not say when the change came.
    pub changed_to: Option<Version>,
}

impl Gap {
    /// Returns true if both ends of the gap are ends of these gaps: it is one of them, or several of them merged.
    pub(crate) fn is_among(&self, gaps: &[Self]) -> bool {
        if mutant::is(Mutant::GapsReportedByEnd) {
            return gaps.iter().any(|gap| gap.until >= self.until);
        }
        let has_first = gaps.iter().any(|gap| gap.first == self.first);
        has_first && gaps.iter().any(|gap| gap.until == self.until)
    }

    /// Returns one gap from the beginning of this one to the end of a later one.
    pub(crate) fn merged_with(self, later: Self) -> Self {
        let counts = self.count.zip(later.count).filter(|_| self.until == later.first);
        let count = counts.and_then(|(one, other)| one.checked_add(other));
        let newer = later.config.filter(|config| Some(*config) != self.config);
        let changed_to = later.changed_to.or(newer).or(self.changed_to);
        let count = count.filter(|_| changed_to.is_none());
        Self { until: later.until, count, changed_to, ..self }
    }

    /// Returns the part of the gap up to `present`, the last scheduled fire until now; `None` if it begins later.
    pub(crate) fn ended_by(&self, present: FireTime) -> Option<Self> {
        if self.until <= present || mutant::is(Mutant::FutureGapsKept) {
            return Some(*self);
        }
        let until = FireTime(present.0.saturating_add(1));
        let count = self.count.filter(|_| self.until == until);
        (self.first <= present).then_some(Self { until, count, ..*self })
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, until, .. } = self;
        match self.count {
            Some(1) => write!(f, "1 scheduled fire was not run: {first}")?,
            Some(count) => {
                write!(f, "{count} scheduled fires were not run: {first} to before {until}")?;
            }
            None => write!(f, "scheduled fires were not run: {first} to before {until}")?,
        }
        match (self.config, self.changed_to) {
            (Some(config), Some(now)) => write!(
                f,
                " (by the schedule of configuration {config}; configuration {now} has replaced it meanwhile)"
            ),
            (None, Some(now)) => write!(f, " (configuration {now} came into force meanwhile)"),
            (_, None) => Ok(()),
        }
    }
}

/// Looks fires up in the schedule of a configuration: the first ones after one time and before another, ascending, at most
/// as many as the last argument says. Empty for a job without a schedule.
pub type ScheduleLookup =
    Arc<dyn Fn(&JobConfig, FireTime, FireTime, usize) -> Vec<FireTime> + Send + Sync>;

/// A lookup, which makes no difference between two sets of settings.
#[derive(Clone, Default)]
pub(crate) struct Lookup(pub(crate) Option<ScheduleLookup>);

impl Lookup {
    /// Returns the first fire after a time; `None` if there is none, or nothing to look it up in.
    pub(crate) fn next_after(&self, config: &JobConfig, after: FireTime) -> Option<FireTime> {
        let lookup = self.0.as_ref()?;
        lookup(config, after, FireTime(i64::MAX), 1).first().copied()
    }

    /// Returns how many fires there are from the first to before the last; `None` if they are too many to count.
    pub(crate) fn count(
        &self,
        config: &JobConfig,
        first: FireTime,
        until: FireTime,
    ) -> Option<u32> {
        let lookup = self.0.as_ref()?;
        let fires = lookup(config, FireTime(first.0.saturating_sub(1)), until, MOST_COUNTED + 1);
        let count = Some(fires.len()).filter(|count| (1..=MOST_COUNTED).contains(count))?;
        u32::try_from(count).ok()
    }

    /// Returns the fires from the first to the last, both included, if there are exactly so many.
    pub(crate) fn exactly(
        &self,
        config: &JobConfig,
        (first, last): (FireTime, FireTime),
        count: u32,
    ) -> Option<Vec<FireTime>> {
        let (lookup, count) = (self.0.as_ref()?, usize::try_from(count).ok()?);
        let (after, before) = (first.0.saturating_sub(1), last.0.saturating_add(1));
        let fires = lookup(config, FireTime(after), FireTime(before), count.saturating_add(1));
        (fires.len() == count).then_some(fires)
    }
}

impl PartialEq for Lookup {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Lookup {}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lookup")
    }
}

/// Since when the schedule in force is in force, as far as this process has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct InForce {
    /// The first version of the configuration with this schedule that this process has seen.
    from: Version,
    /// The latest time before which it was not in force; `None` if it was in force when this process first looked.
    since: Option<FireTime>,
    /// The job was not monitored before: what ran then is not in the records.
    unmonitored_before: bool,
}

impl InForce {
    /// Notes a configuration that has come into force, or was found in force, at a time at the earliest.
    pub(crate) fn noted(
        known: Option<Self>,
        before: Option<&JobConfig>,
        (config, version): (&JobConfig, Version),
        at: FireTime,
    ) -> Self {
        let (Some(known), Some(before)) = (known, before) else {
            return Self { from: version, since: None, unmonitored_before: false };
        };
        if is_same_schedule(before, config) {
            return known;
        }
        let unmonitored_before = config.monitor_execution && !before.monitor_execution;
        Self { from: version, since: Some(at), unmonitored_before }
    }
}

/// Runs are accounted for by the schedule, and only while the job is monitored.
fn is_same_schedule(one: &JobConfig, other: &JobConfig) -> bool {
    let of = |config: &JobConfig| {
        let JobConfig { cron, time_zone, excluded_days, monitor_execution, .. } = config;
        (cron.clone(), time_zone.clone(), excluded_days.clone(), *monitor_execution)
    };
    of(one) == of(other)
}

/// The schedule in force, as far as gaps are judged by it.
#[derive(Clone, Copy)]
pub(crate) struct Judgement<'a> {
    pub(crate) lookup: &'a Lookup,
    pub(crate) config: &'a JobConfig,
    pub(crate) version: Version,
    pub(crate) in_force: Option<InForce>,
    /// Java instances run items without a record: what the record does not say is not looked up.
    pub(crate) mixed: bool,
}

impl Judgement<'_> {
    /// Returns what the schedule has after a fire that is accounted for now. A fire of a former schedule is followed by the first
    /// one since the change.
    pub(crate) fn next_after(&self, fire: FireTime, known: Option<FireTime>) -> Option<FireTime> {
        let changed = self.in_force.and_then(|in_force| in_force.since);
        match changed.filter(|since| *since > fire) {
            Some(since) if self.lookup.0.is_some() => self.lookup.next_after(self.config, since),
            Some(_) | None if known.is_some() => known,
            Some(_) | None => self.lookup.next_after(self.config, fire),
        }
    }

    /// Returns the gap after a fire that was accounted for and before the next one that is; what the schedule had after the
    /// former is `next`, by the schedule of version `by`.
    pub(crate) fn gap(
        &self,
        settled: Option<FireTime>,
        (next, by): (Option<FireTime>, Option<Version>),
        until: FireTime,
    ) -> Option<Gap> {
        let looked_up =
            |after: FireTime| self.lookup.next_after(self.config, after).filter(|_| !self.mixed);
        let after_settled = || settled.and_then(looked_up);
        let now = Some(self.version);
        let in_force = self.in_force;
        if mutant::is(Mutant::GapsHiddenByChanges) && by != now {
            return None;
        }
        let is_same = in_force.is_none_or(|in_force| {
            by.is_none_or(|by| (in_force.from..=self.version).contains(&by))
        });
        let (first, config, changed_to) = match in_force.and_then(|in_force| in_force.since) {
            _ if is_same => (next.or_else(after_settled)?, by.or(now), None),
            None => (next.into_iter().chain(after_settled()).min()?, by, now),
            Some(since) => {
                let unmonitored = in_force.is_some_and(|in_force| in_force.unmonitored_before);
                let former = next.filter(|next| *next < since && !unmonitored);
                match former {
                    Some(first) => (first, by, now),
                    None => (looked_up(settled.map_or(since, |fire| fire.max(since)))?, now, None),
                }
            }
        };
        (first < until).then_some(Gap { first, until, count: None, config, changed_to })
    }

    /// Counts the fires of a gap, if one schedule was in force all the time.
    pub(crate) fn counted(&self, gap: Gap) -> Gap {
        let is_certain = gap.changed_to.is_none() && !self.mixed;
        let count = is_certain.then(|| self.lookup.count(self.config, gap.first, gap.until));
        Gap { count: count.flatten(), ..gap }
    }
}
