//! The in-memory registry: the [`Model`] behind the trait, with several sessions in one process and
//! fault injection.
//!
//! It stores nothing beyond the process. It has no clock, so a test decides when a session expires:
//! a session ends only when its center is closed or dropped, or by a fault.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::feed::{self, FeedSender};
use crate::model::Model;
use crate::{
    Change, Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope, SessionChange,
    SessionFeed, SessionHub, SessionId, Txn, TxnOutcome,
};

/// Timeout that a memory session reports. Nothing expires by time; see the [module](self).
const NOMINAL_TIMEOUT: Duration = Duration::from_secs(10);

/// An in-memory registry. Clones are handles to the same registry.
#[derive(Clone, Default)]
pub struct MemoryRegistry {
    server: Arc<Mutex<Server>>,
}

#[derive(Default)]
struct Server {
    model: Model,
    next_client: u64,
    clients: BTreeMap<u64, Client>,
}

/// Server-side state of one center.
struct Client {
    session: SessionId,
    hub: Arc<SessionHub>,
    link: Link,
    /// Keyed by root: a center may have a thousand feeds, and a change must visit only those that
    /// contain it.
    feeds: BTreeMap<NodePath, Vec<Subscription>>,
    feeds_held: bool,
    fault: Option<WriteFault>,
}

/// The connection between a center and the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up,
    Down { lease: Duration },
    Closed,
}

/// Fault of the next write of a center.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFault {
    /// The registry executes the write and the reply is lost.
    LoseReply,
    /// The request is lost. The caller cannot distinguish this from a lost reply.
    LoseRequest,
}

struct Subscription {
    scope: Scope,
    sender: FeedSender,
    held: Vec<Change>,
}

impl MemoryRegistry {
    /// Returns an empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a session, as another process would.
    #[must_use]
    pub fn connect(&self) -> MemoryCenter {
        let mut server = self.server.lock();
        let session = server.model.open_session();
        let hub = Arc::new(SessionHub::new());
        hub.publish(SessionChange::Connected { session, timeout: NOMINAL_TIMEOUT });
        let id = server.next_client;
        server.next_client += 1;
        let client = Client {
            session,
            hub: Arc::clone(&hub),
            link: Link::Up,
            feeds: BTreeMap::new(),
            feeds_held: false,
            fault: None,
        };
        server.clients.insert(id, client);
        MemoryCenter { server: Arc::clone(&self.server), id, hub }
    }

    /// Returns a copy of the whole registry, for inspection in tests.
    #[must_use]
    pub fn snapshot(&self) -> Model {
        self.server.lock().model.clone()
    }
}

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server.lock();
        f.debug_struct("MemoryRegistry")
            .field("revision", &server.model.revision())
            .field("sessions", &server.clients.len())
            .finish()
    }
}

impl Server {
    fn client(&mut self, id: u64) -> Result<&mut Client> {
        self.clients.get_mut(&id).ok_or(Error::Closed)
    }

    /// Returns the session of a center that is connected, or an error.
    fn connected_session(&mut self, id: u64, call: &'static str) -> Result<SessionId> {
        let client = self.client(id)?;
        match client.link {
            Link::Up => Ok(client.session),
            Link::Down { .. } => Err(Error::Unavailable { call }),
            Link::Closed => Err(Error::Closed),
        }
    }

    /// Delivers changes to all connected centers; the others get a new snapshot on reconnect.
    fn publish(&mut self, changes: &[Change]) {
        for client in self.clients.values_mut() {
            if client.link != Link::Up {
                continue;
            }
            changes.iter().for_each(|change| client.deliver(change));
        }
    }

    /// Sends a new snapshot to all subscriptions of a center.
    fn relist(&mut self, id: u64) {
        let Self { model, clients, .. } = self;
        if let Some(client) = clients.get_mut(&id) {
            let held = client.feeds_held;
            client.change_feeds(|subscription| {
                subscription.deliver(&model.snapshot(&subscription.scope), held)
            });
        }
    }

    fn end_session(&mut self, session: SessionId) {
        let changes = self.model.end_session(session);
        self.publish(&changes);
    }

    /// Reports to a center that its session is lost, and opens the next one.
    fn renew(&mut self, id: u64) -> Result<()> {
        let next = self.model.open_session();
        let client = self.client(id)?;
        let lost = std::mem::replace(&mut client.session, next);
        client.link = Link::Up;
        client.hub.publish(SessionChange::Lost { session: lost });
        client.hub.publish(SessionChange::Connected { session: next, timeout: NOMINAL_TIMEOUT });
        self.relist(id);
        Ok(())
    }
}

