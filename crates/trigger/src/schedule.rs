//! The trait of schedules, and the simple schedules.

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

/// A schedule: a function from an instant to the next fire time.
///
/// Implement it for custom schedules. Two rules make everything else work:
///
/// 1. `next_after(t)` is strictly greater than `t`.
/// 2. It is the earliest fire time after `t`, and depends only on `t`.
///
/// A [`CronSchedule`](crate::CronSchedule) breaks the second rule as Quartz does, for instants in
/// the first pass of an overlap. It keeps the rule for steps from one of its fire times to the
/// next.
///
/// # Examples
///
/// A custom schedule: every full minute whose number is prime.
///
/// ```
/// use jiff::{SignedDuration, Timestamp};
/// use trigger::{CronExpression, CronSchedule, Schedule, Upcoming, Zone};
///
/// #[derive(Debug)]
/// struct PrimeMinutes(CronSchedule);
///
/// impl Schedule for PrimeMinutes {
///     fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
///         let is_prime = |n: i64| n > 1 && (2..n).all(|d| n % d != 0);
///         self.0.upcoming(after).find(|t| is_prime(t.as_second() / 60 % 60))
///     }
///     fn describe(&self) -> String {
///         "prime minutes".to_owned()
///     }
/// }
///
/// let minutes = CronExpression::parse("0 * * * * ?")?;
/// let primes = PrimeMinutes(CronSchedule::new(minutes, Zone::utc()));
/// let after: Timestamp = "2026-01-01T00:07:30Z".parse()?;
/// let next = Upcoming::new(&primes, after).next().expect("it never ends");
/// assert_eq!(next.to_string(), "2026-01-01T00:11:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Schedule: Send + Sync + fmt::Debug {
    /// Returns the first fire time strictly after `after`, or `None` if there is none.
    #[must_use]
    fn next_after(&self, after: Timestamp) -> Option<Timestamp>;

    /// Returns the schedule as one line of text, for logs.
    fn describe(&self) -> String;

    /// Returns the delay after the end of runs by which a schedule without fire times of its own
    /// fires.
    #[must_use]
    fn fixed_delay(&self) -> Option<Duration> {
        None
    }
}

/// Implements [`Schedule`] for pointers to schedules.
macro_rules! schedule_behind {
    ($($pointer:ty),*) => {$(
        impl<S: Schedule + ?Sized> Schedule for $pointer {
            fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
                S::next_after(self, after)
            }

            fn describe(&self) -> String {
                S::describe(self)
            }
        }
    )*};
}

schedule_behind!(&S, Box<S>, Arc<S>);

/// The fire times of a schedule after an instant, in order.
///
/// Ends when the schedule ends. If a schedule breaks the rule that a fire time is greater than the
/// given instant, the iterator ends instead of repeating the same instant forever.
#[derive(Clone, Debug)]
pub struct Upcoming<'a, S: ?Sized> {
    schedule: &'a S,
    after: Option<Timestamp>,
}

impl<'a, S: Schedule + ?Sized> Upcoming<'a, S> {
    /// Returns the fire times of `schedule` strictly after `after`.
    pub fn new(schedule: &'a S, after: Timestamp) -> Upcoming<'a, S> {
        Upcoming { schedule, after: Some(after) }
    }
}

impl<S: Schedule + ?Sized> Iterator for Upcoming<'_, S> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let after = self.after?;
        self.after = self.schedule.next_after(after).filter(|next| *next > after);
        self.after
    }
}

impl<S: Schedule + ?Sized> FusedIterator for Upcoming<'_, S> {}

/// Fires at `start`, `start + interval`, `start + 2 * interval` and so on.
///
/// The fire times depend only on `start`, not on earlier runs, so they do not drift, and every
/// process computes the same ones. Changes of wall clocks have no influence.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use jiff::Timestamp;
/// use trigger::FixedInterval;
///
/// let start: Timestamp = "2026-01-01T00:00:00Z".parse()?;
/// let schedule = FixedInterval::new(start, Duration::from_secs(90))?;
/// let after: Timestamp = "2026-01-01T00:02:00Z".parse()?;
/// assert_eq!(schedule.next_after(after), Some("2026-01-01T00:03:00Z".parse()?));
/// assert_eq!(schedule.next_after(Timestamp::MIN), Some(start));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedInterval {
    start: Timestamp,
    interval: Duration,
}

/// Error for an interval that is too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the interval {interval:?} is too short; valid are intervals of {min:?} and more",
    min = FixedInterval::MIN_INTERVAL
)]
#[non_exhaustive]
pub struct IntervalError {
    /// The invalid interval.
    pub interval: Duration,
}

