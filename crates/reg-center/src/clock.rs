//! The registry's clock, as the client knows it from replies.

use std::time::{Duration, SystemTime};

/// A time of the registry's clock that came with a reply, and the age of that reply.
///
/// A monotonic clock measures both ages, so that a jump of the wall clock changes neither.
///
/// # Examples
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use reg_center::ClockReading;
///
/// let second = |n| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
/// let reading = ClockReading {
///     time: second(100),
///     since_sent: Duration::from_secs(7),
///     since_received: Duration::from_secs(5),
/// };
/// assert_eq!(reading.nearest_to(second(90)), second(105));
/// assert_eq!(reading.nearest_to(second(106)), second(106), "the clocks may agree");
/// assert_eq!(reading.nearest_to(second(200)), second(107));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The registry's time when it executed the request.
    pub time: SystemTime,
    /// Time since the request was sent.
    pub since_sent: Duration,
    /// Time since the reply was received, at most `since_sent`.
    pub since_received: Duration,
}

impl ClockReading {
    /// Returns the time closest to `wall` that the registry's clock can show now.
    ///
    /// The registry executed the request between its sending and the reply, so the present time is
    /// known up to the round trip. If the result differs from `wall`, the two clocks are sure to
    /// differ.
    #[must_use]
    pub fn nearest_to(&self, wall: SystemTime) -> SystemTime {
        let after = |age| self.time.checked_add(age).unwrap_or(self.time);
        let (earliest, latest) = (after(self.since_received), after(self.since_sent));
        wall.clamp(earliest, latest.max(earliest))
    }
}
