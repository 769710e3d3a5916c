//! Limit of the runs that begin in a period, in the whole cluster.

use std::fmt;

/// Maximum of [`StartRate::max`]: the record has a time for each of these starts.
pub const MAX_STARTS_IN_PERIOD: u32 = 1_000;

/// Maximum of [`StartRate::period_seconds`]: a day.
pub const MAX_START_PERIOD_SECONDS: u32 = 24 * 60 * 60;

/// Units of times with their seconds, largest first.
const UNITS: [(char, u32); 3] = [('h', 60 * 60), ('m', 60), ('s', 1)];

/// Maximum number of runs of a job that begin in any period of this length, on all instances.
///
/// # Examples
/// ```
/// use coordination::StartRate;
///
/// let rate = StartRate::parse("10 in 1m");
/// assert_eq!(rate, Some(StartRate { max: 10, period_seconds: 60 }));
/// assert_eq!(StartRate { max: 3, period_seconds: 5_400 }.to_string(), "3 in 90m");
/// assert_eq!(StartRate::parse("often"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StartRate {
    /// Maximum number of starts, 1 to [`MAX_STARTS_IN_PERIOD`].
    pub max: u32,
    /// Length of the period in seconds, 1 to [`MAX_START_PERIOD_SECONDS`].
    pub period_seconds: u32,
}

impl StartRate {
    /// Description of valid texts.
    pub const VALID: &'static str =
        "a number of starts in a period, such as \"10 in 1m\": 1 to 1000 in 1s to 24h";

    /// Parses a text: a whole number, ` in `, and a whole number with a unit (`s`, `m` or `h`).
    /// `None` for other texts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u32> {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            if plain { text.parse().ok() } else { None }
        };
        let (max, period) = text.split_once(" in ")?;
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| period.ends_with(*unit))?;
        let period_seconds = number(period.strip_suffix(*unit)?)?.checked_mul(*seconds)?;
        Some(Self { max: number(max)?, period_seconds })
    }

    /// Returns true if both numbers are in their ranges.
    pub(crate) fn is_valid(self) -> bool {
        (1..=MAX_STARTS_IN_PERIOD).contains(&self.max)
            && (1..=MAX_START_PERIOD_SECONDS).contains(&self.period_seconds)
    }

    fn period_ms(self) -> i64 {
        i64::from(self.period_seconds) * 1_000
    }
}

impl fmt::Display for StartRate {
    /// Writes the text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.period_seconds;
        let fits = |(_, unit): &&(char, u32)| seconds.is_multiple_of(*unit);
        let (name, unit) = UNITS.iter().find(fits).unwrap_or(&('s', 1));
        write!(f, "{} in {}{name}", self.max, seconds / unit)
    }
}

/// The last starts of a job with a [`StartRate`], as its record stores them: times in milliseconds
/// since 1970 UTC, ascending, each with the number of runs that began then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StartLog {
    pub(crate) starts: Vec<(i64, u32)>,
}

impl StartLog {
    /// Returns the starts that still count at `now_ms`: those within the period before it.
    ///
    /// A start after `horizon_ms` comes from a wrong clock. It would block the job until that time,
    /// so it does not count.
    pub(crate) fn counting(&self, rate: StartRate, now_ms: i64, horizon_ms: i64) -> Self {
        let after = now_ms.saturating_sub(rate.period_ms());
        let counts = |(at, _): &&(i64, u32)| *at > after && *at <= horizon_ms;
        Self { starts: self.starts.iter().filter(counts).copied().collect() }
    }

