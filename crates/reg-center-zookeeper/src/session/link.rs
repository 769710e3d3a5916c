//! State of the connection, as the calls of a center see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Error, Lease, Result, SessionChange, SessionHub, SessionId};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use zookeeper_client as zk;

use super::prepare::Renewal;
use super::server_clock::ServerClock;
use crate::convert;
use crate::options::ZookeeperOptions;

/// Maximum number of concurrent requests. The client's own queue has no limit. More requests gain
/// nothing: measured with ZooKeeper 3.8.0, 128 are as fast as 1024.
const MAX_REQUESTS: usize = 128;
/// Time for which an answer may still arrive after the connection is reported as lost.
const GRACE: Duration = Duration::from_millis(100);

/// A client and its session. Clones share both. The session lives as long as the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Conn {
    pub(crate) client: zk::Client,
    pub(crate) session: SessionId,
    pub(crate) renewal: Renewal,
}

impl Conn {
    pub(crate) fn new(client: zk::Client, renewal: Renewal) -> Self {
        let session = convert::session_id(client.session_id());
        Self { client, session, renewal }
    }
}

/// State of the connection.
#[derive(Clone, Debug)]
enum Link {
    Up(Conn),
    Suspended(zk::SessionInfo),
    Lost,
    Closed,
}

/// State shared by a center, its supervisor and its feeds.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ZookeeperOptions,
    pub(crate) hub: SessionHub,
    pub(crate) lease: Lease,
    pub(crate) server_clock: ServerClock,
    pub(crate) permits: Semaphore,
    pub(crate) runtime: Handle,
    link: watch::Sender<Link>,
}

impl Shared {
    pub(crate) fn new(options: ZookeeperOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            hub: SessionHub::new(),
            lease: Lease::default(),
            server_clock: ServerClock::default(),
            permits: Semaphore::new(MAX_REQUESTS),
            runtime: Handle::current(),
            link: watch::Sender::new(Link::Lost),
        })
    }

    /// Returns the client for a request that is sent now.
    ///
    /// A client without a connection would queue the request and execute it later, which the caller
    /// could not distinguish from a request that is never executed. The state of the client is
    /// checked as well, because it is newer than the state of the link.
    pub(crate) fn conn(&self, call: &'static str) -> Result<Conn> {
        match &*self.link.borrow() {
            Link::Up(conn) if conn.client.state() == zk::SessionState::SyncConnected => {
                Ok(conn.clone())
            }
            Link::Closed => Err(Error::Closed),
            Link::Up(_) | Link::Suspended(_) | Link::Lost => Err(Error::Unavailable { call }),
        }
    }

    /// Returns the client for a request that must run in this session or not at all.
    pub(crate) fn conn_in(&self, session: SessionId, call: &'static str) -> Result<Conn> {
        let current = match &*self.link.borrow() {
            Link::Up(conn) => Some(conn.session),
            Link::Suspended(session) => Some(convert::session_id(session.id())),
            Link::Lost => None,
            Link::Closed => return Err(Error::Closed),
        };
        if current != Some(session) {
            return Err(Error::SessionLost { session });
        }
        self.conn(call)
    }

    /// Returns the error for a call that was not executed.
    pub(crate) fn not_executed_error(&self, call: &'static str) -> Error {
        if self.is_closed() { Error::Closed } else { Error::Unavailable { call } }
    }

    /// Returns the data for resuming the session, if there is one.
    pub(crate) fn session_info(&self) -> Option<zk::SessionInfo> {
        match &*self.link.borrow() {
            Link::Up(conn) => Some(conn.client.session().clone()),
            Link::Suspended(session) => Some(session.clone()),
            Link::Lost | Link::Closed => None,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.link.borrow(), Link::Closed)
    }

    pub(crate) fn is_up(&self, session: SessionId) -> bool {
        is_up(&self.link.borrow(), session)
    }

    /// Waits until there is no connection in this session.
    pub(crate) async fn down(&self, session: SessionId) {
        let mut link = self.link.subscribe();
        // The sender lives as long as this borrow, so the wait cannot fail.
        let _ = link.wait_for(|link| !is_up(link, session)).await;
    }

    /// Waits until this session has no connection and no answer can arrive any more.
    pub(crate) async fn answer_overdue(&self, session: SessionId) {
        loop {
            self.down(session).await;
            tokio::time::sleep(GRACE).await;
            if !self.is_up(session) {
                return;
            }
        }
    }

    /// Waits for a connection; `None` after the center was closed.
    pub(crate) async fn up(&self) -> Option<Conn> {
        let mut link = self.link.subscribe();
        let found = link.wait_for(|link| matches!(link, Link::Up(_) | Link::Closed)).await.ok()?;
        match &*found {
            Link::Up(conn) => Some(conn.clone()),
            Link::Suspended(_) | Link::Lost | Link::Closed => None,
        }
    }

    /// Starts the lease of a session whose first request was sent at `sent`.
    pub(crate) fn session_opened(&self, conn: &Conn, sent: Instant) {
        self.lease.begin(conn.session, sent, conn.client.session_timeout());
    }

    /// Extends the lease after the leader answered a request sent at `sent`.
    pub(crate) fn acknowledged(&self, conn: &Conn, sent: Instant) {
        self.lease.extend(conn.session, sent, conn.client.session_timeout());
    }

    /// Reports a connection, for the first time or again.
    ///
    /// If the connection was lost and restored unnoticed, this reports the loss first, because its
    /// watches are gone.
    pub(crate) fn connected(&self, conn: &Conn) {
        let session = conn.session;
        if self.is_up(session) {
            self.hub.publish(SessionChange::Suspended { session });
        }
        self.link.send_replace(Link::Up(conn.clone()));
        let timeout = conn.client.session_timeout();
        tracing::info!(%session, timeout_ms = timeout.as_millis(), "connected");
        self.hub.publish(SessionChange::Connected { session, timeout });
    }

    /// Reports that the connection is lost. The session may live on.
    pub(crate) fn suspended(&self, conn: &Conn) {
        let session = conn.session;
        if self.is_up(session) {
            self.link.send_replace(Link::Suspended(conn.client.session().clone()));
            tracing::warn!(%session, "connection lost");
            self.hub.publish(SessionChange::Suspended { session });
        }
    }

    /// Reports that the session is over, or must be treated as over.
    pub(crate) fn lost(&self, session: SessionId) {
        self.lease.end();
        self.link.send_replace(Link::Lost);
        tracing::warn!(%session, "session lost");
        self.hub.publish(SessionChange::Lost { session });
    }

    /// Makes all calls fail with `Closed`. The subscribers of session changes are notified later.
    pub(crate) fn closing(&self) {
        self.lease.end();
        self.link.send_replace(Link::Closed);
    }
}

fn is_up(link: &Link, session: SessionId) -> bool {
    matches!(link, Link::Up(conn) if conn.session == session)
}
