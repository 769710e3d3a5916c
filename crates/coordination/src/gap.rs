//! Gaps: scheduled fires that no instance ran, noted or skipped.
//!
//! The record of an item proves its gap as soon as the next fire is accounted for.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;

use crate::{FireTime, JobConfig};

/// Maximum number of gaps in a ledger record. Beyond it the two oldest are merged.
pub(crate) const MAX_GAPS: usize = 4;
/// Maximum number of fires that are counted. A longer gap has no count.
const MAX_COUNTED: usize = 10_000;

/// Scheduled fires of an item that no instance ran, noted or skipped.
///
/// An earlier [`JobEvent::Missed`](crate::JobEvent::Missed) may have reported such a fire with its
/// reason. A record with more than 4 unreported gaps merges the two oldest. Fires between merged
/// gaps may have been run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// First fire of the gap.
    pub first: FireTime,
    /// Exclusive end: the fire that was claimed, noted or skipped next, the retirement of the item,
    /// or the date on which monitoring was switched off.
    pub until: FireTime,
    /// Number of fires, 1 to 10 000. `None` if there are more, if the schedule may have changed in
    /// between, or if fires between merged gaps may have been run.
    pub count: Option<u32>,
    /// Registry version of the configuration whose schedule has the first fire. `None` if the
    /// record does not contain it.
    pub config: Option<Version>,
    /// Registry version of the configuration in force at the end, if its schedule may differ from
    /// that of `config`. The fires up to the change follow the former schedule; the record does not
    /// contain the time of the change.
    pub changed_to: Option<Version>,
}

impl Gap {
    /// Returns true if this is one of `gaps`, or several of them merged: both of its ends are ends
    /// of gaps.
    pub(crate) fn is_among(&self, gaps: &[Self]) -> bool {
        let has_first = gaps.iter().any(|gap| gap.first == self.first);
        has_first && gaps.iter().any(|gap| gap.until == self.until)
    }

    /// Merges this gap with a later one. The result spans the time between them, too.
    pub(crate) fn merged_with(self, later: Self) -> Self {
        let newer = later.config.filter(|config| Some(*config) != self.config);
        let changed_to = later.changed_to.or(newer).or(self.changed_to);
        // Fires between gaps that do not touch may have been run, and a count needs one schedule.
        let is_countable = self.until == later.first && changed_to.is_none();
        let count = match (self.count, later.count) {
            (Some(one), Some(other)) if is_countable => one.checked_add(other),
            _ => None,
        };
        Self { until: later.until, count, changed_to, ..self }
    }

    /// Cuts the gap after `present`, the last scheduled fire until now. `None` if it begins later.
    pub(crate) fn ended_by(&self, present: FireTime) -> Option<Self> {
        if self.until <= present {
            return Some(*self);
        }
        let until = FireTime(present.0.saturating_add(1));
        let count = if self.until == until { self.count } else { None };
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
                " (by the schedule of configuration {config}; \
                 configuration {now} has replaced it meanwhile)"
            ),
            (None, Some(now)) => write!(f, " (configuration {now} came into force meanwhile)"),
            (_, None) => Ok(()),
        }
    }
}

/// Looks up fires in the schedule of a configuration.
///
/// The arguments are the configuration, the exclusive bounds of the fire times, and the maximum
/// number of fires. The fires are ascending. A job without a schedule has none.
pub type ScheduleLookup =
    Arc<dyn Fn(&JobConfig, FireTime, FireTime, usize) -> Vec<FireTime> + Send + Sync>;

/// Lookup as a part of settings. Functions cannot be compared, so that all lookups count as equal.
#[derive(Clone, Default)]
pub(crate) struct Lookup(pub(crate) Option<ScheduleLookup>);

impl Lookup {
    /// Returns the first fire after a time. `None` if there is none, or no lookup.
    pub(crate) fn next_after(&self, config: &JobConfig, after: FireTime) -> Option<FireTime> {
        let lookup = self.0.as_ref()?;
        lookup(config, after, FireTime(i64::MAX), 1).first().copied()
    }

