//! Ranges of consecutive fires.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::schedule::{Schedule, Upcoming};

/// Consecutive fires of a schedule: the first, the last, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FireRange {
    /// The first fire time.
    pub first: Timestamp,
    /// The last fire time; equals `first` for a single fire.
    pub last: Timestamp,
    /// The number of fire times from the first to the last.
    pub count: FireCount,
}

/// Number of fires in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FireCount {
    /// The exact number.
    Exactly(u64),
    /// A lower bound; counting stopped at the limit. The first and the last fire are still exact.
    AtLeast(u64),
}

impl fmt::Display for FireCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FireCount::Exactly(count) => write!(f, "{count}"),
            FireCount::AtLeast(count) => write!(f, "at least {count}"),
        }
    }
}

impl FireRange {
    /// Limit of counting: 100000, more than the seconds of a day. It keeps the count within
    /// milliseconds, even for a schedule of every second after an outage of years.
    pub const COUNT_LIMIT: u32 = 100_000;

    /// Returns the fires of `schedule` after `after` and up to `until`, inclusive.
    #[must_use]
    pub fn between(
        schedule: &dyn Schedule,
        after: Timestamp,
        until: Timestamp,
    ) -> Option<FireRange> {
        let mut fires = Upcoming::new(schedule, after).take_while(|fire| *fire <= until);
        let first = fires.next()?;
        let (mut last, mut count) = (first, 1);
        for fire in fires {
            if count == u64::from(Self::COUNT_LIMIT) {
                let count = FireCount::AtLeast(count);
                return Some(FireRange { first, last: last_fire(schedule, last, until), count });
            }
            (last, count) = (fire, count + 1);
        }
        Some(FireRange { first, last, count: FireCount::Exactly(count) })
    }

    /// Returns the fire times in the range, in order. `schedule` must be the schedule of the range.
    pub fn fires<'a>(
        &self,
        schedule: &'a dyn Schedule,
    ) -> impl Iterator<Item = Timestamp> + use<'a> {
        let last = self.last;
        Upcoming::new(schedule, just_before(self.first)).take_while(move |fire| *fire <= last)
    }

    /// Returns the union of this range and a later one.
    pub(super) fn followed_by(self, later: Option<FireRange>) -> FireRange {
        use FireCount::{AtLeast, Exactly};
        let Some(later) = later else { return self };
        let count = match (self.count, later.count) {
            (Exactly(one), Exactly(other)) => Exactly(one.saturating_add(other)),
            (Exactly(one) | AtLeast(one), Exactly(other) | AtLeast(other)) => {
                AtLeast(one.saturating_add(other))
            }
        };
        FireRange { first: self.first, last: later.last, count }
    }
}

/// Writes text such as `2026-01-01T00:00:10Z..=2026-01-01T00:00:30Z (3 fires)`.
impl fmt::Display for FireRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            FireCount::Exactly(1) => write!(f, "{}", self.first),
            FireCount::Exactly(_) | FireCount::AtLeast(_) => {
                write!(f, "{}..={} ({} fires)", self.first, self.last, self.count)
            }
        }
    }
}

/// Returns the last fire up to `until`, provided that there is one after `after`.
///
/// Schedules only search forward, so this bisects for the last instant that still has a fire up to
/// `until` after it. The skipped readings of cron in the first pass of an overlap do no harm:
/// there, too, `next_after` exceeds `until` right after the wanted fire.
pub(super) fn last_fire(schedule: &dyn Schedule, after: Timestamp, until: Timestamp) -> Timestamp {
    let fire_after = |instant: i128| {
        let instant = Timestamp::from_nanosecond(instant).ok()?;
        schedule.next_after(instant).filter(|fire| *fire <= until)
    };
    let (mut low, mut high) = (after.as_nanosecond(), until.as_nanosecond());
    let mut last = fire_after(low).unwrap_or(until);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fire_after(middle) {
            Some(fire) => (low, last) = (middle, fire),
            None => high = middle,
        }
    }
    last
}

/// Returns the instant one nanosecond earlier.
pub(super) fn just_before(instant: Timestamp) -> Timestamp {
    earlier(instant, Duration::from_nanos(1))
}

/// Returns the instant earlier by a span, at least [`Timestamp::MIN`].
pub(super) fn earlier(instant: Timestamp, by: Duration) -> Timestamp {
    SignedDuration::try_from(by)
        .ok()
        .and_then(|by| instant.checked_sub(by).ok())
        .unwrap_or(Timestamp::MIN)
}
