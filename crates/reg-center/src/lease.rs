//! Bound on the time for which a session is sure to live.

use std::time::{Duration, Instant};

use crate::SessionId;
use crate::sync::Mutex;

/// The lease of a center's current session, for backends: answers
/// [`lease_remaining`](crate::RegistryCenter::lease_remaining).
///
/// It counts from the *sending* of the last acknowledged request that keeps the session alive, and
/// ends after two thirds of the timeout. The last third is a margin, because clocks run at
/// different rates and the registry may learn of the request later. A ZooKeeper follower, for
/// example, reports its live sessions to the leader only every half tick.
#[derive(Debug, Default)]
pub struct Lease {
    term: Mutex<Option<Term>>,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    session: SessionId,
    until: Instant,
}

impl Lease {
    /// Starts the lease of a new session, whose first request was sent at `sent` and acknowledged.
    pub fn begin(&self, session: SessionId, sent: Instant, timeout: Duration) {
        *self.term.lock() = Some(Term { session, until: end(sent, timeout) });
    }

    /// Extends the lease after a request sent at `sent` was acknowledged in `session`. A late
    /// answer has no effect: one of a former session, or one to an earlier request.
    pub fn extend(&self, session: SessionId, sent: Instant, timeout: Duration) {
        if let Some(term) = self.term.lock().as_mut().filter(|term| term.session == session) {
            term.until = term.until.max(end(sent, timeout));
        }
    }

    /// Ends the lease: the session may be over.
    pub fn end(&self) {
        *self.term.lock() = None;
    }

    /// Returns the rest of the lease at `now`, never zero; `None` if it has ended, or for another
    /// session.
    #[must_use]
    pub fn remaining(&self, session: SessionId, now: Instant) -> Option<Duration> {
        let term = (*self.term.lock()).filter(|term| term.session == session)?;
        term.until.checked_duration_since(now).filter(|left| !left.is_zero())
    }
}

fn end(sent: Instant, timeout: Duration) -> Instant {
    sent + timeout * 2 / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs some instant")]
    fn the_lease_counts_from_sending_and_keeps_a_third_as_margin() {
        let (lease, session, start) = (Lease::default(), SessionId(1), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let timeout = Duration::from_millis(900);
        assert_eq!(lease.remaining(session, start), None, "no request was acknowledged");
        lease.begin(session, at(0), timeout);
        lease.extend(session, at(100), timeout);
        lease.extend(SessionId(2), at(200), timeout);
        lease.extend(session, at(50), timeout);
        let rows = [
            ("at the sending", session, 100, Some(600)),
            ("later", session, 400, Some(300)),
            ("at the end", session, 700, None),
            ("after it", session, 800, None),
            ("another session", SessionId(2), 100, None),
        ];
        for (case, session, now, left) in rows {
            let left = left.map(Duration::from_millis);
            assert_eq!(lease.remaining(session, at(now)), left, "{case}");
        }
        lease.end();
        lease.extend(session, at(200), timeout);
        assert_eq!(lease.remaining(session, at(200)), None, "an answer after the end");
    }
}
