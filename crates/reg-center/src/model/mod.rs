//! The registry as a synchronous, deterministic state machine.
//!
//! It has no threads and no randomness, and its owner sets the time. The in-memory registry runs a
//! [`Model`] behind its lock; a simulation drives one directly. Two models that get the same calls
//! are equal.

mod tree;

use std::collections::BTreeSet;
use std::iter;
use std::time::SystemTime;

use bytes::Bytes;

use crate::evaluate::{Snapshot, Stamp, evaluate};
use crate::{
    Change, Committed, Error, Node, NodePath, Op, Result, Revision, Scope, SessionId, Stat,
    TxnOutcome, Version,
};
use tree::Tree;

/// A whole registry: nodes, live sessions, and the revision of the last write.
///
/// # Examples
/// ```
/// use reg_center::model::Model;
/// use reg_center::{Lifetime, NodePath, Txn};
///
/// let mut registry = Model::new();
/// let session = registry.open_session();
/// let path = NodePath::parse("/report/leader")?;
/// let elect = Txn::new().create(path.clone(), "a", Lifetime::Ephemeral);
/// let (outcome, changes) = registry.commit(session, elect.ops())?;
/// assert!(outcome.is_committed());
/// assert_eq!(changes.len(), 2, "the parent and the node");
/// registry.end_session(session);
/// assert_eq!(registry.read(&path), None);
/// # Ok::<(), reg_center::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    tree: Tree,
    revision: Revision,
    sessions: BTreeSet<SessionId>,
    last_session: i64,
    clock: Option<SystemTime>,
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Model {
    /// Returns a registry with the root node and nothing else.
    #[must_use]
    pub fn new() -> Self {
        let mut tree = Tree::default();
        let root = Stat {
            version: Version(0),
            created: Revision(0),
            modified: Revision(0),
            modified_at: None,
            owner: None,
        };
        tree.insert(Node { path: NodePath::root(), data: Bytes::new(), stat: root });
        Self {
            tree,
            revision: Revision(0),
            sessions: BTreeSet::new(),
            last_session: 0,
            clock: None,
        }
    }

    /// Sets the clock of the registry, which stands still until it is set again. Later writes carry
    /// this time ([`Stat::modified_at`]).
    ///
    /// `None`, the initial value, is a registry without a clock.
    pub fn set_clock(&mut self, now: Option<SystemTime>) {
        self.clock = now;
    }

    /// Returns the revision of the last write.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Opens a session. It lives until [`end_session`](Self::end_session).
    pub fn open_session(&mut self) -> SessionId {
        self.last_session += 1;
        let session = SessionId(self.last_session);
        self.sessions.insert(session);
        session
    }

    /// Returns true if the session is open.
    #[must_use]
    pub fn is_live(&self, session: SessionId) -> bool {
        self.sessions.contains(&session)
    }

    /// Ends a session, closed or expired. Its ephemeral nodes are deleted at one revision.
    pub fn end_session(&mut self, session: SessionId) -> Vec<Change> {
        if !self.sessions.remove(&session) {
            return Vec::new();
        }
        let owned: Vec<_> = self.tree.owned_by(session).cloned().collect();
        if owned.is_empty() {
            return Vec::new();
        }
        self.revision = self.revision.next();
        let revision = Some(self.revision);
        owned
            .into_iter()
            .map(|path| {
                self.tree.remove(&path);
                Change::Gone { path, revision }
            })
            .collect()
    }

    /// Returns a node.
    #[must_use]
    pub fn read(&self, path: &NodePath) -> Option<&Node> {
        self.tree.get(path)
    }

    /// Returns the names of the children in ascending order, or `None` if the node does not exist.
    #[must_use]
    pub fn children(&self, path: &NodePath) -> Option<Vec<String>> {
        self.tree.get(path)?;
        Some(self.tree.children(path).map(|child| child.name().to_owned()).collect())
    }

    /// Returns a subtree, `root` included, in path order.
    pub fn subtree<'a>(&'a self, root: &'a NodePath) -> impl Iterator<Item = &'a Node> {
        self.tree.within(root)
    }

    /// Returns the nodes of a scope, in path order.
    pub fn within<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Node> {
        scope.parts().flat_map(|part| self.subtree(part))
    }

    /// Returns the snapshot of a scope as a feed delivers it, from [`Change::Init`] to
    /// [`Change::Ready`].
    pub fn snapshot(&self, scope: &Scope) -> Vec<Change> {
        let entries = self.within(scope).cloned().map(Change::Entry);
        iter::once(Change::Init).chain(entries).chain([Change::Ready]).collect()
    }

    /// Executes a transaction of a session and returns the changes that a feed of the root would
    /// deliver.
    ///
    /// # Errors
    /// [`Error::SessionLost`] if the session has ended, [`Error::Rejected`] for a deletion of the
    /// root. An error changes nothing.
    pub fn commit(&mut self, session: SessionId, ops: &[Op]) -> Result<(TxnOutcome, Vec<Change>)> {
        if !self.is_live(session) {
            return Err(Error::SessionLost { session });
        }
        let stamp = Stamp { session, revision: self.revision.next(), time: self.clock };
        let effect = match evaluate(&self.tree, stamp, ops)? {
            Ok(effect) => effect,
            Err(conflict) => return Ok((TxnOutcome::Conflict(conflict), Vec::new())),
        };
        if !effect.changes.is_empty() {
            self.revision = stamp.revision;
        }
        effect.changes.iter().for_each(|change| self.tree.apply(change));
        let committed = Committed { revision: Some(self.revision), stats: effect.stats };
        Ok((TxnOutcome::Committed(committed), effect.changes))
    }
}

