//! The ensemble's clock, from the replies to writes.

use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use reg_center::ClockReading;

/// The time in the reply to the latest write.
#[derive(Debug, Default)]
pub(crate) struct ServerClock(Mutex<Option<Reply>>);

#[derive(Clone, Copy, Debug)]
struct Reply {
    time: SystemTime,
    sent: Instant,
    received: Instant,
}

impl ServerClock {
    /// Records the time in the reply to a write. A late reply to an earlier write has no effect.
    pub(crate) fn record(&self, time: SystemTime, sent: Instant, received: Instant) {
        let mut last = self.0.lock();
        if last.is_none_or(|last| last.sent <= sent) {
            *last = Some(Reply { time, sent, received });
        }
    }

    /// Returns the last time with its ages at `now`.
    pub(crate) fn reading(&self, now: Instant) -> Option<ClockReading> {
        let last = (*self.0.lock())?;
        Some(ClockReading {
            time: last.time,
            since_sent: now.saturating_duration_since(last.sent),
            since_received: now.saturating_duration_since(last.received),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_late_reply_to_an_earlier_write_is_ignored() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let second = |n| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        let clock = ServerClock::default();
        assert_eq!(clock.reading(at(0)), None);
        clock.record(second(20), at(10), at(12));
        clock.record(second(10), at(0), at(30));
        let expected = ClockReading {
            time: second(20),
            since_sent: Duration::from_millis(90),
            since_received: Duration::from_millis(88),
        };
        assert_eq!(clock.reading(at(100)), Some(expected));
    }
}
