//! A store that an engineer may have: tables, transactions, and a driver whose requests and replies
//! can be lost. It knows nothing of the contract.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use reg_center::{Beat, Change, Node, NodePath, Revision, Scope, SessionId, Stat, Version};
use tokio::{sync::oneshot, time};

/// Deadline of a reply. Shorter than any session timeout.
const REPLY_DEADLINE: Duration = Duration::from_millis(200);
/// Number of changes that the log keeps.
const LOG_LENGTH: usize = 10_000;

/// The tables, as one transaction sees them.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) nodes: BTreeMap<NodePath, Node>,
    /// Revision of the last write.
    pub(crate) revision: Revision,
    pub(crate) log: Log,
    pub(crate) sessions: BTreeMap<SessionId, SessionRow>,
    pub(crate) last_session: i64,
}

impl Tables {
    /// Creates the tables and the root, which always exists.
    pub(crate) fn create() -> Self {
        let (version, created) = (Version(0), Revision(0));
        let stat = Stat { version, created, modified: created, modified_at: None, owner: None };
        let root = Node { path: NodePath::root(), data: Bytes::new(), stat };
        Self {
            nodes: [(NodePath::root(), root)].into(),
            revision: created,
            log: Log::default(),
            sessions: BTreeMap::new(),
            last_session: 0,
        }
    }
}

/// Queries and the writing of one row.
impl Tables {
    /// Returns the paths of all children of a node.
    pub(crate) fn children_of(&self, parent: &NodePath) -> Vec<NodePath> {
        let from = self.nodes.range(parent.clone()..).map(|(path, _)| path);
        let below = from.take_while(|path| path.as_str().starts_with(parent.as_str()));
        below.filter(|path| path.parent().as_ref() == Some(parent)).cloned().collect()
    }

    /// Returns all nodes that a scope covers.
    pub(crate) fn nodes_in(&self, scope: &Scope) -> Vec<Node> {
        self.nodes.values().filter(|node| scope.contains(&node.path)).cloned().collect()
    }

    /// Returns the paths of all nodes that a session owns.
    pub(crate) fn owned_by(&self, session: SessionId) -> Vec<NodePath> {
        let owned = self.nodes.values().filter(|node| node.stat.owner == Some(session));
        owned.map(|node| node.path.clone()).collect()
    }

    /// Inserts, replaces or deletes the row of a node.
    pub(crate) fn write_node(&mut self, change: &Change) {
        match change {
            Change::Put(node) | Change::Entry(node) => {
                self.nodes.insert(node.path.clone(), node.clone());
            }
            Change::Gone { path, .. } => drop(self.nodes.remove(path)),
            Change::Init | Change::Ready => {}
        }
    }
}

/// A row of the table of sessions.
#[derive(Debug)]
pub(crate) struct SessionRow {
    pub(crate) beat: Beat,
    /// Number of the client's connection. Commits of earlier connections are refused.
    pub(crate) connection: u64,
}

/// The last changes, ordered by revision.
#[derive(Debug, Default)]
pub(crate) struct Log {
    changes: VecDeque<Change>,
    /// Changes up to this revision may be missing.
    forgotten: Revision,
}

impl Log {
    pub(crate) fn append(&mut self, changes: Vec<Change>) {
        self.changes.extend(changes);
        while self.changes.len() > LOG_LENGTH {
            let oldest = self.changes.pop_front().and_then(|change| change.revision());
            self.forgotten = oldest.unwrap_or(self.forgotten);
        }
    }

    /// Returns the changes after a revision; `None` if some of them are no longer in the log.
    pub(crate) fn after(&self, revision: Revision) -> Option<Vec<Change>> {
        let from = self.changes.partition_point(|change| change.revision() <= Some(revision));
        (revision >= self.forgotten).then(|| self.changes.range(from..).cloned().collect())
    }
}

/// A request on its way to the store.
pub(crate) type Request = Box<dyn FnOnce(&mut Tables) -> Reply + Send>;
/// The reply on its way back.
pub(crate) type Reply = Box<dyn FnOnce() + Send>;

/// The network between a client and the store. Tests put one with faults in its place.
pub(crate) trait Wire: Debug + Send + Sync + 'static {
    /// Sends a request. Returns false if it is sure that the store never gets it.
    fn send(&self, request: Request) -> bool;
}

/// The wire of a store in this process: each request is one transaction.
impl Wire for Mutex<Tables> {
    fn send(&self, request: Request) -> bool {
        let reply = request(&mut self.lock());
        reply();
        true
    }
}

/// Error of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The request was not sent.
    NotSent,
    /// No reply came in time. The request may be executed, now or later.
    NoReply,
}

/// The driver of the store: one client's way to it.
#[derive(Debug)]
pub(crate) struct Driver(pub(crate) Arc<dyn Wire>);

impl Driver {
    /// Executes a transaction. The request is sent in the first poll of the future.
    pub(crate) async fn execute<T: Send + 'static>(
        &self,
        transaction: impl FnOnce(&mut Tables) -> T + Send + 'static,
    ) -> Result<T, Failed> {
        let (sender, answer) = oneshot::channel();
        let request: Request = Box::new(|tables| {
            let value = transaction(tables);
            Box::new(|| drop(sender.send(value)))
        });
        if !self.0.send(request) {
            return Err(Failed::NotSent);
        }
        match time::timeout(REPLY_DEADLINE, answer).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(_)) | Err(_) => Err(Failed::NoReply),
        }
    }
}