impl Snapshot for Tree {
    fn node(&self, path: &NodePath) -> Result<Option<Node>> {
        Ok(self.get(path).cloned())
    }

    fn children(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        Ok(self.children(path).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conflict, ConflictReason, Lifetime, Txn};

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn conflict(index: usize, reason: ConflictReason) -> TxnOutcome {
        TxnOutcome::Conflict(Conflict { index, reason })
    }

    #[test]
    fn a_conflict_names_the_failed_expectation_and_changes_nothing() {
        let mut model = Model::new();
        let session = model.open_session();
        let setup = Txn::new()
            .create(path("/a"), "1", Lifetime::Persistent)
            .create(path("/a/b"), "", Lifetime::Persistent)
            .create(path("/e"), "", Lifetime::Ephemeral);
        assert!(model.commit(session, setup.ops()).unwrap().0.is_committed());
        let before = model.clone();
        let put = || Txn::new().put(path("/a"), "2");
        let rows = [
            (
                "wrong version",
                put().check_version(path("/a/b"), Version(1)),
                1,
                ConflictReason::VersionMismatch,
            ),
            (
                "exists",
                put().create(path("/a/b"), "", Lifetime::Persistent),
                1,
                ConflictReason::Exists,
            ),
            ("absent", put().put(path("/x"), ""), 1, ConflictReason::Absent),
            ("not absent", put().check_absent(path("/e")), 1, ConflictReason::Exists),
            ("children", put().delete(path("/a")), 1, ConflictReason::HasChildren),
            (
                "ephemeral parent",
                put().create(path("/e/x"), "", Lifetime::Persistent),
                1,
                ConflictReason::EphemeralParent,
            ),
            (
                "own write is seen",
                put().check_version(path("/a"), Version(0)),
                1,
                ConflictReason::VersionMismatch,
            ),
        ];
        for (case, txn, index, reason) in rows {
            let (outcome, changes) = model.commit(session, txn.ops()).unwrap();
            assert_eq!(outcome, conflict(index, reason), "{case}");
            assert!(changes.is_empty(), "{case}");
            assert_eq!(model, before, "{case}");
        }
    }

    #[test]
    fn a_recreated_node_starts_at_version_zero_with_a_new_creation_revision() {
        let mut model = Model::new();
        let session = model.open_session();
        for txn in [
            Txn::new().create(path("/a"), "", Lifetime::Persistent),
            Txn::new().put(path("/a"), "x"),
            Txn::new().delete(path("/a")),
            Txn::new().create(path("/a"), "", Lifetime::Persistent),
        ] {
            assert!(model.commit(session, txn.ops()).unwrap().0.is_committed());
        }
        let stat = model.read(&path("/a")).unwrap().stat;
        assert_eq!(
            (stat.version, stat.created, stat.modified),
            (Version(0), Revision(4), Revision(4))
        );
    }

    #[test]
    fn creation_and_deletion_in_one_transaction_cause_no_change() {
        let mut model = Model::new();
        let session = model.open_session();
        let txn = Txn::new().create(path("/a"), "", Lifetime::Persistent).delete(path("/a"));
        let (outcome, changes) = model.commit(session, txn.ops()).unwrap();
        assert!(outcome.is_committed());
        assert!(changes.is_empty());
    }

    #[test]
    fn an_ended_session_cannot_write() {
        let mut model = Model::new();
        let session = model.open_session();
        model.end_session(session);
        let txn = Txn::new().create(path("/a"), "", Lifetime::Persistent);
        assert_eq!(model.commit(session, txn.ops()), Err(Error::SessionLost { session }));
    }

    #[test]
    fn all_ephemeral_nodes_of_a_session_are_deleted_at_one_revision() {
        let mut model = Model::new();
        let (ending, open) = (model.open_session(), model.open_session());
        let create = |name: &str| Txn::new().create(path(name), "", Lifetime::Ephemeral);
        for (session, name) in [(ending, "/a"), (ending, "/b"), (open, "/c")] {
            model.commit(session, create(name).ops()).unwrap();
        }
        let changes = model.end_session(ending);
        let revision = Some(Revision(4));
        let gone = |name: &str| Change::Gone { path: path(name), revision };
        assert_eq!(changes, [gone("/a"), gone("/b")]);
        assert_eq!(model.children(&NodePath::root()).unwrap(), ["c"]);
        assert!(model.end_session(ending).is_empty(), "a session ends once");
    }
}
