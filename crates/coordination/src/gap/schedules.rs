//! Schedules that a process has seen in force, with the times of their changes.

use std::sync::Arc;

use reg_center::Version;

use crate::{FireTime, JobConfig};

/// Maximum number of schedules that a process remembers.
const MAX_SCHEDULES: usize = 8;

/// A schedule and the time from which it was in force.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SchedulePeriod {
    /// First configuration with this schedule.
    pub(super) config: Arc<JobConfig>,
    /// First version with this schedule.
    pub(super) from: Version,
    /// Last version with this schedule, or an invalid one after it. This process has seen all
    /// versions in between.
    pub(super) to: Version,
    /// Latest possible beginning: the date of `from`.
    pub(super) latest: FireTime,
    /// Earliest possible beginning, before `latest` only if this process missed versions in
    /// between. `None` if it has seen no configuration before.
    pub(super) earliest: Option<FireTime>,
    /// `latest` is by the registry's clock, not the time at which this process saw the version.
    pub(super) is_dated: bool,
    /// This process has seen the version before `from`, and its schedule differs.
    pub(super) is_change: bool,
}

impl SchedulePeriod {
    /// Returns the earliest time at which the schedule can have come into force, after a
    /// configuration of version `former`.
    pub(super) fn earliest_after(&self, former: Option<Version>) -> Option<FireTime> {
        // The date is exact if no version came in between.
        let is_successor = former.map(Version::next) == Some(self.from);
        if self.is_dated && is_successor { Some(self.latest) } else { self.earliest }
    }
}

/// The schedules that this process has seen in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Schedules {
    /// Oldest first. The last one is in force.
    pub(super) periods: Vec<SchedulePeriod>,
    /// Last configuration that this process has noted.
    last_noted: Option<Version>,
    /// Last time at which this process knows that the schedule of that configuration was in force.
    last_date: Option<FireTime>,
    /// Last time, by the clock of this process, at which fires of a former schedule may have come.
    pub(super) seen_at: Option<FireTime>,
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
        let is_same = |last: &SchedulePeriod| is_same_schedule(&last.config, config);
        self.last_noted == Some(version) && self.periods.last().is_some_and(is_same)
    }

    /// Notes a configuration. Until `seen_at`, fires may be those of a former schedule.
    pub(crate) fn note(&mut self, seen: &Seen<'_>, seen_at: Option<FireTime>) {
        let Seen { config, version, date, is_dated } = *seen;
        // The configuration was deleted and created again, so that its versions started anew.
        if self.periods.last().is_some_and(|last| version <= last.to) {
            self.periods.clear();
            self.last_date = None;
        }
        self.last_noted = Some(version);
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

    /// Notes a version whose configuration is invalid, so that the last valid one stays in force.
    ///
    /// If this process has missed the version before, it does not know the last valid one.
    pub(crate) fn note_invalid(&mut self, version: Version, date: FireTime) {
        if let Some(last) = self.periods.last_mut()
            && last.to.next() == version
        {
            last.to = version;
            self.last_date = Some(date);
        }
    }

    /// Returns the index of the period with a version. If this process has not seen the version,
    /// the error is the index of the first period after it.
    pub(super) fn place_of(&self, version: Version) -> Result<usize, usize> {
        let after = self.periods.partition_point(|period| period.from <= version);
        let place = after.checked_sub(1).filter(|place| version <= self.periods[*place].to);
        // A version beyond the last one is of a configuration that was deleted since.
        place.ok_or(if after == self.periods.len() { 0 } else { after })
    }
}

/// Returns true if both configurations have the same fires, and both or neither are monitored.
fn is_same_schedule(one: &JobConfig, other: &JobConfig) -> bool {
    one.has_schedule_of(other) && one.monitor_execution == other.monitor_execution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobName;

    #[test]
    fn invalid_version_belongs_to_the_schedule_before_it_unless_a_version_was_missed() {
        let config = Arc::new(JobConfig::new(JobName::new("a").unwrap(), 1));
        let seen = |version| Seen { config: &config, version, date: FireTime(0), is_dated: true };
        let noted = |invalid| {
            let mut schedules = Schedules::default();
            schedules.note(&seen(Version(3)), None);
            schedules.note_invalid(invalid, FireTime(1_000));
            schedules
        };
        assert_eq!(noted(Version(4)).place_of(Version(4)), Ok(0));
        assert_eq!(noted(Version(5)).place_of(Version(5)), Err(0));
        let mut schedules = noted(Version(5));
        schedules.note(&seen(Version(6)), None);
        assert_eq!(schedules.place_of(Version(5)), Err(1));
    }
}