    /// Returns the number of starts.
    pub(crate) fn total(&self) -> u32 {
        self.starts.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns the time at which the next run may begin, if the rate is reached by these starts.
    pub(crate) fn free_at(&self, rate: StartRate) -> Option<i64> {
        let mut left = self.total();
        if left < rate.max {
            return None;
        }
        let expired = self.starts.iter().find(|(_, count)| {
            left = left.saturating_sub(*count);
            left < rate.max
        });
        expired.map(|(at, _)| at.saturating_add(rate.period_ms()))
    }

    /// Returns the log after `count` more starts at `now_ms`, without the expired ones. Behind a
    /// faster clock whose starts count, the later time counts for the new ones, too.
    ///
    /// Starts after `horizon_ms` stay: if the clock of this instance is slow, they are true, and
    /// other instances count them. As many times as the rate has starts are kept of them, the
    /// nearest ones, so that clocks that differ much cannot make the record grow.
    pub(crate) fn with(&self, count: u32, rate: StartRate, now_ms: i64, horizon_ms: i64) -> Self {
        let mut next = self.counting(rate, now_ms, horizon_ms);
        match next.starts.last_mut() {
            Some((at, known)) if *at >= now_ms => *known = known.saturating_add(count),
            Some(_) | None => next.starts.push((now_ms, count)),
        }
        let ahead = self.starts.iter().filter(|(at, _)| *at > horizon_ms).copied();
        next.starts.extend(ahead.take(rate.max as usize));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: StartRate = StartRate { max: 3, period_seconds: 10 };

    fn log(starts: &[(i64, u32)]) -> StartLog {
        StartLog { starts: starts.to_vec() }
    }

    #[test]
    fn text_is_read_as_it_is_written() {
        for (max, period_seconds) in [(1, 1), (10, 60), (3, 3_600), (1_000, 86_400), (7, 90)] {
            let rate = StartRate { max, period_seconds };
            assert_eq!(StartRate::parse(&rate.to_string()), Some(rate), "{rate}");
        }
        for text in ["", "10", "10 in", "10 in 1", "in 1m", "-1 in 1m", "1 in 1d", "1 in +1m"] {
            assert_eq!(StartRate::parse(text), None, "{text}");
        }
        for (max, period_seconds) in [(0, 1), (1_001, 1), (1, 0), (1, 86_401)] {
            assert!(!StartRate { max, period_seconds }.is_valid(), "{max} in {period_seconds}");
        }
    }

    #[test]
    fn starts_count_for_one_period() {
        type Starts = &'static [(i64, u32)];
        let rows: [(Starts, i64, u32, Option<i64>); 6] = [
            (&[], 20_000, 0, None),
            (&[(11_000, 2)], 20_000, 2, None),
            (&[(11_000, 2), (12_000, 1)], 20_000, 3, Some(21_000)),
            (&[(11_000, 2), (12_000, 1)], 21_000, 1, None),
            // After the rate was lowered, more starts have to expire.
            (&[(11_000, 2), (12_000, 2), (13_000, 2)], 20_000, 6, Some(22_000)),
            (&[(11_000, 1), (80_001, 3)], 20_000, 1, None),
        ];
        for (starts, now, total, free_at) in rows {
            let counting = log(starts).counting(RATE, now, now + 60_000);
            assert_eq!((counting.total(), counting.free_at(RATE)), (total, free_at), "{starts:?}");
        }
    }

    #[test]
    fn more_starts_replace_the_expired_ones() {
        type Starts = &'static [(i64, u32)];
        const AHEAD: i64 = 80_001;
        let rows: [(&str, Starts, Starts); 5] = [
            ("the first start", &[], &[(20_000, 2)]),
            ("one start has expired", &[(10_000, 1), (11_000, 1)], &[(11_000, 1), (20_000, 2)]),
            ("a faster clock", &[(11_000, 1), (21_000, 1)], &[(11_000, 1), (21_000, 3)]),
            (
                "a far faster clock",
                &[(11_000, 1), (AHEAD, 1)],
                &[(11_000, 1), (20_000, 2), (AHEAD, 1)],
            ),
            (
                "more times ahead than the rate has starts",
                &[(AHEAD, 1), (AHEAD + 1, 2), (AHEAD + 2, 1), (AHEAD + 3, 1)],
                &[(20_000, 2), (AHEAD, 1), (AHEAD + 1, 2), (AHEAD + 2, 1)],
            ),
        ];
        for (case, before, after) in rows {
            assert_eq!(log(before).with(2, RATE, 20_000, 80_000), log(after), "{case}");
        }
    }
}