    /// Counts the fires from `first` to before `until`. `None` if there are none, or more than
    /// `MAX_COUNTED`.
    pub(crate) fn count(
        &self,
        config: &JobConfig,
        first: FireTime,
        until: FireTime,
    ) -> Option<u32> {
        let lookup = self.0.as_ref()?;
        let fires = lookup(config, FireTime(first.0.saturating_sub(1)), until, MAX_COUNTED + 1);
        let count = Some(fires.len()).filter(|count| (1..=MAX_COUNTED).contains(count))?;
        u32::try_from(count).ok()
    }

    /// Returns the fires from `first` to `last`, both included, if there are exactly `count`.
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

/// Maximum number of schedules that a process remembers.
const MAX_SCHEDULES: usize = 8;

/// Time that instances have to learn of a new schedule, in milliseconds. Its fires within that time
/// are not owed.
const PROPAGATION_MS: i64 = 1_000;

/// A schedule and the time from which it was in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SchedulePeriod {
    /// First configuration with this schedule.
    config: Arc<JobConfig>,
    /// First version with this schedule.
    from: Version,
    /// Last version with this schedule. This process has seen all versions in between.
    to: Version,
    /// Latest possible beginning: the date of `from`.
    latest: FireTime,
    /// Earliest possible beginning, before `latest` only if this process missed versions in
    /// between. `None` if it has seen no configuration before.
    earliest: Option<FireTime>,
    /// `latest` is by the registry's clock, not the time at which this process saw the version.
    is_dated: bool,
    /// This process has seen the version before `from`, and its schedule differs.
    is_change: bool,
}

/// The schedules that this process has seen in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Schedules {
    /// Oldest first. The last one is in force.
    periods: Vec<SchedulePeriod>,
    /// Date of the last configuration that this process has seen.
    last_date: Option<FireTime>,
    /// Last time, by the clock of this process, at which fires of a former schedule may have come.
    seen_at: Option<FireTime>,
}

/// Configuration that this process has seen, with the date of its version.
pub(crate) struct Seen<'a> {
    pub(crate) config: &'a Arc<JobConfig>,
    pub(crate) version: Version,
    /// Registry time of the write. The present time if the registry has no clock or clocks are not
    /// compared.
    pub(crate) date: FireTime,
    /// `date` is by the registry's clock.
    pub(crate) is_dated: bool,
}

impl Schedules {
    /// Returns true if this version was noted last, with the same schedule.
    pub(crate) fn has_noted(&self, config: &JobConfig, version: Version) -> bool {
        let is_noted =
            |last: &SchedulePeriod| last.to == version && is_same_schedule(&last.config, config);
        self.periods.last().is_some_and(is_noted)
    }

    /// Notes a configuration. Until `seen_at`, fires may be those of a former schedule.
    pub(crate) fn note(&mut self, seen: &Seen<'_>, seen_at: Option<FireTime>) {
        let Seen { config, version, date, is_dated } = *seen;
        // The configuration was deleted and created again, so that its versions started anew.
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
        // After a dropped period, the oldest kept one may have begun as early as that one did.
        let surplus = self.periods.len().saturating_sub(MAX_SCHEDULES);
        let dropped = self.periods.drain(..surplus).next_back();
        if let (Some(dropped), Some(first)) = (dropped, self.periods.first_mut()) {
            first.earliest = Some(dropped.latest);
        }
    }

    /// Returns the index of the period with a version. If this process has not seen the version,
    /// the error is the index of the first period after it.
    fn place_of(&self, version: Version) -> Result<usize, usize> {
        let after = self.periods.partition_point(|period| period.from <= version);
        let place = after.checked_sub(1).filter(|place| version <= self.periods[*place].to);
        // A version beyond the last one is of a configuration that was deleted since.
        place.ok_or(if after == self.periods.len() { 0 } else { after })
    }
}

/// Returns true if both configurations have the same fires, and both or neither are monitored.
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
    /// Present time. Later dates count as this one, because the registry's clock may have been
    /// ahead.
    pub(crate) present: FireTime,
    /// Java instances run items without records. Fires that no record names are not looked up.
    pub(crate) mixed: bool,
}

