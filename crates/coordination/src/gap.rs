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

/// How many schedules a process remembers at most; an older one is as one that it has not seen.
const MAX_SCHEDULES: usize = 8;

/// A schedule while it was in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Epoch {
    /// The first configuration with this schedule.
    config: Arc<JobConfig>,
    /// The first and the last version with this schedule; this process has seen all in between.
    from: Version,
    to: Version,
    /// It came into force at this time at the latest: the date of `from`.
    latest: FireTime,
    /// It came into force at this time at the earliest; `None` if this process has seen no configuration before. The two are the
    /// same unless this process has not seen a version in between.
    earliest: Option<FireTime>,
}

/// The schedules that this process has seen in force, and when they came into force.
///
/// The date of a configuration is the time of the registry's clock at the write of it, or the time at which this process saw it
/// if the registry has no clock or the job compares no clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Schedules {
    /// Oldest first; the last one is in force.
    epochs: Vec<Epoch>,
    /// The date of the last configuration that this process has seen.
    last_date: Option<FireTime>,
    /// When this process saw the schedule in force, by its own clock, or the last fire that it had seen then: fires up to that may be
    /// those of a former one.
    seen_at: Option<FireTime>,
}

impl Schedules {
    /// Returns true if this configuration is the last one that was noted, or has the same version and schedule.
    pub(crate) fn has_noted(&self, config: &JobConfig, version: Version) -> bool {
        let is_it = |epoch: &Epoch| epoch.to == version && is_same_schedule(&epoch.config, config);
        self.epochs.last().is_some_and(is_it)
    }

    /// Notes a configuration that this process sees now.
    pub(crate) fn note(
        &mut self,
        config: &Arc<JobConfig>,
        version: Version,
        date: FireTime,
        seen_at: Option<FireTime>,
    ) {
        let last_date = self.last_date.replace(date);
        let last = self.epochs.last_mut();
        let is_next = last.as_ref().is_some_and(|last| last.to.next() == version);
        if let Some(last) = last
            && is_next
            && is_same_schedule(&last.config, config)
        {
            last.to = version;
            return;
        }
        let earliest = if is_next { Some(date) } else { last_date };
        let config = Arc::clone(config);
        self.epochs.push(Epoch { config, from: version, to: version, latest: date, earliest });
        self.seen_at = seen_at;
        let surplus = self.epochs.len().saturating_sub(MAX_SCHEDULES);
        self.epochs.drain(..surplus);
    }

    /// Returns the place of the schedule of a version, or of the first one after it if this process has not seen the version.
    fn place_of(&self, version: Version) -> Result<usize, usize> {
        let after = self.epochs.partition_point(|epoch| epoch.from <= version);
        let place = after.checked_sub(1).filter(|place| version <= self.epochs[*place].to);
        place.ok_or(after)
    }

    /// Returns the exclusive end of a schedule: the latest time at which the next one came into force.
    fn end_of(&self, place: usize) -> FireTime {
        self.epochs.get(place + 1).map_or(FireTime(i64::MAX), |next| next.latest)
    }

    fn is_last(&self, place: usize) -> bool {
        place + 1 == self.epochs.len()
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

/// By what gaps are judged.
#[derive(Clone, Copy)]
pub(crate) struct Judgement<'a> {
    pub(crate) lookup: &'a Lookup,
    /// The configuration in force.
    pub(crate) config: &'a JobConfig,
    pub(crate) version: Version,
    pub(crate) schedules: &'a Schedules,
    /// Java instances run items without a record: what the record does not say is not looked up.
    pub(crate) mixed: bool,
}

impl Judgement<'_> {
    /// Returns the next fire after one that is accounted for now, and the version of the configuration whose schedule has it.
    /// A fire of a former schedule is followed by those of the same one up to the change. `known` is what the fire's own
    /// schedule has next.
    pub(crate) fn next_after(
        &self,
        fire: FireTime,
        known: Option<FireTime>,
    ) -> (Option<FireTime>, Version) {
        let Schedules { epochs, seen_at, .. } = self.schedules;
        let is_present = Some(fire) > *seen_at && epochs.last().is_none_or(|e| e.latest <= fire);
        if let Some(known) = known.filter(|_| is_present || self.lookup.0.is_none()) {
            return (Some(known), self.version);
        }
        let next_in = |(place, epoch): (usize, &Epoch)| {
            let after = epoch.earliest.map_or(fire, |earliest| fire.max(before(earliest)));
            let end = self.schedules.end_of(place);
            let is_owed = epoch.config.monitor_execution && !self.schedules.is_last(place);
            let next = self.lookup.next_after(&epoch.config, after);
            Some((next.filter(|next| is_owed && *next < end)?, epoch.from))
        };
        let former = epochs.iter().enumerate().find_map(next_in);
        let forgotten = is_present || mutant::is(Mutant::FormerFiresForgotten);
        if let Some((next, version)) = former.filter(|_| !forgotten) {
            return (Some(next), version);
        }
        let earliest = epochs.last().and_then(|epoch| epoch.earliest);
        let after = earliest.map_or(fire, |earliest| fire.max(before(earliest)));
        (self.lookup.next_after(self.config, after), self.version)
    }

