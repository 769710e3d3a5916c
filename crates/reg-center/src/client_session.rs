//! The session of one center, for backends whose client keeps it.

use std::time::{Duration, Instant};

use crate::sync::Mutex;
use crate::{Error, Lease, Result, SessionChange, SessionFeed, SessionHub, SessionId, Txn};

/// The session of one center: its state, its lease, and the number of its connection. It publishes
/// each session change once, in the order of the contract.
///
/// A new *connection* begins whenever the session was suspended or lost. Requests carry the number
/// of their connection, so that the registry can refuse those that arrive late: the first request
/// of a connection stores its number, and commits of earlier connections are no longer executed.
///
/// # Examples
/// ```
/// use std::time::{Duration, Instant};
///
/// use reg_center::{ClientSession, SessionConnection, SessionId, Txn};
///
/// let session = ClientSession::default();
/// let (id, timeout, now) = (SessionId(1), Duration::from_secs(9), Instant::now());
/// let first = SessionConnection { session: id, connection: 0 };
/// assert!(session.acknowledge(first, now, timeout), "the registry has opened the session");
/// assert_eq!(session.admit(&Txn::new())?, first);
/// assert_eq!(session.lease_remaining(id, now), Some(Duration::from_secs(6)));
///
/// assert!(session.suspend(0), "a request of connection 0 got no reply");
/// assert!(session.admit(&Txn::new()).is_err());
/// let second = SessionConnection { session: id, connection: 1 };
/// assert!(session.acknowledge(second, now, timeout));
/// assert_eq!(session.admit(&Txn::new())?, second);
/// assert!(!session.suspend(0), "another request of connection 0 says nothing new");
/// # Ok::<(), reg_center::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ClientSession {
    hub: SessionHub,
    lease: Lease,
    /// Locked during each change of the state.
    connection: Mutex<u64>,
}

/// The session and the connection in which a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConnection {
    /// The session.
    pub session: SessionId,
    /// The number of the connection.
    pub connection: u64,
}

impl ClientSession {
    /// Returns the last session change, or `None` before the first connection.
    #[must_use]
    pub fn current(&self) -> Option<SessionChange> {
        self.hub.current()
    }

    /// Subscribes to session changes; the current state comes first.
    #[must_use]
    pub fn subscribe(&self) -> SessionFeed {
        self.hub.subscribe()
    }

    /// Returns the session that is connected or suspended.
    #[must_use]
    pub fn id(&self) -> Option<SessionId> {
        match self.current() {
            Some(
                SessionChange::Connected { session, .. } | SessionChange::Suspended { session },
            ) => Some(session),
            Some(SessionChange::Lost { .. } | SessionChange::Closed) | None => None,
        }
    }

    /// Returns the session if it is connected.
    #[must_use]
    pub fn connected(&self) -> Option<SessionId> {
        match self.current() {
            Some(SessionChange::Connected { session, .. }) => Some(session),
            Some(
                SessionChange::Suspended { .. }
                | SessionChange::Lost { .. }
                | SessionChange::Closed,
            )
            | None => None,
        }
    }

    /// Returns the number of the connection, which begins at 0.
    #[must_use]
    pub fn connection(&self) -> u64 {
        *self.connection.lock()
    }

    /// Returns the rest of the lease at `now`, as [`Lease::remaining`].
    #[must_use]
    pub fn lease_remaining(&self, session: SessionId, now: Instant) -> Option<Duration> {
        self.lease.remaining(session, now)
    }

    /// Checks that a call without a transaction can be sent.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a connection, [`Error::Closed`] after the end of the center.
    pub fn check(&self, call: &'static str) -> Result<()> {
        match self.current() {
            Some(SessionChange::Connected { .. }) => Ok(()),
            Some(SessionChange::Closed) => Err(Error::Closed),
            Some(SessionChange::Suspended { .. } | SessionChange::Lost { .. }) | None => {
                Err(Error::Unavailable { call })
            }
        }
    }

    /// Returns the session and the connection in which a transaction is sent now.
    ///
    /// # Errors
    /// Those of [`Txn::session_in`].
    pub fn admit(&self, txn: &Txn) -> Result<SessionConnection> {
        let connection = self.connection.lock();
        let session = txn.session_in(self.current())?;
        Ok(SessionConnection { session, connection: *connection })
    }

