//! Judgement: finds the gaps between two fires that a record accounts for.

use reg_center::Version;

use super::schedules::SchedulePeriod;
use super::{Gap, Lookup, Schedules};
use crate::{FireTime, JobConfig};

/// Time that instances have to learn of a new schedule, in milliseconds. Its fires within that time
/// are not owed.
const PROPAGATION_MS: i64 = 1_000;

/// Inputs for finding gaps.
#[derive(Clone, Copy)]
pub(crate) struct Judgement<'a> {
    pub(crate) lookup: &'a Lookup,
    /// The configuration in force, and its version: if the stored one is invalid, an earlier one.
    pub(crate) config: &'a JobConfig,
    pub(crate) version: Version,
    pub(crate) schedules: &'a Schedules,
    /// Present time. Later dates count as this one, because the registry's clock may have been
    /// ahead.
    pub(crate) present: FireTime,
    /// Instances without records may have run fires. Fires that no record names are not looked up.
    pub(crate) unrecorded_runs: bool,
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
        if (is_present || !self.lookup.is_available())
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
        let last = periods.len().saturating_sub(1);
        let of_record = by.map_or(Ok(last), |by| self.schedules.place_of(by));
        let mut gaps = GapsUntil { until, found: Vec::new(), open: None };
        if let Err(after) = of_record {
            // This process has not seen that schedule: of its fires only `next` is known.
            gaps.add(next, self.end_before(after), by, None);
        }
        let mut former = by;
        let begin = of_record.unwrap_or_else(|after| after);
        for (place, period) in periods.iter().enumerate().skip(begin) {
            let version = Some(if place == last { self.version } else { period.from });
            let end = self.end_before(place + 1);
            if !period.config.monitor_execution {
                // Nothing proves a missed fire while no record is written.
                gaps.close();
            } else if of_record == Ok(place) {
                let first = next.or_else(|| self.look_up(&period.config, settled?));
                gaps.add(first, end, by.or(version), None);
            } else {
                let earliest = period.earliest_after(former);
                let begin = earliest.map(|earliest| self.before(period, earliest));
                let after = settled.max(begin).unwrap_or(self.before(period, period.latest));
                let first = self.look_up(&period.config, after);
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

    /// Returns the first fire of a schedule after a time, unless it may have run without a record.
    fn look_up(&self, config: &JobConfig, after: FireTime) -> Option<FireTime> {
        if self.unrecorded_runs { None } else { self.lookup.next_after(config, after) }
    }

    /// Returns the exclusive end of the fires before the period at `place`.
    fn end_before(&self, place: usize) -> FireTime {
        let following = self.schedules.periods.get(place);
        following.map_or(FireTime(i64::MAX), |period| period.latest.min(self.present))
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
        if gap.changed_to.is_some() || self.unrecorded_runs {
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
