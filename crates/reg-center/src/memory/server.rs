//! Server side of the in-memory registry: the sessions, their connections and their feeds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::WriteFault;
use crate::feed::FeedSender;
use crate::model::Model;
use crate::{Change, Error, Result, SessionChange, SessionHub, SessionId, Subscriptions};

/// Timeout that a memory session reports. Nothing expires by time; see the [module](super).
pub(super) const NOMINAL_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Server {
    pub(super) model: Model,
    next_client: u64,
    pub(super) clients: BTreeMap<u64, Client>,
}

/// Server-side state of one center.
pub(super) struct Client {
    pub(super) session: SessionId,
    pub(super) hub: Arc<SessionHub>,
    pub(super) link: Link,
    pub(super) feeds: Subscriptions<Subscription>,
    pub(super) feeds_held: bool,
    pub(super) fault: Option<WriteFault>,
}

/// The connection between a center and the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Up,
    Down { lease: Duration },
    Closed,
}

/// One feed. Its changes may be held back.
pub(super) struct Subscription {
    sender: FeedSender,
    held: Vec<Change>,
}

impl Server {
    /// Opens a session, and returns the number of its center with the center's hub.
    pub(super) fn connect(&mut self) -> (u64, Arc<SessionHub>) {
        let session = self.model.open_session();
        let hub = Arc::new(SessionHub::new());
        hub.publish(SessionChange::Connected { session, timeout: NOMINAL_TIMEOUT });
        let id = self.next_client;
        self.next_client += 1;
        let client = Client {
            session,
            hub: Arc::clone(&hub),
            link: Link::Up,
            feeds: Subscriptions::default(),
            feeds_held: false,
            fault: None,
        };
        self.clients.insert(id, client);
        (id, hub)
    }

    pub(super) fn client(&mut self, id: u64) -> Result<&mut Client> {
        self.clients.get_mut(&id).ok_or(Error::Closed)
    }

    /// Returns the session of a center that is connected, or an error.
    pub(super) fn connected_session(&mut self, id: u64, call: &'static str) -> Result<SessionId> {
        let client = self.client(id)?;
        match client.link {
            Link::Up => Ok(client.session),
            Link::Down { .. } => Err(Error::Unavailable { call }),
            Link::Closed => Err(Error::Closed),
        }
    }

    /// Delivers changes to all connected centers; the others get a new snapshot on reconnect.
    pub(super) fn publish(&mut self, changes: &[Change]) {
        for client in self.clients.values_mut() {
            if client.link != Link::Up {
                continue;
            }
            changes.iter().for_each(|change| client.deliver(change));
        }
    }

    /// Sends a new snapshot to all subscriptions of a center.
    pub(super) fn relist(&mut self, id: u64) {
        let Self { model, clients, .. } = self;
        if let Some(client) = clients.get_mut(&id) {
            let held = client.feeds_held;
            client.feeds.visit_all(|scope, feed| feed.deliver(&model.snapshot(scope), held));
        }
    }

    pub(super) fn end_session(&mut self, session: SessionId) {
        let changes = self.model.end_session(session);
        self.publish(&changes);
    }

    /// Reports to a center that its session is lost, and opens the next one.
    pub(super) fn renew(&mut self, id: u64) -> Result<()> {
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
        self.feeds.visit(path, |feed| feed.deliver(change, held));
    }
}

impl Subscription {
    pub(super) fn new(sender: FeedSender) -> Self {
        Self { sender, held: Vec::new() }
    }

    /// Delivers or withholds changes. Returns false if the reader was dropped.
    pub(super) fn deliver(&mut self, changes: &[Change], hold: bool) -> bool {
        if hold {
            self.held.extend(changes.iter().cloned());
            return !self.sender.is_closed();
        }
        changes.iter().cloned().all(|change| self.sender.send(change)) && !self.sender.is_closed()
    }

    pub(super) fn release(&mut self) -> bool {
        let held = std::mem::take(&mut self.held);
        self.deliver(&held, false)
    }
}
