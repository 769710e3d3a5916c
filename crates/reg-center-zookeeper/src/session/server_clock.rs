//! The ensemble's clock, from the replies to writes.

use std::time::{Instant, SystemTime};

use parking_lot::Mutex;
use reg_center::ClockReading;

/// The time of the reply to the write that was sent last.
#[derive(Debug, Default)]
pub(crate) struct ServerClock(Mutex<Option<Noted>>);

#[derive(Clone, Copy, Debug)]
struct Noted {
    time: SystemTime,
    sent: Instant,
    received: Instant,
}

impl ServerClock {
    /// Notes the time in the reply to a write. The reply to an earlier one than the last changes nothing.
    pub(crate) fn note(&self, time: SystemTime, sent: Instant, received: Instant) {
        let mut noted = self.0.lock();
        if noted.is_none_or(|noted| noted.sent <= sent) {
            *noted = Some(Noted { time, sent, received });
        }
    }

    /// Returns what is known at `now`.
    pub(crate) fn reading(&self, now: Instant) -> Option<ClockReading> {
        let noted = (*self.0.lock())?;
        Some(ClockReading {
            time: noted.time,
            since_sent: now.saturating_duration_since(noted.sent),
            since_received: now.saturating_duration_since(noted.received),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_reply_to_the_last_write_counts_whatever_comes_late() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let second = |n| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
        let clock = ServerClock::default();
        assert_eq!(clock.reading(at(0)), None);
        clock.note(second(20), at(10), at(12));
        clock.note(second(10), at(0), at(30));
        let expected = ClockReading {
            time: second(20),
            since_sent: Duration::from_millis(90),
            since_received: Duration::from_millis(88),
        };
        assert_eq!(clock.reading(at(100)), Some(expected));
    }
}
