//! Gaps: scheduled fires that no instance ran, noted or skipped. The item's record proves them when its next fire is accounted for.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;

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
    /// The exclusive end: the fire that was claimed, noted or skipped next, the moment at which the item was retired, or the
    /// date on which monitoring was switched off.
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
        if self.until <= present {
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

/// Greatest number of schedules that a process remembers.
const MAX_SCHEDULES: usize = 8;

/// Time that instances have to hear of a new schedule, in milliseconds: its fires within that are not owed.
const HEARING_MS: i64 = 1_000;

/// A schedule and the time from which it was in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SchedulePeriod {
    /// The first configuration with this schedule.
    config: Arc<JobConfig>,
    /// The first and the last version with this schedule. This process has seen all in between.
    from: Version,
    to: Version,
    /// Latest possible beginning: the date of `from`.
    latest: FireTime,
    /// Earliest possible beginning; `None` if this process has seen no configuration before. It differs from `latest` only if this
    /// process has not seen a version in between.
    earliest: Option<FireTime>,
    /// The date is that of the registry, not the time at which this process saw the version.
    is_dated: bool,
    /// This process has seen the version before `from`, which has another schedule.
    is_change: bool,
}

/// The schedules that this process has seen in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Schedules {
    /// Oldest first. The last one is in force.
    periods: Vec<SchedulePeriod>,
    /// The date of the last configuration that this process has seen.
    last_date: Option<FireTime>,
    /// Last time, by the clock of this process, at which fires of a former schedule may have come.
    seen_at: Option<FireTime>,
}

/// A configuration that a process sees, and since when it counts.
pub(crate) struct Seen<'a> {
    pub(crate) config: &'a Arc<JobConfig>,
    pub(crate) version: Version,
    /// Time of the registry's clock at the write; the present if it has none or clocks are not compared.
    pub(crate) date: FireTime,
    /// The date is the registry's.
    pub(crate) is_dated: bool,
}

impl Schedules {
    /// Returns true if this configuration was noted last, or one with the same version and schedule.
    pub(crate) fn has_noted(&self, config: &JobConfig, version: Version) -> bool {
        let is_it =
            |last: &SchedulePeriod| last.to == version && is_same_schedule(&last.config, config);
        self.periods.last().is_some_and(is_it)
    }

    /// Notes a configuration; fires up to `seen_at` may be those of a former schedule.
    pub(crate) fn note(&mut self, seen: &Seen<'_>, seen_at: Option<FireTime>) {
        let Seen { config, version, date, is_dated } = *seen;
        // The configuration was deleted and created again: its versions say nothing about those before.
        if self.periods.last().is_some_and(|last| version <= last.to) {
            self.periods.clear();
            self.last_date = None;
        }
        let former_date = self.last_date.replace(date);
        let last = self.periods.last_mut();
        let is_next = last.as_ref().is_some_and(|last| last.to.next() == version);
        if let Some(last) = last
            && is_next
            && is_same_schedule(&last.config, config)
        {
            last.to = version;
            return;
        }
        let earliest =
            if is_next { Some(date) } else { former_date.map(|former| former.min(date)) };
        self.periods.push(SchedulePeriod {
            config: Arc::clone(config),
            from: version,
            to: version,
            latest: date,
            earliest,
            is_dated,
            is_change: is_next,
        });
        self.seen_at = seen_at;
        let surplus = self.periods.len().saturating_sub(MAX_SCHEDULES);
        let dropped = self.periods.drain(..surplus).next_back();
        if let (Some(dropped), Some(first)) = (dropped, self.periods.first_mut()) {
            first.earliest = Some(dropped.latest);
        }
    }

    /// Returns the place of the schedule of a version, or of the first one after it if this process has not seen the version.
    fn place_of(&self, version: Version) -> Result<usize, usize> {
        let after = self.periods.partition_point(|period| period.from <= version);
        let place = after.checked_sub(1).filter(|place| version <= self.periods[*place].to);
        // A version beyond the last one is of a configuration that was deleted since.
        place.ok_or(if after == self.periods.len() { 0 } else { after })
    }
}

/// Returns true if two configurations have the same fires and both, or neither, have records of their runs.
fn is_same_schedule(one: &JobConfig, other: &JobConfig) -> bool {
    one.cron == other.cron
        && one.time_zone == other.time_zone
        && one.excluded_days == other.excluded_days
        && one.monitor_execution == other.monitor_execution
}

/// Inputs for finding gaps.
#[derive(Clone, Copy)]
pub(crate) struct Judgement<'a> {
    pub(crate) lookup: &'a Lookup,
    /// The configuration in force.
    pub(crate) config: &'a JobConfig,
    pub(crate) version: Version,
    pub(crate) schedules: &'a Schedules,
    /// No date is later: the registry's clock may have been ahead when it gave one.
    pub(crate) present: FireTime,
    /// Java instances run items without a record: what the record does not say is not looked up.
    pub(crate) mixed: bool,
}