impl Client {
    /// Delivers a change to the feeds whose scope contains its node.
    fn deliver(&mut self, change: &Change) {
        let Some(path) = change.path() else { return };
        let (held, change) = (self.feeds_held, std::slice::from_ref(change));
        for root in std::iter::successors(Some(path.clone()), NodePath::parent) {
            if let Some(feeds) = self.feeds.get_mut(&root) {
                feeds.retain_mut(|subscription| {
                    !subscription.scope.contains(path) || subscription.deliver(change, held)
                });
                if feeds.is_empty() {
                    self.feeds.remove(&root);
                }
            }
        }
    }

    /// Applies a function to each feed, and removes the feeds for which it returns false.
    fn change_feeds(&mut self, mut change: impl FnMut(&mut Subscription) -> bool) {
        self.feeds.retain(|_, feeds| {
            feeds.retain_mut(&mut change);
            !feeds.is_empty()
        });
    }
}

impl Subscription {
    /// Delivers or withholds changes. Returns false if the reader was dropped.
    fn deliver(&mut self, changes: &[Change], hold: bool) -> bool {
        if hold {
            self.held.extend(changes.iter().cloned());
            return !self.sender.is_closed();
        }
        changes.iter().cloned().all(|change| self.sender.send(change)) && !self.sender.is_closed()
    }

    fn release(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        self.deliver(&held, false)
    }
}

/// One session on a [`MemoryRegistry`].
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
    server: Arc<Mutex<Server>>,
    id: u64,
    hub: Arc<SessionHub>,
}

impl MemoryCenter {
    /// Cuts the connection. Calls fail with [`Error::Unavailable`]; the session and its ephemeral
    /// nodes stay.
    ///
    /// [`lease_remaining`](RegistryCenter::lease_remaining) returns `lease` until the connection is
    /// restored.
    pub fn suspend(&self, lease: Duration) {
        let mut server = self.server.lock();
        if let Ok(client) = server.client(self.id)
            && client.link == Link::Up
        {
            client.link = Link::Down { lease };
            let session = client.session;
            client.hub.publish(SessionChange::Suspended { session });
        }
    }

    /// Restores the connection: with the same session if it lives, else with a new one. Feeds begin
    /// again with a snapshot.
    pub fn resume(&self) {
        let mut server = self.server.lock();
        let Ok(client) = server.client(self.id) else { return };
        if !matches!(client.link, Link::Down { .. }) {
            return;
        }
        client.link = Link::Up;
        let session = client.session;
        if server.model.is_live(session) {
            self.hub.publish(SessionChange::Connected { session, timeout: NOMINAL_TIMEOUT });
            server.relist(self.id);
        } else {
            // The client exists: it was found above, under the same lock.
            let _ = server.renew(self.id);
        }
    }

    /// Expires the session on the registry and reports it to the center at once.
    ///
    /// The ephemeral nodes of the session are gone, and the center continues with a new session.
    pub fn expire(&self) {
        let mut server = self.server.lock();
        let Ok(client) = server.client(self.id) else { return };
        // A session never observes its own end: the connection is closed first, as on a real
        // server.
        client.link = Link::Down { lease: Duration::ZERO };
        let session = client.session;
        server.end_session(session);
        let _ = server.renew(self.id);
    }

    /// Cuts the connection and expires the session on the registry. The center learns of the loss
    /// only at [`resume`](Self::resume).
    pub fn expire_unnoticed(&self, lease: Duration) {
        self.suspend(lease);
        let mut server = self.server.lock();
        if let Ok(client) = server.client(self.id) {
            let session = client.session;
            server.end_session(session);
        }
    }

    /// Makes the next write fail with [`Error::Unknown`].
    pub fn fail_next_write(&self, fault: WriteFault) {
        if let Ok(client) = self.server.lock().client(self.id) {
            client.fault = Some(fault);
        }
    }

    /// Withholds changes from the feeds of this center until
    /// [`release_feeds`](Self::release_feeds).
    pub fn hold_feeds(&self) {
        if let Ok(client) = self.server.lock().client(self.id) {
            client.feeds_held = true;
        }
    }

    /// Delivers the withheld changes.
    pub fn release_feeds(&self) {
        if let Ok(client) = self.server.lock().client(self.id) {
            client.feeds_held = false;
            client.change_feeds(Subscription::release);
        }
    }

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
        let mut subscription = Subscription { scope: scope.clone(), sender, held: Vec::new() };
        if client.link == Link::Up {
            subscription.deliver(&model.snapshot(scope), client.feeds_held);
        }
        client.feeds.entry(scope.root().clone()).or_default().push(subscription);
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
