//! The worker's clock, which a test may skew.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use lite::{Clock, SystemClock};

/// The clocks of the operating system, with the wall clock shifted by `ms` milliseconds. The
/// monotonic clock is never shifted.
#[derive(Debug)]
pub(super) struct SkewedClock {
    system: SystemClock,
    ms: AtomicI64,
}

impl SkewedClock {
    pub(super) fn new(ms: i64) -> Self {
        Self { system: SystemClock::default(), ms: AtomicI64::new(ms) }
    }

    /// Sets the shift of the wall clock, in milliseconds ahead of the machine's clock.
    pub(super) fn set(&self, ms: i64) {
        self.ms.store(ms, Ordering::Relaxed);
    }
}

impl Clock for SkewedClock {
    fn wall(&self) -> Timestamp {
        let ahead = SignedDuration::from_millis(self.ms.load(Ordering::Relaxed));
        let end = if ahead.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
        self.system.wall().checked_add(ahead).unwrap_or(end)
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic()
    }

    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.system.sleep_until(deadline)
    }

    fn alarm(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        self.system.alarm(deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_is_shifted_and_restored() {
        let clock = SkewedClock::new(3_600_000);
        let ahead = |clock: &SkewedClock| {
            (clock.wall().as_second() - SystemClock::default().wall().as_second() + 1) / 60
        };
        assert_eq!(ahead(&clock), 60);
        clock.set(-120_000);
        assert!((-2..=-1).contains(&ahead(&clock)), "{}", ahead(&clock));
        clock.set(0);
        assert_eq!(ahead(&clock), 0);
    }
}