    /// Records that the registry has acknowledged a request that keeps the session alive and was
    /// sent at `sent`. Begins the session if there is none, and ends a suspension.
    ///
    /// Returns false for an answer to a request of an earlier connection, which changes nothing but
    /// the lease, and for one in another session than the current one.
    pub fn acknowledge(&self, by: SessionConnection, sent: Instant, timeout: Duration) -> bool {
        let connection = self.connection.lock();
        let session = by.session;
        self.lease.extend(session, sent, timeout);
        let begins = match self.current() {
            Some(SessionChange::Connected { session: current, .. }) => {
                return current == session && by.connection == *connection;
            }
            Some(SessionChange::Suspended { session: current }) if current == session => false,
            Some(SessionChange::Lost { session: lost }) if lost != session => true,
            None => true,
            Some(_) => return false,
        };
        if by.connection != *connection {
            return false;
        }
        if begins {
            self.lease.begin(session, sent, timeout);
        }
        self.hub.publish(SessionChange::Connected { session, timeout });
        true
    }

    /// Suspends the session because a request of this connection failed. Returns false if the
    /// session was not connected, or by a later connection.
    ///
    /// The lease goes on: it ends by itself if the connection does not come back in time.
    pub fn suspend(&self, connection: u64) -> bool {
        let mut current = self.connection.lock();
        let Some(session) = self.connected() else { return false };
        if *current != connection {
            return false;
        }
        *current += 1;
        self.hub.publish(SessionChange::Suspended { session });
        true
    }

    /// Ends a session that the registry no longer knows. Returns false if it is not the current
    /// one.
    pub fn lose(&self, session: SessionId) -> bool {
        let mut connection = self.connection.lock();
        if self.id() != Some(session) {
            return false;
        }
        *connection += 1;
        self.lease.end();
        self.hub.publish(SessionChange::Lost { session });
        true
    }

    /// Closes the center for good. Returns the session that the registry has to end, if there is
    /// one.
    pub fn close(&self) -> Option<SessionId> {
        let mut connection = self.connection.lock();
        let session = self.id();
        *connection += 1;
        self.lease.end();
        self.hub.publish(SessionChange::Closed);
        session
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(3);

    fn connected(session: i64) -> SessionChange {
        SessionChange::Connected { session: SessionId(session), timeout: TIMEOUT }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test needs some instant")]
    fn each_change_is_published_once_and_late_answers_change_nothing() {
        let (client, now) = (ClientSession::default(), Instant::now());
        let (one, two) = (SessionId(1), SessionId(2));
        let mut changes = client.subscribe();
        let mut published =
            || std::iter::from_fn(|| changes.next().now_or_never().flatten()).collect::<Vec<_>>();
        let answer = |session, connection| {
            client.acknowledge(SessionConnection { session, connection }, now, TIMEOUT)
        };
        assert_eq!(client.check("read"), Err(Error::Unavailable { call: "read" }));
        assert!(!client.suspend(0), "there is no session yet");

        assert!(answer(one, 0) && answer(one, 0));
        assert_eq!(published(), [connected(1)]);
        assert_eq!((client.id(), client.check("read")), (Some(one), Ok(())));

        assert!(client.suspend(0) && !client.suspend(0));
        assert_eq!(published(), [SessionChange::Suspended { session: one }]);
        assert!(!answer(two, 1), "an answer in another session");
        assert!(!answer(one, 0), "an answer to a request of the first connection");
        assert_eq!(published(), []);
        assert!(answer(one, 1));
        assert_eq!(published(), [connected(1)]);
        assert!(!client.suspend(0), "a late failure of the first connection");
        assert!(!answer(one, 0), "a late answer of the first connection");
        assert_eq!(client.connection(), 1);

        assert!(!client.lose(two) && client.lose(one) && !client.lose(one));
        assert_eq!(published(), [SessionChange::Lost { session: one }]);
        assert_eq!(client.lease_remaining(one, now), None);
        assert!(!answer(one, 2), "a late answer in the lost session");
        assert!(!answer(two, 1), "a session that an earlier connection has opened");
        assert_eq!(published(), []);
        assert!(answer(two, 2));
        assert_eq!(published(), [connected(2)]);
        assert_eq!(client.lease_remaining(two, now), Some(TIMEOUT * 2 / 3));

        assert_eq!((client.close(), client.close()), (Some(two), None));
        assert!(!answer(two, 3));
        assert_eq!(published(), [SessionChange::Closed]);
        assert_eq!(client.lease_remaining(two, now), None);
        assert_eq!(client.check("read"), Err(Error::Closed));
    }
}
