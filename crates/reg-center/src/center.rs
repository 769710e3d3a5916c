//! The contract itself: the trait that every registry implements.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::{
    ClockReading, Feed, Limits, Node, NodePath, Result, Scope, SessionChange, SessionFeed,
    SessionId, Txn, TxnOutcome,
};

/// One client of a registry: a linearizable tree of small nodes with sessions, transactions and an
/// ordered feed.
///
/// The guarantees are numbered on the [front page](crate). All methods take `&self`; all jobs of a
/// process share a center as `Arc<dyn RegistryCenter>`.
#[async_trait]
pub trait RegistryCenter: Debug + Send + Sync + 'static {
    /// Returns the maximum size of a transaction. It is constant during the life of the center.
    fn limits(&self) -> Limits;

    /// Returns the last session change, or `None` before the first connection.
    fn session(&self) -> Option<SessionChange>;

    /// Subscribes to session changes; the current state comes first.
    fn session_feed(&self) -> SessionFeed;

    /// Returns the time for which the session is sure to live, counted from the call; `None` if the
    /// session may be over.
    ///
    /// The value is on the safe side: it counts from the *sending* of the last acknowledged request
    /// and keeps a margin. A caller that holds ephemeral nodes stops acting for them when the lease
    /// reaches zero. It does not wait for [`SessionChange::Lost`], which comes later.
    fn lease_remaining(&self, session: SessionId) -> Option<Duration>;

    /// Reads a node; `Ok(None)` means that the node did not exist.
    ///
    /// # Errors
    /// [`Error`](crate::Error). An error says nothing about the node.
    async fn read(&self, path: &NodePath) -> Result<Option<Node>>;

    /// Reads many nodes, each as [`read`](Self::read) does.
    ///
    /// The answers have the order of the paths. They may come from different revisions. The default
    /// reads one node after the other; registries override it to send fewer requests.
    ///
    /// # Errors
    /// [`Error`](crate::Error), also if only some of the nodes were read. An error says nothing
    /// about any node.
    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let mut nodes = Vec::with_capacity(paths.len());
        for path in paths {
            nodes.push(self.read(path).await?);
        }
        Ok(nodes)
    }

    /// Lists the names of the children in ascending order; `Ok(None)` if the node does not exist.
    ///
    /// # Errors
    /// [`Error`](crate::Error). An error says nothing about the node.
    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>>;

    /// Executes a transaction, as a whole or not at all.
    ///
    /// # Errors
    /// After [`Error::Unknown`](crate::Error::Unknown), and after no other error, the transaction
    /// may have happened, or may still happen in the same session. A conflict is an outcome, not an
    /// error.
    ///
    /// # Cancel safety
    /// Dropping the future does not cancel the transaction: its outcome is then unknown.
    async fn commit(&self, txn: Txn) -> Result<TxnOutcome>;

    /// Subscribes to a subtree, `root` included.
    ///
    /// The feed begins with a snapshot as soon as the registry can be reached. A new snapshot
    /// follows each gap, also in a new session.
    fn watch(&self, root: &NodePath) -> Feed;

    /// Subscribes to parts of a subtree, which saves traffic if the caller needs little of a large
    /// one.
    ///
    /// Works as [`watch`](Self::watch). The feed delivers all nodes in `scope`, and may deliver
    /// other nodes within its root. The default subscribes to the whole subtree.
    fn watch_parts(&self, scope: &Scope) -> Feed {
        self.watch(scope.root())
    }

    /// Waits until reads of this center see all writes that any client committed before the call.
    ///
    /// # Errors
    /// [`Error`](crate::Error). After an error nothing is guaranteed.
    async fn sync(&self) -> Result<()>;

    /// Asks the registry for its clock by writing to `probe`; `None` if the registry has no clock
    /// of its own.
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>>;

    /// Returns the registry's time that came with the last reply to a write of this center.
    ///
    /// `None` before the first such reply, and always if the registry has no clock or its replies
    /// carry no time. Sends no request. The default is `None`.
    fn clock_reading(&self) -> Option<ClockReading> {
        None
    }

    /// Ends the session at once: its ephemeral nodes are gone when this returns `Ok`.
    ///
    /// Every later call fails with [`Error::Closed`](crate::Error::Closed). Closing twice is
    /// harmless.
    ///
    /// # Errors
    /// [`Error`](crate::Error) if the request did not reach the registry. The session then ends by
    /// its timeout.
    async fn close(&self) -> Result<()>;
}
