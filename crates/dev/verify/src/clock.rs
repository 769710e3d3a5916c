//! Clocks of a run: one monotonic clock for all processes of the machine, and a wall clock for each
//! process.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a millisecond.
const NS_PER_MS: i64 = 1_000_000;

/// Returns nanoseconds on the machine's monotonic clock, which all processes share.
///
/// The call bypasses the C library, so that a preloaded library that fakes the time does not affect
/// it.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Returns milliseconds since 1970 UTC by the wall clock of this process, which may be faked.
#[must_use]
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Difference between the machine's wall clock and its monotonic clock.
///
/// The registry's log has wall clock times, everything else monotonic ones. The difference is
/// measured at the beginning and at the end of a run, because the wall clock may be set in between.
/// Times between the two are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallOffset {
    at_ms: i64,
    ahead_ns: i64,
}

impl WallOffset {
    /// Measures the difference now.
    #[must_use]
    pub fn measure() -> Self {
        let monotonic = i64::try_from(monotonic_ns()).unwrap_or(i64::MAX);
        let at_ms = wall_ms();
        Self { at_ms, ahead_ns: at_ms.saturating_mul(NS_PER_MS).saturating_sub(monotonic) }
    }

    /// Converts a wall clock time to monotonic time, by this measurement and a later one.
    #[must_use]
    pub fn monotonic_of(self, later: Self, wall_ms: i64) -> u64 {
        let drift = i128::from(later.ahead_ns - self.ahead_ns);
        let span = i128::from(later.at_ms - self.at_ms).max(1);
        let passed = i128::from(wall_ms - self.at_ms).clamp(0, span);
        let ahead = i128::from(self.ahead_ns) + drift * passed / span;
        let monotonic = i128::from(wall_ms) * i128::from(NS_PER_MS) - ahead;
        u64::try_from(monotonic).unwrap_or(0)
    }

    /// Returns the difference between two measurements in nanoseconds: the amount by which the wall
    /// clock was set.
    #[must_use]
    pub fn drift_ns(self, later: Self) -> u64 {
        self.ahead_ns.abs_diff(later.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_clock_never_goes_back() {
        let (first, second) = (monotonic_ns(), monotonic_ns());
        assert!(first > 0 && first <= second, "{first} {second}");
    }

    #[test]
    fn wall_time_is_interpolated_between_two_measurements() {
        let start = WallOffset { at_ms: 1_000, ahead_ns: 900 * NS_PER_MS };
        let steady = WallOffset { at_ms: 3_000, ..start };
        let set_forward = WallOffset { at_ms: 3_000, ahead_ns: 910 * NS_PER_MS };
        let rows = [
            ("no drift", steady, 2_000, 1_100),
            ("half of the drift", set_forward, 2_000, 1_095),
            ("before the first", set_forward, 950, 50),
            ("after the last", set_forward, 3_100, 2_190),
            ("before the start of the machine", steady, 0, 0),
        ];
        for (case, later, wall, expected_ms) in rows {
            let found = start.monotonic_of(later, wall);
            assert_eq!(found, expected_ms * NS_PER_MS.unsigned_abs(), "{case}");
        }
    }
}
