//! The part of the log that the feed has delivered.

use std::collections::{BTreeMap, BTreeSet};

use reg_center::{Change as FeedChange, Node, NodePath, Revision};
use serde::de::DeserializeOwned;

use super::entry::{LoggedSession, LoggedTxn};
use super::error::ReadError;
use super::{SESSIONS, WRITES};
use crate::clock::{monotonic_ns, wall_ms};

/// An entry of the log.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) revision: i64,
    /// Monotonic time at which a write was sent. The end of a session has the time at which the
    /// reader saw it.
    pub(super) monotonic_ns: u64,
    /// Time at which the reader saw the entry.
    pub(super) wall_ms: i64,
    pub(super) event: Event,
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A transaction, with the path of its node.
    Txn(NodePath, LoggedTxn),
    Opened {
        session: i64,
        owner: String,
    },
    Closed {
        session: i64,
    },
}

/// A session whose node exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenSession {
    pub(super) path: NodePath,
    pub(super) session: i64,
    /// Revision of its node.
    pub(super) created: Revision,
}

/// Everything that the feed has delivered so far.
#[derive(Debug, Default)]
pub(super) struct SeenLog {
    pub(super) entries: Vec<Seen>,
    /// Paths of the transactions: a new snapshot repeats them.
    writes: BTreeSet<NodePath>,
    open: BTreeMap<NodePath, OpenSession>,
    /// Sessions of an incomplete snapshot.
    snapshot: Option<BTreeSet<NodePath>>,
    /// Sessions that ended in a gap of the feed, as long as their ends are not found.
    n_missed: usize,
    pub(super) error: Option<ReadError>,
}

impl SeenLog {
    /// Adds a change. Returns the sessions that ended in a gap of the feed before a snapshot.
    pub(super) fn add(&mut self, change: FeedChange) -> Result<Vec<OpenSession>, ReadError> {
        match change {
            FeedChange::Init => self.snapshot = Some(BTreeSet::new()),
            FeedChange::Entry(node) | FeedChange::Put(node) => self.add_node(node)?,
            FeedChange::Gone { path, revision } => {
                // A deletion may be reported twice.
                if let Some(OpenSession { session, .. }) = self.open.remove(&path) {
                    let revision = revision.ok_or(ReadError::End { session })?;
                    self.push(revision, monotonic_ns(), Event::Closed { session });
                }
            }
            FeedChange::Ready => {
                let snapshot = self.snapshot.take().unwrap_or_default();
                let missed = self.open.extract_if(.., |path, _| !snapshot.contains(path));
                let missed: Vec<OpenSession> = missed.map(|(_, session)| session).collect();
                self.n_missed += missed.len();
                return Ok(missed);
            }
        }
        Ok(Vec::new())
    }

    fn add_node(&mut self, node: Node) -> Result<(), ReadError> {
        let created = node.stat.created;
        if let Some(session) = id_of_session(&node.path) {
            if let Some(snapshot) = &mut self.snapshot {
                snapshot.insert(node.path.clone());
            }
            let open = OpenSession { path: node.path.clone(), session, created };
            if self.open.insert(node.path.clone(), open).is_none() {
                let LoggedSession { sent_ns, process } = parsed(&node)?;
                self.push(created, sent_ns, Event::Opened { session, owner: process });
            }
        } else if is_write(&node.path) && self.writes.insert(node.path.clone()) {
            let txn: LoggedTxn = parsed(&node)?;
            self.push(created, txn.sent_ns, Event::Txn(node.path, txn));
        }
        Ok(())
    }

    /// Adds the end of a session that the feed has not shown.
    pub(super) fn add_missed(&mut self, session: i64, ended: Result<Revision, ReadError>) {
        self.n_missed -= 1;
        match ended {
            Ok(revision) => self.push(revision, monotonic_ns(), Event::Closed { session }),
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    fn push(&mut self, Revision(revision): Revision, monotonic_ns: u64, event: Event) {
        let (revision, wall_ms) = (i64::try_from(revision).unwrap_or(i64::MAX), wall_ms());
        self.entries.push(Seen { revision, monotonic_ns, wall_ms, event });
    }

    /// Returns the number of transactions that are stored and were not delivered.
    pub(super) fn n_unseen_writes(&self, stored: &BTreeSet<NodePath>) -> usize {
        stored.iter().filter(|path| is_write(path) && !self.writes.contains(*path)).count()
    }

    /// Returns the number of sessions whose end was not delivered, although their nodes are not
    /// among the stored ones.
    pub(super) fn n_unseen_ends(&self, stored: &BTreeSet<NodePath>) -> usize {
        self.open.keys().filter(|path| !stored.contains(*path)).count() + self.n_missed
    }
}

fn parsed<T: DeserializeOwned>(node: &Node) -> Result<T, ReadError> {
    serde_json::from_slice(&node.data).map_err(|error| ReadError::Entry {
        path: node.path.to_string(),
        reason: error.to_string(),
    })
}

/// Returns true for the node of a transaction.
fn is_write(path: &NodePath) -> bool {
    path.parent().is_some_and(|parent| parent.as_str() == WRITES)
}

fn id_of_session(path: &NodePath) -> Option<i64> {
    path.as_str().strip_prefix(SESSIONS)?.strip_prefix('/')?.parse().ok()
}
