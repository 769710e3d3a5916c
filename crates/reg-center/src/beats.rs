//! Sessions that prove their life by a counter, for backends whose server keeps no sessions.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::SessionId;

/// The counter of a session as it was read. The session's center raises it again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The session.
    pub session: SessionId,
    /// The counter. Only its changes have a meaning.
    pub count: u64,
    /// Time without a change after which the session is over.
    pub timeout: Duration,
}

/// The counters of sessions, as an observer has seen them.
///
/// The observer measures by its own monotonic clock how long a counter has not changed, so no wall
/// clock decides if a session lives. It ends a session in a transaction that checks the counter
/// again. A session is over at the earliest one timeout after its center sent the last beat, which
/// is after the end of its [`Lease`](crate::Lease).
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
///
/// use reg_center::{Beat, Beats, SessionId};
///
/// let beat = |count| Beat { session: SessionId(1), count, timeout: Duration::from_secs(10) };
/// let mut beats = Beats::default();
/// let start = Instant::now();
/// let at = |seconds| start + Duration::from_secs(seconds);
/// assert!(beats.observe(at(0), at(0), [beat(1)]).is_empty());
/// assert!(beats.observe(at(9), at(9), [beat(2)]).is_empty());
/// assert!(beats.observe(at(18), at(18), [beat(2)]).is_empty());
/// assert_eq!(beats.observe(at(19), at(19), [beat(2)]), [beat(2)]);
/// ```
#[derive(Debug, Default)]
pub struct Beats {
    seen: BTreeMap<SessionId, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    count: u64,
    /// Time after the read that was the first to return this counter.
    since: Instant,
}

impl Beats {
    /// Records the counters of all sessions, which were read between `started` and `finished`.
    /// Returns those of the sessions that are over.
    pub fn observe(
        &mut self,
        started: Instant,
        finished: Instant,
        beats: impl IntoIterator<Item = Beat>,
    ) -> Vec<Beat> {
        let before = std::mem::take(&mut self.seen);
        let mut over = Vec::new();
        for beat in beats {
            let unchanged = before.get(&beat.session).filter(|seen| seen.count == beat.count);
            let seen = *unchanged.unwrap_or(&Seen { count: beat.count, since: finished });
            // The counter has not changed between the end of the first read and the start of this
            // one.
            if started.saturating_duration_since(seen.since) >= beat.timeout {
                over.push(beat);
            }
            self.seen.insert(beat.session, seen);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs some instant")]
    fn a_session_is_over_when_its_counter_stood_still_for_the_timeout() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let beat = |session, count| Beat {
            session: SessionId(session),
            count,
            timeout: Duration::from_millis(100),
        };
        let mut beats = Beats::default();
        let mut observe = |from, to, list: &[Beat]| beats.observe(at(from), at(to), list.to_vec());
        let none: [Beat; 0] = [];
        assert_eq!(observe(0, 10, &[beat(1, 7), beat(2, 7)]), none, "the first observation");
        assert_eq!(observe(105, 115, &[beat(1, 7), beat(2, 8)]), none, "less than the timeout");
        assert_eq!(observe(110, 120, &[beat(1, 7), beat(2, 8)]), [beat(1, 7)], "one stood still");
        assert_eq!(observe(214, 230, &[beat(1, 6), beat(2, 8)]), none, "any change counts");
        assert_eq!(observe(215, 230, &[beat(2, 8)]), [beat(2, 8)]);
        assert_eq!(observe(500, 500, &[beat(1, 6)]), none, "the row was gone in between");
    }
}
