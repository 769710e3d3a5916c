//! The simulated schedule: a period, possibly with an excluded day and jitter.

use std::ops::Range;

use checker::delay_ms;
use coordination::JobConfig;

use super::product::{JOB, MIDNIGHT_ZONE, instant_ms, period_ms};
use super::profile::{FIRST_DAY, SECOND_DAY};
use super::world::EPOCH_MS;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;
/// Start of the second day, in the zone of runs with a midnight.
const MIDNIGHT_MS: i64 = EPOCH_MS + 60_000;
/// The two days of a run.
const DAYS: [Range<i64>; 2] =
    [MIDNIGHT_MS - DAY_MS..MIDNIGHT_MS, MIDNIGHT_MS..MIDNIGHT_MS + DAY_MS];

/// Fires of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SimSchedule {
    pub(crate) period_ms: i64,
    /// Exclusion of the first and of the second day of the run.
    excluded: [bool; 2],
    /// Exclusive upper bound of the jitter, in milliseconds; 0 is no jitter.
    bound_ms: u64,
    /// Time of the last possible fire; [`NEVER`] without an end.
    end_ms: i64,
}

/// Time of the next fire of a schedule that has ended.
pub(crate) const NEVER: i64 = i64::MAX;

impl SimSchedule {
    pub(crate) fn every(period_ms: i64) -> Self {
        Self { period_ms, excluded: [false; 2], bound_ms: 0, end_ms: NEVER }
    }

    /// Returns the schedule of a configuration that a simulated operator has written.
    pub(crate) fn of(config: &JobConfig) -> Option<Self> {
        let near = config.time_zone.as_deref() == Some(MIDNIGHT_ZONE);
        let days = config.excluded_days.as_deref().or(config.excluded_times.as_deref());
        let days = days.filter(|_| near).unwrap_or_default();
        let excluded = [FIRST_DAY, SECOND_DAY].map(|texts| texts.contains(&days));
        let bound_ms = config.jitter_ms.map_or(0, u64::from);
        let end_ms = config.not_after.as_deref().map_or(NEVER, instant_ms);
        Some(Self { excluded, bound_ms, end_ms, ..Self::every(period_ms(config)?) })
    }

    pub(crate) fn has_delays(&self) -> bool {
        self.bound_ms > 0
    }

    /// Returns the first fire after an instant.
    pub(crate) fn next_after(&self, ms: i64) -> i64 {
        if ms >= self.end_ms {
            return NEVER;
        }
        let next = ms - ms.rem_euclid(self.period_ms) + self.period_ms;
        let next = self.excluded_day(next).map_or(next, |day| day.end);
        if next > self.end_ms { NEVER } else { next }
    }

    /// Returns the last fire at or before an instant.
    fn last_by(&self, ms: i64) -> i64 {
        let ms = ms.min(self.end_ms);
        let last = ms - ms.rem_euclid(self.period_ms);
        self.excluded_day(last).map_or(last, |day| day.start - self.period_ms)
    }

    /// Returns the excluded day of an instant. At most one of the two days is excluded.
    fn excluded_day(&self, ms: i64) -> Option<&'static Range<i64>> {
        let excluded = DAYS.iter().zip(self.excluded).filter(|(_, excluded)| *excluded);
        excluded.map(|(day, _)| day).find(|day| day.contains(&ms))
    }

    /// Returns the time at which a fire begins.
    pub(crate) fn begins(&self, fire: i64) -> i64 {
        let room = u64::try_from(self.next_after(fire) - fire).unwrap_or(0);
        let delay = delay_ms(JOB, fire, room.min(self.bound_ms));
        fire + i64::try_from(delay).unwrap_or(0)
    }

    /// Returns the first fire that begins after an instant.
    pub(crate) fn next_to_begin(&self, ms: i64) -> i64 {
        let last = self.last_by(ms);
        if self.begins(last) > ms { last } else { self.next_after(ms) }
    }

    /// Returns the last fire that has begun by an instant, at least `due`, which has begun.
    pub(crate) fn last_begun(&self, due: i64, ms: i64) -> i64 {
        let last = self.last_by(ms).max(due);
        if self.begins(last) <= ms { last } else { self.last_by(last - 1).max(due) }
    }

    /// Returns the fires from `first` (inclusive) to `end` (exclusive).
    pub(crate) fn between(self, first: i64, end: i64) -> impl Iterator<Item = i64> {
        let fires = std::iter::successors(Some(self.next_after(first - 1)), move |fire| {
            Some(self.next_after(*fire))
        });
        fires.take_while(move |fire| *fire < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Profile;
    use crate::sim::product::document;

    #[test]
    fn schedule_contains_excluded_days_and_jitter_of_configuration() {
        let mut seen = [0; 3];
        for seed in 0..60 {
            let profile = Profile::draw(seed);
            let config = coordination::decode_config(document(&profile.job, &profile).as_bytes());
            let schedule = SimSchedule::of(&config.unwrap()).unwrap();
            let Profile { job, midnight_s, .. } = &profile;
            seen[0] += u32::from(schedule.excluded.contains(&true));
            seen[1] += u32::from(schedule.has_delays());
            seen[2] += u32::from(schedule == SimSchedule::every(i64::from(job.period) * 1_000));
            assert_eq!(schedule.excluded.contains(&true), *midnight_s > 0, "seed {seed}");
        }
        assert!(seen.iter().all(|count| *count >= 5), "{seen:?}");
    }

    #[test]
    fn excluded_days_have_no_fires_and_delayed_fires_begin_in_order() {
        let plain = SimSchedule::every(2_000);
        let (first, second) = (
            SimSchedule { excluded: [true, false], ..plain },
            SimSchedule { excluded: [false, true], ..plain },
        );
        let m = MIDNIGHT_MS;
        let rows = [
            ("no excluded day", plain, m - 5_000, [m - 4_000, m - 2_000, m, m + 2_000]),
            ("first day excluded", first, m - 5_000, [m, m + 2_000, m + 4_000, m + 6_000]),
            (
                "second day excluded",
                second,
                m - 5_000,
                [m - 4_000, m - 2_000, m + DAY_MS, m + DAY_MS + 2_000],
            ),
        ];
        for (case, schedule, after, expected) in rows {
            let fires: Vec<_> = schedule.between(after, i64::MAX).take(4).collect();
            assert_eq!(fires, expected, "{case}");
            assert_eq!(
                schedule.last_by(m + 3_000),
                if schedule == second { m - 2_000 } else { m + 2_000 }
            );
        }
        // A clock that is a year ahead is beyond both days.
        let year = m + 365 * DAY_MS;
        assert_eq!((second.last_by(year), first.last_by(year)), (year, year));
        assert_eq!(first.last_by(m - 1), m - DAY_MS - 2_000);
        let delayed = SimSchedule { bound_ms: 5_000, ..plain };
        let begins: Vec<_> =
            delayed.between(m, m + 60_000).map(|f| (f, delayed.begins(f))).collect();
        assert!(begins.windows(2).all(|pair| pair[0].1 < pair[1].0), "{begins:?}");
        for (fire, begin) in begins {
            assert_eq!(delayed.next_to_begin(begin - 1), fire);
            assert_eq!(delayed.next_to_begin(begin), fire + 2_000);
            assert_eq!(delayed.last_begun(m, begin.max(m)), fire);
            if begin > fire && fire > m {
                assert_eq!(delayed.last_begun(m, begin - 1), fire - 2_000);
            }
        }
    }
}
