//! When fires come and when they begin: a period, perhaps without the fires of some days, and with delays.

use checker::delay_ms;
use coordination::JobConfig;

use super::product::{JOB, MIDNIGHT_ZONE, period_ms};
use super::profile::{FIRST_DAY, SECOND_DAY};
use super::world::EPOCH_MS;

/// A day.
const DAY_MS: i64 = 86_400_000;
/// When the second day begins in the zone of runs that have a midnight in them.
const MIDNIGHT_MS: i64 = EPOCH_MS + 60_000;

/// The fires of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rhythm {
    pub(crate) period_ms: i64,
    /// Which of the two days of the run have no fires.
    excluded: [bool; 2],
    /// What delays are less than; 0 is no delay.
    bound_ms: u64,
}

impl Rhythm {
    pub(crate) fn every(period_ms: i64) -> Self {
        Self { period_ms, excluded: [false; 2], bound_ms: 0 }
    }

    /// Returns the fires of a configuration that a simulated operator has written.
    pub(crate) fn of(config: &JobConfig) -> Option<Self> {
        let near = config.time_zone.as_deref() == Some(MIDNIGHT_ZONE);
        let days = config.excluded_days.as_deref().filter(|_| near).unwrap_or_default();
        let excluded = [FIRST_DAY, SECOND_DAY].map(|texts| texts.contains(&days));
        let bound_ms = config.jitter_ms.map_or(0, u64::from);
        Some(Self { excluded, bound_ms, ..Self::every(period_ms(config)?) })
    }

    pub(crate) fn has_delays(&self) -> bool {
        self.bound_ms > 0
    }

    /// Returns the first fire after an instant.
    pub(crate) fn next_after(&self, ms: i64) -> i64 {
        let next = ms - ms.rem_euclid(self.period_ms) + self.period_ms;
        match self.excluded {
            [true, _] if next < MIDNIGHT_MS => MIDNIGHT_MS,
            [_, true] if (MIDNIGHT_MS..MIDNIGHT_MS + DAY_MS).contains(&next) => {
                MIDNIGHT_MS + DAY_MS
            }
            _ => next,
        }
    }

    /// Returns the last fire that is not after an instant.
    fn last_by(&self, ms: i64) -> i64 {
        let last = ms - ms.rem_euclid(self.period_ms);
        match self.excluded {
            [true, _] if last < MIDNIGHT_MS => MIDNIGHT_MS - DAY_MS - self.period_ms,
            [_, true] if last >= MIDNIGHT_MS => MIDNIGHT_MS - self.period_ms,
            _ => last,
        }
    }

    /// Returns when a fire begins.
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

    /// Returns the last fire that has begun by an instant; `due` has.
    pub(crate) fn last_begun(&self, due: i64, ms: i64) -> i64 {
        let last = self.last_by(ms).max(due);
        if self.begins(last) <= ms { last } else { self.last_by(last - 1).max(due) }
    }

    /// Returns the fires from an instant on that come before `end`.
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
    fn the_simulated_timer_knows_the_days_and_the_delays_of_configurations() {
        let mut seen = [0; 3];
        for seed in 0..60 {
            let profile = Profile::draw(seed);
            let config = coordination::decode_config(document(&profile.job, &profile).as_bytes());
            let rhythm = Rhythm::of(&config.unwrap()).unwrap();
            let Profile { job, midnight_s, .. } = &profile;
            seen[0] += u32::from(rhythm.excluded.contains(&true));
            seen[1] += u32::from(rhythm.has_delays());
            seen[2] += u32::from(rhythm == Rhythm::every(i64::from(job.period) * 1_000));
            assert_eq!(rhythm.excluded.contains(&true), *midnight_s > 0, "seed {seed}");
        }
        assert!(seen.iter().all(|count| *count >= 5), "{seen:?}");
    }

    #[test]
    fn fires_of_excluded_days_do_not_come_and_delayed_ones_begin_in_order() {
        let plain = Rhythm::every(2_000);
        let (first, second) = (
            Rhythm { excluded: [true, false], ..plain },
            Rhythm { excluded: [false, true], ..plain },
        );
        let m = MIDNIGHT_MS;
        let rows = [
            ("plain", plain, m - 5_000, [m - 4_000, m - 2_000, m, m + 2_000]),
            ("from midnight on", first, m - 5_000, [m, m + 2_000, m + 4_000, m + 6_000]),
            (
                "until midnight",
                second,
                m - 5_000,
                [m - 4_000, m - 2_000, m + DAY_MS, m + DAY_MS + 2_000],
            ),
        ];
        for (case, rhythm, after, expected) in rows {
            let fires: Vec<_> = rhythm.between(after, i64::MAX).take(4).collect();
            assert_eq!(fires, expected, "{case}");
            assert_eq!(
                rhythm.last_by(m + 3_000),
                if rhythm == second { m - 2_000 } else { m + 2_000 }
            );
        }
        let delayed = Rhythm { bound_ms: 5_000, ..plain };
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