    /// Returns the gaps after a fire that was accounted for and before the next one that is, in their order: one at most, unless
    /// the job was not monitored in between. What the schedule had after the former fire is `next`, by the schedule of version
    /// `by`.
    pub(crate) fn gaps(
        &self,
        settled: Option<FireTime>,
        (next, by): (Option<FireTime>, Option<Version>),
        until: FireTime,
    ) -> Vec<Gap> {
        if mutant::is(Mutant::GapsHiddenByChanges) && by != Some(self.version) {
            return Vec::new();
        }
        let Schedules { epochs, .. } = self.schedules;
        let looked_up = |config: &JobConfig, after: FireTime| {
            self.lookup.next_after(config, after).filter(|_| !self.mixed)
        };
        let last = epochs.len().saturating_sub(1);
        let of_record = by.map_or(Ok(last), |by| self.schedules.place_of(by));
        let mut gaps = GapsUntil { until, found: Vec::new(), open: None };
        if let Err(after) = of_record {
            let end = epochs.get(after).map_or(until, |epoch| epoch.latest);
            gaps.add(next, end, by, None);
        }
        let mut former = by;
        let first = of_record.unwrap_or_else(|after| after);
        for (place, epoch) in epochs.iter().enumerate().skip(first) {
            let is_last = self.schedules.is_last(place);
            let version = Some(if is_last { self.version } else { epoch.from });
            let end = self.schedules.end_of(place);
            if !epoch.config.monitor_execution {
                gaps.close();
                if mutant::is(Mutant::GapsBeforeUnmonitoredHidden) {
                    gaps.found.clear();
                }
            } else if of_record == Ok(place) {
                let first = next.or_else(|| looked_up(&epoch.config, settled?));
                gaps.add(first, end, by.or(version), None);
            } else {
                let is_dated = former.map(Version::next) == Some(epoch.from)
                    || epoch.earliest == Some(epoch.latest);
                let earliest = if is_dated { Some(epoch.latest) } else { epoch.earliest };
                let after = settled.max(earliest.map(before)).unwrap_or(before(epoch.latest));
                let first = looked_up(&epoch.config, after);
                match is_dated {
                    true => gaps.add(first, end, version, None),
                    false => gaps.add(first, end, former.or(version), version),
                }
            }
            former = version;
        }
        gaps.close();
        gaps.found
    }

    /// Counts the fires of a gap, if the schedule in force was in force all the time.
    pub(crate) fn counted(&self, gap: Gap) -> Gap {
        let place_of = |version| self.schedules.place_of(version);
        let is_present =
            |version| place_of(version).is_ok_and(|place| self.schedules.is_last(place));
        let is_certain =
            gap.changed_to.is_none() && gap.config.is_none_or(is_present) && !self.mixed;
        let count = is_certain.then(|| self.lookup.count(self.config, gap.first, gap.until));
        Gap { count: count.flatten(), ..gap }
    }
}

/// Returns the time before a date: a schedule that came into force on that date has the fires on it.
fn before(date: FireTime) -> FireTime {
    FireTime(date.0.saturating_sub(1))
}

/// Collects the gaps before a fire, from one schedule after the other.
struct GapsUntil {
    until: FireTime,
    found: Vec<Gap>,
    /// The gap that the next schedule continues.
    open: Option<Gap>,
}

impl GapsUntil {
    /// Adds what a schedule has up to its end, `first` being the first of its fires.
    fn add(
        &mut self,
        first: Option<FireTime>,
        end: FireTime,
        config: Option<Version>,
        changed_to: Option<Version>,
    ) {
        let until = end.min(self.until);
        let first = first.filter(|first| *first < until);
        match (&mut self.open, first) {
            // A schedule that came into force at an unknown time may have had earlier fires.
            (Some(open), first) if open.until < self.until || first.is_some() => {
                open.first = first.map_or(open.first, |first| first.min(open.first));
                open.until = until.max(open.until);
                open.changed_to = changed_to.or(config);
            }
            (None, Some(first)) => {
                self.open = Some(Gap { first, until, count: None, config, changed_to });
            }
            (Some(_), _) | (None, None) => {}
        }
    }

    /// The next schedule continues no gap.
    fn close(&mut self) {
        self.found.extend(self.open.take());
    }
}