impl Judgement<'_> {
    /// Returns the next fire to account for after `fire`, and the version of the configuration that
    /// has it.
    ///
    /// Up to a change of schedule, the fires of the former schedule count. `known` is the next fire
    /// in the schedule of `fire`.
    pub(crate) fn next_after(
        &self,
        fire: FireTime,
        known: Option<FireTime>,
    ) -> (Option<FireTime>, Version) {
        let Schedules { periods, seen_at, .. } = self.schedules;
        let is_former = |last: &SchedulePeriod| fire < last.latest.min(self.present);
        let is_present = Some(fire) > *seen_at && !periods.last().is_some_and(is_former);
        if (is_present || self.lookup.0.is_none())
            && let Some(known) = known
        {
            return (Some(known), self.version);
        }
        let next_in = |period: &SchedulePeriod| {
            let begin = period.earliest.map(|earliest| self.before(period, earliest));
            self.lookup.next_after(&period.config, Some(fire).max(begin)?)
        };
        if !is_present {
            for (period, following) in periods.iter().zip(periods.iter().skip(1)) {
                let end = following.latest.min(self.present);
                // Without monitoring no record is written, so that no fire is accounted for.
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

    /// Returns the gaps after the fire `settled` and before the fire `until`, ascending.
    ///
    /// There is at most one, unless the job was not monitored in between. `next` is the fire after
    /// `settled` in the schedule of version `by`.
    pub(crate) fn gaps(
        &self,
        settled: Option<FireTime>,
        (next, by): (Option<FireTime>, Option<Version>),
        until: FireTime,
    ) -> Vec<Gap> {
        let Schedules { periods, .. } = self.schedules;
        let looked_up = |config: &JobConfig, after: FireTime| {
            if self.mixed { None } else { self.lookup.next_after(config, after) }
        };
        let end_before = |place: usize| {
            let following = periods.get(place).map(|period| period.latest.min(self.present));
            following.unwrap_or(FireTime(i64::MAX))
        };
        let last = periods.len().saturating_sub(1);
        let of_record = by.map_or(Ok(last), |by| self.schedules.place_of(by));
        let mut gaps = GapsUntil { until, found: Vec::new(), open: None };
        if let Err(after) = of_record {
            // This process has not seen that schedule: of its fires only `next` is known.
            gaps.add(next, end_before(after), by, None);
        }
        let mut former = by;
        let begin = of_record.unwrap_or_else(|after| after);
        for (place, period) in periods.iter().enumerate().skip(begin) {
            let version = Some(if place == last { self.version } else { period.from });
            let end = end_before(place + 1);
            if !period.config.monitor_execution {
                // Nothing proves a missed fire while no record is written.
                gaps.close();
            } else if of_record == Ok(place) {
                let first = next.or_else(|| looked_up(&period.config, settled?));
                gaps.add(first, end, by.or(version), None);
            } else {
                // The date is exact if no version came between that of the record and this one.
                let is_successor =
                    period.is_dated && former.map(Version::next) == Some(period.from);
                let earliest = if is_successor { Some(period.latest) } else { period.earliest };
                let begin = earliest.map(|earliest| self.before(period, earliest));
                let after = settled.max(begin).unwrap_or(self.before(period, period.latest));
                let first = looked_up(&period.config, after);
                if earliest == Some(period.latest) {
                    gaps.add(first, end, version, None);
                } else {
                    // The former schedule may have been in force for a part of the time.
                    gaps.add(first, end, former.or(version), version);
                }
            }
            former = version;
        }
        gaps.close();
        gaps.found
    }

    /// Returns the exclusive lower bound of the fires that a schedule owes if it came into force on
    /// `date`.
    fn before(&self, period: &SchedulePeriod, date: FireTime) -> FireTime {
        // Without a known predecessor the schedule may have been in force before that date.
        let propagation = if period.is_change { PROPAGATION_MS } else { 0 };
        FireTime(date.min(self.present).0.saturating_add(propagation - 1))
    }

    /// Counts the fires of a gap if all of them belong to one schedule.
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

/// Collects the gaps before a fire, schedule by schedule.
struct GapsUntil {
    until: FireTime,
    found: Vec<Gap>,
    /// The gap that the next schedule continues.
    open: Option<Gap>,
}

impl GapsUntil {
    /// Adds the fires of a schedule from `first` to `end`, or to the fire if it comes earlier.
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
