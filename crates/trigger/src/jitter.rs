//! Jitter: a delay of the start of each fire, so that many jobs do not start at once.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::schedule::{Schedule, Upcoming};

/// Number of fires that [`Jitter::check`] examines.
const CHECKED: usize = 1_000;
/// Upper bound of an overlap: clocks go back by at most this much.
const LONGEST_OVERLAP: SignedDuration = SignedDuration::from_hours(3);

/// A start delay for each fire of a job, below a bound.
///
/// The delay is a function of the job's name and the fire time. It is thus the same in every
/// process and after every restart.
///
/// The delay moves the *start* of a fire. The scheduled fire time does not change and identifies
/// the fire: two processes with different delays still mean the same fire.
///
/// ```text
/// fires:                  |0         |60        |120       |180
/// starts, bound 30 s:       [0]          [60]   [120]         [180]
/// ```
///
/// # The function
///
/// The function never changes. Take the bytes of the name, then the fire time in milliseconds since
/// 1970 as eight bytes, big-endian. Put them through FNV-1a of 64 bits, and the result `x` through
/// the finalizer of SplitMix64: `x ^= x >> 30`, times `0xBF58476D1CE4E5B9`, `x ^= x >> 27`, times
/// `0x94D049BB133111EB`, `x ^= x >> 31`. The delay in milliseconds is `x * bound / 2^64`, rounded
/// down.
///
/// If the next fire is nearer than the bound, the milliseconds up to it replace the bound, so that
/// fires start in the order of their times.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use jiff::Timestamp;
/// use trigger::Jitter;
///
/// let fire: Timestamp = "2026-01-01T00:00:00Z".parse()?;
/// let minute = Duration::from_secs(60);
/// let delay = |name| Jitter::new(name, minute).map(|jitter| jitter.delay(fire, None));
/// assert_eq!(delay("report")?, Duration::from_millis(32_143));
/// assert_eq!(delay("cleanup")?, Duration::from_millis(38_275));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// FNV-1a of the name.
    name_hash: u64,
    /// Exclusive upper bound of the delay, in milliseconds.
    bound_ms: u32,
}

/// Error for a bound that is too short or too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("jitter is {bound:?}; valid is {valid}")]
#[non_exhaustive]
pub struct JitterError {
    /// The invalid bound.
    pub bound: Duration,
    /// The valid bounds.
    pub valid: String,
}

impl Jitter {
    /// Maximum bound: one day.
    pub const MAX_BOUND: Duration = Duration::from_secs(86_400);

    /// Returns the jitter of a job: delays below `bound`, in whole milliseconds.
    ///
    /// # Errors
    ///
    /// [`JitterError`] unless the bound is a whole number of milliseconds, from 1 ms to one day.
    pub fn new(name: &str, bound: Duration) -> Result<Jitter, JitterError> {
        let whole = bound.subsec_nanos().is_multiple_of(1_000_000);
        let bound_ms = u32::try_from(bound.as_millis()).unwrap_or(u32::MAX);
        if !whole || bound_ms == 0 || bound > Self::MAX_BOUND {
            let valid = "whole milliseconds, from 1 to 86400000".to_owned();
            return Err(JitterError { bound, valid });
        }
        Ok(Jitter { name_hash: fnv_1a(FNV_BASIS, name.as_bytes()), bound_ms })
    }

    /// Returns the exclusive upper bound of the delay.
    pub fn bound(&self) -> Duration {
        Duration::from_millis(self.bound_ms.into())
    }

    /// Returns the start delay of a fire; `next` is the fire after it.
    #[must_use]
    pub fn delay(&self, fire: Timestamp, next: Option<Timestamp>) -> Duration {
        let ms = fire.as_millisecond();
        let hash = u128::from(finalized(fnv_1a(self.name_hash, &ms.to_be_bytes())));
        let room = next.map(|next| next.as_millisecond().saturating_sub(ms));
        let room = room.map_or(u64::MAX, |room| u64::try_from(room).unwrap_or(0));
        let delay = (hash * u128::from(room.min(self.bound_ms.into()))) >> 64;
        Duration::from_millis(u64::try_from(delay).unwrap_or(u64::MAX))
    }

