//! One session of the in-memory registry: the trait [`RegistryCenter`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use parking_lot::Mutex;

use super::WriteFault;
use super::server::{Link, Server, Subscription};
use crate::{
    Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope, SessionChange, SessionFeed,
    SessionHub, SessionId, Txn, TxnOutcome, feed,
};

/// One session on a [`MemoryRegistry`](super::MemoryRegistry).
///
/// Dropping it closes the session at once, whereas a real registry would wait for the session
/// timeout.
///
/// # Faults
/// These methods inject faults: [`suspend`](Self::suspend), [`resume`](Self::resume),
/// [`expire`](Self::expire), [`expire_unnoticed`](Self::expire_unnoticed),
/// [`fail_next_write`](Self::fail_next_write), [`hold_feeds`](Self::hold_feeds) and
/// [`release_feeds`](Self::release_feeds).
pub struct MemoryCenter {
    pub(super) server: Arc<Mutex<Server>>,
    pub(super) id: u64,
    pub(super) hub: Arc<SessionHub>,
}

impl MemoryCenter {
    fn end(&self) {
        let mut server = self.server.lock();
        let Ok(client) = server.client(self.id) else { return };
        if client.link == Link::Closed {
            return;
        }
        client.link = Link::Closed;
        client.feeds.clear();
        let session = client.session;
        server.end_session(session);
        self.hub.publish(SessionChange::Closed);
    }
}

impl Drop for MemoryCenter {
    fn drop(&mut self) {
        self.end();
        self.server.lock().clients.remove(&self.id);
    }
}

impl fmt::Debug for MemoryCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryCenter").field("session", &self.hub.current()).finish_non_exhaustive()
    }
}

#[async_trait]
impl RegistryCenter for MemoryCenter {
    fn limits(&self) -> Limits {
        // The limits of ZooKeeper with its default settings, so that a program tested in memory
        // does not exceed them in production.
        Limits { max_ops: 5_000, max_bytes: 700_000 }
    }

    fn session(&self) -> Option<SessionChange> {
        self.hub.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.hub.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        let mut server = self.server.lock();
        let client = server.client(self.id).ok().filter(|client| client.session == session)?;
        match client.link {
            Link::Up => Some(Duration::MAX),
            Link::Down { lease } => Some(lease),
            Link::Closed => None,
        }
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        let mut server = self.server.lock();
        server.connected_session(self.id, "read")?;
        Ok(server.model.read(path).cloned())
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let mut server = self.server.lock();
        server.connected_session(self.id, "list children")?;
        Ok(server.model.children(path))
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.limits().admit(&txn)?;
        let mut server = self.server.lock();
        let session = server.connected_session(self.id, "commit")?;
        if let Some(bound) = txn.session()
            && bound != session
        {
            return Err(Error::SessionLost { session: bound });
        }
        // The text must not reveal the fault: a caller cannot distinguish the two.
        let unknown = |cause: &str| Error::Unknown { call: "commit", cause: cause.to_owned() };
        let fault = server.client(self.id)?.fault.take();
        if fault == Some(WriteFault::LoseRequest) {
            return Err(unknown("injected: the request was lost or its reply was"));
        }
        let (outcome, changes) = server.model.commit(session, txn.ops())?;
        server.publish(&changes);
        match fault {
            Some(_) => Err(unknown("injected: the request was lost or its reply was")),
            None => Ok(outcome),
        }
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.watch_parts(&Scope::all_of(root.clone()))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        let (sender, feed) = feed::channel();
        let mut server = self.server.lock();
        let Server { model, clients, .. } = &mut *server;
        let Some(client) = clients.get_mut(&self.id) else { return feed };
        if client.link == Link::Closed {
            return feed;
        }
        let mut subscription = Subscription::new(sender);
        if client.link == Link::Up {
            subscription.deliver(&model.snapshot(scope), client.feeds_held);
        }
        client.feeds.add(scope.clone(), subscription);
        feed
    }

    async fn sync(&self) -> Result<()> {
        self.server.lock().connected_session(self.id, "sync").map(|_| ())
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        self.server.lock().connected_session(self.id, "ask for the time").map(|_| None)
    }

    async fn close(&self) -> Result<()> {
        self.end();
        Ok(())
    }
}