impl FixedInterval {
    /// Minimum interval, 1 ms: timers have no finer resolution.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(1);

    /// Returns a schedule that fires at `start` and then every `interval`.
    ///
    /// # Errors
    ///
    /// [`IntervalError`] if the interval is shorter than [`MIN_INTERVAL`](Self::MIN_INTERVAL).
    pub fn new(start: Timestamp, interval: Duration) -> Result<FixedInterval, IntervalError> {
        if interval < Self::MIN_INTERVAL {
            return Err(IntervalError { interval });
        }
        Ok(FixedInterval { start, interval })
    }

    /// Returns the first fire time.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// Returns the time from one fire to the next.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns the first fire time strictly after `after`. Returns `None` after the last one that a
    /// [`Timestamp`] can hold, in the year 9999.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        if after < self.start {
            return Some(self.start);
        }
        let interval = i128::try_from(self.interval.as_nanos()).ok()?;
        let start = self.start.as_nanosecond();
        let passed = (after.as_nanosecond() - start) / interval;
        let next = (passed + 1).checked_mul(interval)?.checked_add(start)?;
        Timestamp::from_nanosecond(next).ok()
    }
}

impl Schedule for FixedInterval {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        FixedInterval::next_after(self, after)
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

/// Writes text such as `every 90s from 2026-01-01T00:00:00Z`.
impl fmt::Display for FixedInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every {:?} from {}", self.interval, self.start)
    }
}

/// Fires at one instant and never again.
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::Once;
///
/// let once = Once::at("2026-01-01T00:00:00Z".parse()?);
/// assert_eq!(once.next_after(Timestamp::UNIX_EPOCH), Some(once.instant()));
/// assert_eq!(once.next_after(once.instant()), None);
/// # Ok::<(), jiff::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Once(Timestamp);

impl Once {
    /// Returns a schedule that fires at `instant`.
    pub fn at(instant: Timestamp) -> Once {
        Once(instant)
    }

    /// Returns the fire time.
    pub fn instant(&self) -> Timestamp {
        self.0
    }

    /// Returns the fire time if it is after `after`.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        (after < self.0).then_some(self.0)
    }
}

impl Schedule for Once {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        Once::next_after(self, after)
    }

    fn describe(&self) -> String {
        self.to_string()
    }
}

/// Writes text such as `once at 2026-01-01T00:00:00Z`.
impl fmt::Display for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "once at {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn intervals_count_from_their_start() {
        let start = at("2026-01-01T00:00:00.5Z");
        let schedule = FixedInterval::new(start, Duration::from_millis(700)).unwrap();
        let cases = [
            ("long before", at("1900-01-01T00:00:00Z"), start),
            ("just before", at("2026-01-01T00:00:00.499999999Z"), start),
            ("at the start", start, at("2026-01-01T00:00:01.2Z")),
            ("between", at("2026-01-01T00:00:01.3Z"), at("2026-01-01T00:00:01.9Z")),
            ("at a fire time", at("2026-01-01T00:00:01.9Z"), at("2026-01-01T00:00:02.6Z")),
        ];
        for (case, after, expected) in cases {
            assert_eq!(schedule.next_after(after), Some(expected), "{case}");
        }
        assert_eq!(schedule.next_after(Timestamp::MAX), None);
        let ages = FixedInterval::new(start, Duration::MAX).unwrap();
        assert_eq!((ages.next_after(Timestamp::MIN), ages.next_after(start)), (Some(start), None));
    }

    #[test]
    fn an_interval_below_the_minimum_is_an_error() {
        for interval in [Duration::ZERO, Duration::from_nanos(999_999)] {
            let error = FixedInterval::new(Timestamp::UNIX_EPOCH, interval).unwrap_err();
            assert_eq!(error, IntervalError { interval });
        }
    }

    #[test]
    fn upcoming_stops_at_a_schedule_that_does_not_advance() {
        #[derive(Debug)]
        struct Stuck;
        impl Schedule for Stuck {
            fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
                Some(after)
            }
            fn describe(&self) -> String {
                "stuck".to_owned()
            }
        }
        assert_eq!(Upcoming::new(&Stuck, Timestamp::UNIX_EPOCH).count(), 0);
    }

    #[test]
    fn pointers_to_schedules_are_schedules() {
        let once = Once::at(at("2026-01-01T00:00:00Z"));
        let schedules: [Box<dyn Schedule>; 3] =
            [Box::new(once), Box::new(Arc::new(once)), Box::new(&once)];
        for schedule in schedules {
            assert_eq!(schedule.next_after(Timestamp::UNIX_EPOCH), Some(once.instant()));
            assert_eq!(schedule.describe(), "once at 2026-01-01T00:00:00Z");
        }
    }
}