    /// Returns the start of a fire of a schedule, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn start(&self, schedule: &dyn Schedule, fire: Timestamp) -> Timestamp {
        let delay = self.delay(fire, schedule.next_after(fire));
        let delay = SignedDuration::try_from(delay).unwrap_or(SignedDuration::MAX);
        fire.saturating_add(delay).unwrap_or(Timestamp::MAX)
    }

    /// Returns the first fire that starts after an instant. Its fire time may be before that
    /// instant.
    #[must_use]
    pub fn next_to_start(&self, schedule: &dyn Schedule, after: Timestamp) -> Option<Timestamp> {
        let bound = SignedDuration::from_millis(self.bound_ms.into());
        let before = |at: Timestamp, time| at.saturating_sub(time).unwrap_or(Timestamp::MIN);
        let started = before(after, bound);
        // Within an overlap a schedule skips readings that have already occurred, but stepping from
        // one fire to the next skips none. So the steps begin before any overlap that could matter.
        let fires = Upcoming::new(schedule, before(started, LONGEST_OVERLAP));
        fires.skip_while(|fire| *fire <= started).find(|fire| self.start(schedule, *fire) > after)
    }

    /// Checks that the bound is below the interval between any two of the next 1000 fires after an
    /// instant.
    ///
    /// If a schedule has closer fires all the same, their delays are shorter. There is no other
    /// effect.
    ///
    /// # Errors
    ///
    /// [`JitterError`] names the two fires with the shortest interval.
    pub fn check(&self, schedule: &dyn Schedule, after: Timestamp) -> Result<(), JitterError> {
        let fires: Vec<Timestamp> = Upcoming::new(schedule, after).take(CHECKED).collect();
        let closest = fires.windows(2).min_by_key(|pair| pair[1].duration_since(pair[0]));
        let Some([first, second]) = closest else { return Ok(()) };
        let apart = second.duration_since(*first);
        if apart > SignedDuration::from_millis(self.bound_ms.into()) {
            return Ok(());
        }
        let valid = format!("less than the {apart:#} from the fire at {first} to that at {second}");
        Err(JitterError { bound: self.bound(), valid })
    }
}

const FNV_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;

