//! What the calls of a centre know about its connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Error, Result, SessionChange, SessionHub, SessionId};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use zookeeper_client as zk;

use super::equip::Renewal;
use super::lease::Lease;
use super::server_clock::ServerClock;
use crate::convert;
use crate::options::ZookeeperOptions;

/// Requests that may be under way at the same time. The client's own queue has no limit, and more than this gains
/// nothing: measured with ZooKeeper 3.8.0, 128 are as fast as 1024.
const MAX_REQUESTS: usize = 128;
/// An answer can be a moment later than the news that the connection is gone.
const GRACE: Duration = Duration::from_millis(100);

/// A client and its session. Clones share both, and the session lives as long as the last of them.
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

/// The connection as the calls see it.
#[derive(Clone, Debug)]
enum Link {
    Up(Conn),
    Suspended(zk::SessionInfo),
    Lost,
    Closed,
}

/// What a centre, its supervisor and its feeds share.
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

    /// Returns the client to send something with now.
    ///
    /// A request to a client without a connection would wait in its queue and be executed later, which nobody could
    /// tell from not at all; so its own opinion counts, too, which is newer than ours.
    pub(crate) fn conn(&self, act: &'static str) -> Result<Conn> {
        match &*self.link.borrow() {
            Link::Up(conn) if conn.client.state() == zk::SessionState::SyncConnected => {
                Ok(conn.clone())
            }
            Link::Closed => Err(Error::Closed),
            Link::Up(_) | Link::Suspended(_) | Link::Lost => Err(Error::Unavailable { act }),
        }
    }

    /// Returns the client to send something with that must run in this session or not at all.
    pub(crate) fn conn_in(&self, session: SessionId, act: &'static str) -> Result<Conn> {
        let present = match &*self.link.borrow() {
            Link::Up(conn) => Some(conn.session),
            Link::Suspended(session) => Some(convert::session_id(session.id())),
            Link::Lost => None,
            Link::Closed => return Err(Error::Closed),
        };
        match present == Some(session) {
            true => self.conn(act),
            false => Err(Error::SessionLost { session }),
        }
    }

    /// Returns what to tell about something that was certainly not executed.
    pub(crate) fn absent(&self, act: &'static str) -> Error {
        match self.is_closed() {
            true => Error::Closed,
            false => Error::Unavailable { act },
        }
    }

    /// Returns what it takes to resume the session, if there is one.
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
        // The sender is ours and lives as long as this borrow.
        let _ = link.wait_for(|link| !is_up(link, session)).await;
    }

    /// Waits until there is no connection in this session and no answer can be expected.
    pub(crate) async fn silent(&self, session: SessionId) {
        loop {
            self.down(session).await;
            tokio::time::sleep(GRACE).await;
            if !self.is_up(session) {
                return;
            }
        }
    }

    /// Waits for a connection; `None` after the centre was closed.
    pub(crate) async fn up(&self) -> Option<Conn> {
        let mut link = self.link.subscribe();
        let found = link.wait_for(|link| matches!(link, Link::Up(_) | Link::Closed)).await.ok()?;
        match &*found {
            Link::Up(conn) => Some(conn.clone()),
            Link::Suspended(_) | Link::Lost | Link::Closed => None,
        }
    }

    /// Notes that a session was opened with what was sent at `sent`.
    pub(crate) fn begun(&self, conn: &Conn, sent: Instant) {
        self.lease.begin(conn.session, sent, conn.client.session_timeout());
    }

    /// Notes that the leader answered what was sent at `sent`.
    pub(crate) fn acknowledged(&self, conn: &Conn, sent: Instant) {
        self.lease.extend(conn.session, sent, conn.client.session_timeout());
    }

    /// The connection is there, for the first time or again. One that was gone and came back unnoticed is told as
    /// such, because what belonged to it is gone.
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

    /// The connection is gone, the session perhaps not.
    pub(crate) fn suspended(&self, conn: &Conn) {
        let session = conn.session;
        if self.is_up(session) {
            self.link.send_replace(Link::Suspended(conn.client.session().clone()));
            tracing::warn!(%session, "connection lost");
            self.hub.publish(SessionChange::Suspended { session });
        }
    }

    /// The session is over, or must be taken as over.
    pub(crate) fn lost(&self, session: SessionId) {
        self.lease.end();
        self.link.send_replace(Link::Lost);
        tracing::warn!(%session, "session lost");
        self.hub.publish(SessionChange::Lost { session });
    }

    /// No call is answered any more; this is not yet told to the subscribers of session changes.
    pub(crate) fn closing(&self) {
        self.lease.end();
        self.link.send_replace(Link::Closed);
    }
}

fn is_up(link: &Link, session: SessionId) -> bool {
    matches!(link, Link::Up(conn) if conn.session == session)
}
