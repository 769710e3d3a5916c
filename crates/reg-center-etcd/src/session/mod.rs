//! The session of a center: connections, their loss, and the end of the session.
//!
//! In reading order: `open` (requests) · `watches`, `link` (one connection) · `pulse` (signs of
//! life) · `attempt` (one attempt to connect) · `supervisor` (the task that connects again).

mod attempt;
mod link;
mod open;
mod pulse;
mod supervisor;
mod watches;

use std::sync::Arc;

use reg_center::{Error, Lease, Result, SessionHub};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use attempt::SPARE_OPS;
pub(crate) use link::{Link, Newest};
pub(crate) use open::{read_key, unchanged};
pub(crate) use supervisor::Supervisor;
pub(crate) use watches::WatchNews;

/// State that the tasks of a center share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) hub: SessionHub,
    pub(crate) lease: Lease,
    /// The connection, if there is one.
    link: watch::Sender<Option<Arc<Link>>>,
    newest: Arc<Newest>,
    /// The center is closed or dropped.
    pub(crate) closing: CancellationToken,
    /// Tests stop the next write here, between the read and the write of its transaction.
    #[cfg(test)]
    pub(crate) gate: parking_lot::Mutex<Option<Gate>>,
}

/// A place at which the next write waits.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Gate {
    /// The write is about to be sent.
    pub(crate) reached: tokio::sync::oneshot::Sender<()>,
    /// It may be sent.
    pub(crate) opened: tokio::sync::oneshot::Receiver<()>,
}

impl Shared {
    /// Returns the connection.
    ///
    /// # Errors
    /// [`Error::Closed`], and [`Error::Unavailable`] without a connection.
    pub(crate) fn link(&self, call: &'static str) -> Result<Arc<Link>> {
        if self.closing.is_cancelled() {
            return Err(Error::Closed);
        }
        self.link.borrow().clone().ok_or(Error::Unavailable { call })
    }

    /// Waits for a connection other than `last`; `None` if the center is closed.
    pub(crate) async fn next_link(&self, last: Option<&Arc<Link>>) -> Option<Arc<Link>> {
        let mut links = self.link.subscribe();
        let is_other = |link: &Option<Arc<Link>>| match (link, last) {
            (Some(link), Some(last)) => !Arc::ptr_eq(link, last),
            (Some(_), None) => true,
            (None, _) => false,
        };
        tokio::select! {
            () = self.closing.cancelled() => None,
            // Fails only if this value was dropped.
            link = links.wait_for(is_other) => link.ok()?.clone(),
        }
    }
}
