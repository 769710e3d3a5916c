//! The contract itself: what a registry does for a scheduler.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::{
    ClockReading, Feed, Limits, Node, NodePath, Result, Scope, SessionChange, SessionFeed,
    SessionId, Txn, TxnOutcome,
};

/// One connection to a registry: a linearizable tree of small nodes with sessions, transactions and an ordered feed.
///
/// The guarantees are numbered on the [front page](crate). All methods take `&self`; a centre is shared as
/// `Arc<dyn RegistryCenter>` by all jobs of a process.
#[async_trait]
pub trait RegistryCenter: Debug + Send + Sync + 'static {
    /// Returns how large a transaction may be. Constant during the life of the centre.
    fn limits(&self) -> Limits;

    /// Returns the last session change, or `None` before the first connection.
    fn session(&self) -> Option<SessionChange>;

    /// Subscribes to session changes; the current state comes first.
    fn session_feed(&self) -> SessionFeed;

    /// Returns how long the session certainly lives on, counted from the call; `None` if it may be over.
    ///
    /// Errs to the short side: it counts from the *sending* of the last acknowledged request and keeps a margin.
    /// Who holds something in the session stops acting when this reaches zero, without waiting for
    /// [`SessionChange::Lost`], which comes later.
    fn lease_remaining(&self, session: SessionId) -> Option<Duration>;

    /// Reads a node; `Ok(None)` means that it certainly did not exist.
    ///
    /// # Errors
    /// [`Error`](crate::Error); an error says nothing about the node.
    async fn read(&self, path: &NodePath) -> Result<Option<Node>>;

    /// Reads many nodes, each as [`read`](Self::read) does; the answers have the order of the paths, and need not be of one
    /// moment.
    ///
    /// Reads one after the other unless the registry can do with fewer requests.
    ///
    /// # Errors
    /// [`Error`](crate::Error), also if a part of the nodes was read; an error says nothing about any node.
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
    /// [`Error`](crate::Error); an error says nothing about the node.
    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>>;

    /// Executes a transaction as a whole or not at all.
    ///
    /// # Errors
    /// Only after [`Error::Unknown`](crate::Error::Unknown) can it have happened, or still happen in the same
    /// session. A conflict is not an error but an outcome.
    ///
    /// # Cancel safety
    /// Dropping the future does not take the transaction back: its outcome is then unknown.
    async fn commit(&self, txn: Txn) -> Result<TxnOutcome>;

    /// Subscribes to a subtree, `root` itself included. The feed begins with a snapshot as soon as the registry
    /// can be reached, and begins anew with one after every gap, also in a new session.
    fn watch(&self, root: &NodePath) -> Feed;

    /// Subscribes to parts of a subtree, for whoever wants little of a large one. As [`watch`](Self::watch), but for this: the
    /// feed tells of all nodes in `scope`, and may tell of others within its root.
    ///
    /// Subscribes to the whole subtree unless the registry can do with less.
    fn watch_parts(&self, scope: &Scope) -> Feed {
        self.watch(scope.root())
    }

    /// Waits until reads of this centre see everything that was committed anywhere before the call.
    ///
    /// # Errors
    /// [`Error`](crate::Error); then nothing is promised.
    async fn sync(&self) -> Result<()>;

    /// Asks the registry for its clock by touching `probe`; `None` if the registry has no clock but ours.
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>>;

    /// Returns the registry's time that came with the last reply to a write of this centre; `None` before the first, and
    /// always if the registry has no clock or its replies carry no time. Sends nothing. The default is `None`.
    fn clock_reading(&self) -> Option<ClockReading> {
        None
    }

    /// Ends the session at once: its ephemeral nodes are gone when this returns `Ok`. Every later call fails with
    /// [`Error::Closed`](crate::Error::Closed). Closing twice is harmless.
    ///
    /// # Errors
    /// [`Error`](crate::Error) if the registry could not be told: the session then ends by its timeout.
    async fn close(&self) -> Result<()>;
}