impl Judgement<'_> {
    /// Returns the next fire after one that is accounted for now, and the version of the configuration whose schedule has it.
    ///
    /// A fire of a former schedule is followed by those of the same one up to the change. `known` is what the fire's own
    /// schedule has next.
    pub(crate) fn next_after(
        &self,
        fire: FireTime,
        known: Option<FireTime>,
    ) -> (Option<FireTime>, Version) {
        let Schedules { periods, seen_at, .. } = self.schedules;
        let is_former = |last: &SchedulePeriod| fire < last.latest.min(self.present);
        let is_present = Some(fire) > *seen_at && !periods.last().is_some_and(is_former);
        if let Some(known) = known.filter(|_| is_present || self.lookup.0.is_none()) {
            return (Some(known), self.version);
        }
        let next_in = |period: &SchedulePeriod| {
            let begin = period.earliest.map(|earliest| self.before(period, earliest));
            self.lookup.next_after(&period.config, Some(fire).max(begin)?)
        };
        if !is_present {
            for (period, following) in periods.iter().zip(periods.iter().skip(1)) {
                let end = following.latest.min(self.present);
                if period.config.monitor_execution
                    && fire < end
                    && let Some(next) = next_in(period).filter(|next| *next < end)
                {
                    return (Some(next), period.from);
                }
            }
        }
        let next = match periods.last() {
            Some(period) => next_in(period),
            None => self.lookup.next_after(self.config, fire),
        };
        (next, self.version)
    }

    /// Returns the gaps after a fire that was accounted for and before the next one that is, in their order.
    ///
    /// There is one at most, unless the job was not monitored in between. What the schedule had after the former fire is `next`,
    /// by the schedule of version `by`.
    pub(crate) fn gaps(
        &self,
        settled: Option<FireTime>,
        (next, by): (Option<FireTime>, Option<Version>),
        until: FireTime,
    ) -> Vec<Gap> {
        let Schedules { periods, .. } = self.schedules;
        let looked_up = |config: &JobConfig, after: FireTime| {
            self.lookup.next_after(config, after).filter(|_| !self.mixed)
        };
        let end_before = |place: usize| {
            let following = periods.get(place).map(|period| period.latest.min(self.present));
            following.unwrap_or(FireTime(i64::MAX))
        };
        let last = periods.len().saturating_sub(1);
        let of_record = by.map_or(Ok(last), |by| self.schedules.place_of(by));
        let mut gaps = GapsUntil { until, found: Vec::new(), open: None };
        if let Err(after) = of_record {
            gaps.add(next, end_before(after), by, None);
        }
        let mut former = by;
        let begin = of_record.unwrap_or_else(|after| after);
        for (place, period) in periods.iter().enumerate().skip(begin) {
            let version = Some(if place == last { self.version } else { period.from });
            let end = end_before(place + 1);
            if !period.config.monitor_execution {
                gaps.close();
            } else if of_record == Ok(place) {
                let first = next.or_else(|| looked_up(&period.config, settled?));
                gaps.add(first, end, by.or(version), None);
            } else {
                // The registry's date is exact if the record's configuration was followed by this one.
                let follows = period.is_dated && former.map(Version::next) == Some(period.from);
                let earliest = if follows { Some(period.latest) } else { period.earliest };
                let begin = earliest.map(|earliest| self.before(period, earliest));
                let after = settled.max(begin).unwrap_or(self.before(period, period.latest));
                let first = looked_up(&period.config, after);
                if earliest == Some(period.latest) {
                    gaps.add(first, end, version, None);
                } else {
                    gaps.add(first, end, former.or(version), version);
                }
            }
            former = version;
        }
        gaps.close();
        gaps.found
    }

    /// Returns the time after which fires of a schedule are owed that came into force on a date. If nothing is known of the
    /// schedule before, it may have been the same one.
    fn before(&self, period: &SchedulePeriod, date: FireTime) -> FireTime {
        let hearing = if period.is_change { HEARING_MS } else { 0 };
        FireTime(date.min(self.present).0.saturating_add(hearing - 1))
    }

    /// Counts the fires of a gap if a single schedule has them.
    pub(crate) fn counted(&self, gap: Gap) -> Gap {
        if gap.changed_to.is_some() || self.mixed {
            return gap;
        }
        let Schedules { periods, .. } = self.schedules;
        let config = match gap.config.map(|version| self.schedules.place_of(version)) {
            Some(Ok(place)) if place + 1 < periods.len() => &*periods[place].config,
            Some(Ok(_)) | None => self.config,
            Some(Err(_)) => return gap,
        };
        Gap { count: self.lookup.count(config, gap.first, gap.until), ..gap }
    }
}

/// Collects the gaps before a fire, from one schedule after the other.
struct GapsUntil {
    until: FireTime,
    found: Vec<Gap>,
    /// The gap that the next schedule continues.
    open: Option<Gap>,
}

impl GapsUntil {
    /// Adds the fires of a schedule, from the first one to its end.
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

    /// Ends the open gap.
    fn close(&mut self) {
        self.found.extend(self.open.take());
    }
}
