//! A feed reader that checks the order of changes.

use std::collections::{BTreeMap, BTreeSet};

use super::stage::{Actor, path};
use crate::{Change, Feed, Node, NodePath, Scope};

/// A copy of a subtree, or of parts of it, that only a feed updates.
pub(super) struct Mirror {
    scope: Scope,
    feed: Feed,
    nodes: BTreeMap<NodePath, Node>,
    /// The nodes of a snapshot that is not complete.
    snapshot: Option<BTreeMap<NodePath, Node>>,
    n_snapshots: usize,
    /// All nodes that the feed has ever delivered.
    seen: BTreeSet<NodePath>,
}

impl Mirror {
    pub(super) fn of(actor: &Actor<'_>, root: &str) -> Self {
        Self::new(Scope::all_of(path(root)), actor.feed(root))
    }

    pub(super) fn of_parts(actor: &Actor<'_>, root: &str, parts: &[&str]) -> Self {
        let scope = Scope::parts_of(path(root), parts.iter().map(|part| path(part)));
        let feed = actor.center.watch_parts(&scope);
        Self::new(scope, feed)
    }

    fn new(scope: Scope, feed: Feed) -> Self {
        Self {
            scope,
            feed,
            nodes: BTreeMap::new(),
            snapshot: None,
            n_snapshots: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Returns how many snapshots were complete so far.
    pub(super) fn n_snapshots(&self) -> usize {
        self.n_snapshots
    }

    pub(super) fn get(&self, at: &str) -> Option<&Node> {
        self.nodes.get(&path(at))
    }

    pub(super) fn has_seen(&self, at: &str) -> bool {
        self.seen.contains(&path(at))
    }

    pub(super) fn nodes(&self) -> Vec<Node> {
        self.nodes.values().cloned().collect()
    }

    /// Reads the feed until the copy is complete and `wanted` accepts it.
    pub(super) async fn until(
        &mut self,
        actor: &Actor<'_>,
        what: &str,
        wanted: impl Fn(&Self) -> bool,
    ) {
        let read = async {
            while !(self.is_complete() && wanted(self)) {
                let change = self.feed.next().await.unwrap_or_else(|| panic!("feed ended: {what}"));
                self.apply(change);
            }
        };
        actor.stage.within(what, read).await;
    }

    /// Reads the feed until the copy equals what the registry holds, creation revisions included.
    pub(super) async fn converge(&mut self, actor: &Actor<'_>) {
        let mut truth = actor.tree(self.scope.root().as_str()).await;
        truth.retain(|node| self.scope.contains(&node.path));
        let read = async {
            while !(self.is_complete() && self.nodes.values().eq(&truth)) {
                let change = self.feed.next().await.expect("the feed is open");
                self.apply(change);
            }
        };
        actor.stage.within(&format!("the feed delivers the final state {truth:?}"), read).await;
    }

    /// Reads the pending changes and returns true if the feed has ended.
    pub(super) async fn ends(&mut self, actor: &Actor<'_>) -> bool {
        let drain = async { while self.feed.next().await.is_some() {} };
        actor.stage.within("the feed ends", drain).await;
        true
    }

    fn is_complete(&self) -> bool {
        self.n_snapshots > 0 && self.snapshot.is_none()
    }

    /// Applies a change. Ignores nodes that are within the root but outside the scope.
    fn apply(&mut self, change: Change) {
        if let Some(path) = change.path() {
            let root = self.scope.root();
            assert!(path.is_within(root), "{path} is not within {root}");
            if !self.scope.contains(path) {
                return;
            }
        }
        match change {
            Change::Init => self.snapshot = Some(BTreeMap::new()),
            Change::Entry(node) => {
                self.seen.insert(node.path.clone());
                let snapshot = self.snapshot.as_mut().expect("an Entry follows Init");
                let twice = snapshot.insert(node.path.clone(), node);
                assert_eq!(twice, None, "a snapshot has each node once");
            }
            Change::Ready => {
                let snapshot = self.snapshot.take().expect("Ready follows Init");
                for (path, new) in &snapshot {
                    self.check_order(path, new);
                }
                self.nodes = snapshot;
                self.n_snapshots += 1;
            }
            Change::Put(node) => {
                assert!(self.is_complete(), "a change follows a snapshot: {node:?}");
                self.check_order(&node.path, &node);
                let again = self.nodes.get(&node.path) == Some(&node);
                assert!(!again, "a state is delivered once: {node:?}");
                self.seen.insert(node.path.clone());
                self.nodes.insert(node.path.clone(), node);
            }
            Change::Gone { path, .. } => {
                assert!(self.is_complete(), "a change follows a snapshot: {path} is gone");
                self.nodes.remove(&path);
            }
        }
    }

    fn check_order(&self, path: &NodePath, new: &Node) {
        if let Some(old) = self.nodes.get(path) {
            assert!(new.stat.modified >= old.stat.modified, "{path} went back: {old:?} to {new:?}");
            assert!(new.stat.created >= old.stat.created, "{path} went back: {old:?} to {new:?}");
        }
    }
}
