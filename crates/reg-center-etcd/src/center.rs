//! The implementation of `RegistryCenter`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use reg_center::{
    Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope, SessionChange, SessionFeed,
    SessionId, Txn, TxnOutcome,
};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, oneshot};

use crate::keys::Keys;
use crate::session::{SPARE_OPS, Shared, Supervisor};
use crate::{ConnectError, EtcdOptions, commit, feed, reads};

/// A registry center on etcd.
///
/// Dropping the center ends the session as [`close`](RegistryCenter::close) does, without waiting
/// for it.
pub struct EtcdCenter {
    limits: Limits,
    shared: Arc<Shared>,
    runtime: Handle,
    closed: Mutex<Option<oneshot::Receiver<Result<()>>>>,
}

impl EtcdCenter {
    /// Connects to one of the servers and opens a session.
    ///
    /// # Errors
    /// [`ConnectError`] if an option is invalid, if all servers refuse, or if none can be used
    /// within the connect timeout.
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends by its timeout.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use reg_center_etcd::{EtcdCenter, EtcdOptions};
    ///
    /// let options = EtcdOptions::new("etcd-1:2379,etcd-2:2379", "/jobs");
    /// let center = EtcdCenter::connect(options).await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(options: EtcdOptions) -> Result<Arc<Self>, ConnectError> {
        let keys = Keys::new(options.root()?);
        let shared = Arc::new(Shared::default());
        let mut supervisor = Supervisor::new(options, keys.clone(), Arc::clone(&shared));
        let link = Box::pin(supervisor.start()).await?;
        let limits = limits(link.txn_ops, &keys);
        let (closed, outcome) = oneshot::channel();
        let runtime = Handle::current();
        runtime.spawn(supervisor.run(link, closed));
        Ok(Arc::new(Self { limits, shared, runtime, closed: Mutex::new(Some(outcome)) }))
    }

    /// Stops the next write before it is sent.
    #[cfg(test)]
    pub(crate) fn stop_next_write(&self, gate: crate::session::Gate) {
        *self.shared.gate.lock() = Some(gate);
    }

    /// Returns the connection, for tests of its parts.
    #[cfg(test)]
    pub(crate) fn link(&self) -> Result<Arc<crate::session::Link>> {
        self.shared.link("test")
    }
}

/// Returns the limits of transactions for a server that takes this many operations in a request.
fn limits(txn_ops: usize, keys: &Keys) -> Limits {
    let max_ops = txn_ops - SPARE_OPS;
    // Each operation has its key twice, in a condition and in a write, with the namespace.
    let max_bytes = commit::MAX_REQUEST_BYTES.saturating_sub(max_ops * keys.bytes_of_op());
    Limits { max_ops, max_bytes: max_bytes.min(commit::MAX_TXN_BYTES) }
}

impl fmt::Debug for EtcdCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdCenter")
            .field("session", &self.shared.hub.current())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Drop for EtcdCenter {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

#[async_trait]
impl RegistryCenter for EtcdCenter {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn session(&self) -> Option<SessionChange> {
        self.shared.hub.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.shared.hub.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.shared.lease.remaining(session, Instant::now())
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        Ok(self.read_all(std::slice::from_ref(path)).await?.pop().flatten())
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        const CALL: &str = "read";
        reads::nodes(&*self.shared.link(CALL)?, CALL, paths).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        reads::children(&*self.shared.link("list children")?, path).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.limits.admit(&txn)?;
        let shared = Arc::clone(&self.shared);
        // A task of its own: the commit continues if its caller is gone.
        let committing = self.runtime.spawn(async move { commit::commit(&shared, &txn).await });
        committing.await.unwrap_or_else(|_| {
            // The runtime shuts down, or the task has panicked.
            Err(Error::Unknown { call: "commit", cause: "its task has ended".to_owned() })
        })
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.watch_parts(&Scope::all_of(root.clone()))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        let (sender, feed) = reg_center::feed::channel();
        self.runtime.spawn(feed::run(Arc::clone(&self.shared), scope.clone(), sender));
        feed
    }

    async fn sync(&self) -> Result<()> {
        const CALL: &str = "sync";
        // All reads are linearizable. This one makes sure that there is a leader.
        let root = [NodePath::root()];
        reads::nodes(&*self.shared.link(CALL)?, CALL, &root).await.map(drop)
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        // etcd's interface has no clock.
        self.sync().await.map(|()| None)
    }

    async fn close(&self) -> Result<()> {
        self.shared.closing.cancel();
        let mut closed = self.closed.lock().await;
        // It was closed before.
        let Some(outcome) = closed.as_mut() else { return Ok(()) };
        let ended = outcome.await.unwrap_or(Err(Error::Unavailable { call: "close" }));
        *closed = None;
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_leave_space_for_keys_and_parents() {
        let keys = Keys::new(NodePath::parse("/jobs").unwrap());
        let rows = [(64, 36), (128, 100), (5_028, 5_000)];
        for (txn_ops, max_ops) in rows {
            let limits = limits(txn_ops, &keys);
            assert_eq!(limits.max_ops, max_ops);
            assert!(limits.max_bytes >= 500_000, "{limits:?}");
            let keys = limits.max_ops * keys.bytes_of_op();
            assert!(limits.max_bytes + keys <= commit::MAX_REQUEST_BYTES, "{limits:?}");
        }
    }
}
