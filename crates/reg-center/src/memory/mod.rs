//! The in-memory registry: the [`Model`] behind the trait, with several sessions in one process and
//! fault injection.
//!
//! It stores nothing beyond the process. It has no clock, so a test decides when a session expires:
//! a session ends only when its center is closed or dropped, or by a fault.

mod center;
mod faults;
mod server;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::model::Model;

pub use center::MemoryCenter;
pub use faults::WriteFault;
use server::Server;

/// An in-memory registry. Clones are handles to the same registry.
#[derive(Clone, Default)]
pub struct MemoryRegistry {
    server: Arc<Mutex<Server>>,
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
        let (id, hub) = self.server.lock().connect();
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
