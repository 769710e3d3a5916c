//! Fault injection: lost connections, expired sessions, unknown outcomes and late changes.

use std::time::Duration;

use super::MemoryCenter;
use super::server::{Link, NOMINAL_TIMEOUT};
use crate::SessionChange;

/// Fault of the next write of a center.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteFault {
    /// The registry executes the write and the reply is lost.
    LoseReply,
    /// The request is lost. The caller cannot distinguish this from a lost reply.
    LoseRequest,
}

impl MemoryCenter {
    /// Cuts the connection. Calls fail with [`Error::Unavailable`]; the session and its ephemeral
    /// nodes stay.
    ///
    /// [`lease_remaining`] returns `lease` until the connection is restored.
    ///
    /// [`Error::Unavailable`]: crate::Error::Unavailable
    /// [`lease_remaining`]: crate::RegistryCenter::lease_remaining
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

    /// Makes the next write fail with [`Error::Unknown`](crate::Error::Unknown).
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
            client.feeds.visit_all(|_, feed| feed.release());
        }
    }
}