fn fnv_1a(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

fn finalized(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use crate::{CronExpression, CronSchedule, Zone};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn cron(text: &str) -> CronSchedule {
        CronSchedule::new(CronExpression::parse(text).unwrap(), Zone::utc())
    }

    /// Another program computed these values from the description. If they changed, processes of
    /// two versions would start the same fire at different times.
    #[test]
    fn the_delay_function_never_changes() {
        let rows = [
            ("report", "2026-01-01T00:00:00Z", 60_000, 32_143),
            ("cleanup", "2026-01-01T00:00:00Z", 60_000, 38_275),
            ("report", "2026-01-01T00:00:10Z", 60_000, 3_930),
            ("report", "2026-01-01T00:00:20Z", 60_000, 17_942),
            ("report", "2026-01-01T00:00:00Z", 1, 0),
            ("report", "2026-01-01T00:00:00Z", 1_000, 535),
            ("report", "2026-01-01T00:00:00Z", 86_400_000, 46_286_842),
            ("月报", "2026-01-01T00:00:00Z", 60_000, 28_727),
            ("a", "1970-01-01T00:00:00Z", 60_000, 15_112),
            ("a", "1969-12-31T23:59:59Z", 60_000, 35_265),
            ("a", "2126-12-31T23:59:59Z", 60_000, 4_628),
        ];
        for (name, fire, bound, expected) in rows {
            let jitter = Jitter::new(name, Duration::from_millis(bound)).unwrap();
            let delay = jitter.delay(at(fire), None);
            assert_eq!(delay, Duration::from_millis(expected), "{name} {fire} {bound}");
        }
    }

    #[test]
    fn delays_are_below_the_bound_and_below_the_time_to_the_next_fire() {
        let jitter = Jitter::new("report", Duration::from_secs(10)).unwrap();
        let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
        for second in 0..2_000 {
            let fire = Timestamp::from_second(1_700_000_000 + second).unwrap();
            let delay = jitter.delay(fire, None);
            (least, most) = (least.min(delay), most.max(delay));
            let next = fire.checked_add(SignedDuration::from_secs(1)).unwrap();
            assert!(jitter.delay(fire, Some(next)) < Duration::from_secs(1), "{fire}");
            assert_eq!(jitter.delay(fire, Some(fire)), Duration::ZERO);
        }
        let whole = Duration::from_millis(100)..Duration::from_millis(9_900);
        assert!(
            least < whole.start && most > whole.end && most < jitter.bound(),
            "{least:?} {most:?}"
        );
    }

    #[test]
    fn fires_start_in_the_order_of_their_times() {
        let jitter = Jitter::new("report", Duration::from_secs(3_600)).unwrap();
        let schedule = cron("0,1,30 0/7 * * * ?");
        let fires: Vec<_> = schedule.upcoming(at("2026-01-01T00:00:00Z")).take(500).collect();
        let starts: Vec<_> = fires.iter().map(|fire| jitter.start(&schedule, *fire)).collect();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
        for (place, fire) in fires.iter().enumerate().skip(1) {
            // One millisecond before a fire starts, and at its start.
            let before = starts[place].saturating_sub(SignedDuration::from_millis(1)).unwrap();
            assert_eq!(jitter.next_to_start(&schedule, before), Some(*fire));
            let next = fires.get(place + 1);
            if let Some(next) = next {
                assert_eq!(jitter.next_to_start(&schedule, starts[place]), Some(*next));
            }
        }
    }

    /// The clocks of Berlin show 02:30 at 00:30Z and at 01:30Z on that day, and the fire is at the
    /// second one. Before its start, `after` minus the bound can lie between the two.
    #[test]
    fn a_fire_in_an_overlap_that_has_not_started_is_not_skipped() {
        let hour = Duration::from_secs(3_600);
        let (berlin, casey) =
            (("0 30 2 * * ?", "Europe/Berlin"), ("0 30 1 * * ?", "Antarctica/Casey"));
        let rows = [
            ("cleanup", berlin, hour, "2026-10-25T01:45:00Z", "2026-10-25T01:30:00Z"),
            ("cleanup", berlin, hour, "2026-10-25T02:22:49Z", "2026-10-25T01:30:00Z"),
            ("cleanup", berlin, hour, "2026-10-25T02:22:50Z", "2026-10-26T01:30:00Z"),
            ("report", berlin, hour, "2026-10-25T01:45:00Z", "2026-10-26T01:30:00Z"),
            ("cleanup", berlin, hour, "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"),
            ("cleanup", berlin, 3 * hour, "2026-10-25T03:40:00Z", "2026-10-25T01:30:00Z"),
            ("cleanup", berlin, 3 * hour, "2026-10-25T04:10:00Z", "2026-10-26T01:30:00Z"),
            // The clocks went back by three hours, from 02:00 to 23:00.
            ("a", casey, 3 * hour, "2010-03-04T17:50:00Z", "2010-03-04T17:30:00Z"),
        ];
        for (name, (expression, zone), bound, after, expected) in rows {
            let expression = CronExpression::parse(expression).unwrap();
            let schedule = CronSchedule::new(expression, Zone::parse(zone).unwrap());
            let next = Jitter::new(name, bound).unwrap().next_to_start(&schedule, at(after));
            assert_eq!(next, Some(at(expected)), "{name} in {zone}, {bound:?}, after {after}");
        }
    }

    #[test]
    fn a_bound_is_between_one_millisecond_and_one_day_and_below_the_interval() {
        let ms = Duration::from_millis;
        let rows = [
            ("zero", Duration::ZERO, false),
            ("less than a millisecond", Duration::from_micros(999), false),
            ("a millisecond and a half", Duration::from_micros(1_500), false),
            ("the minimum", ms(1), true),
            ("the maximum", Jitter::MAX_BOUND, true),
            ("above the maximum", Jitter::MAX_BOUND + ms(1), false),
            ("the maximum of Duration", Duration::MAX, false),
        ];
        for (case, bound, valid) in rows {
            assert_eq!(Jitter::new("j", bound).is_ok(), valid, "{case}");
        }
        let rows = [
            ("below the interval", "0 * * * * ?", 59_999, true),
            ("the interval", "0 * * * * ?", 60_000, false),
            ("the shortest of several", "0 0,1,30 * * * ?", 60_000, false),
            ("one fire a year", "0 0 0 1 1 ?", 86_400_000, true),
            ("one fire", "0 0 0 1 1 ? 2030", 86_400_000, true),
        ];
        for (case, expression, bound, valid) in rows {
            let jitter = Jitter::new("j", ms(bound)).unwrap();
            let checked = jitter.check(&cron(expression), at("2026-01-01T00:00:30Z"));
            assert_eq!(checked.is_ok(), valid, "{case}: {checked:?}");
        }
        let error = Jitter::new("j", ms(60_000))
            .unwrap()
            .check(&cron("0 * * * * ?"), at("2026-01-01T00:00:30Z"));
        let expected = "jitter is 60s; valid is less than the 1m from the fire at 2026-01-01T00:01:00Z to that at 2026-01-01T00:02:00Z";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
