//! A feed reader that checks the order of changes.

use std::collections::{BTreeMap, BTreeSet};

use super::failure::{equal, fail, holds};
use super::stage::{Actor, Late, path};
use crate::{Change, Feed, Node, NodePath, Scope};

/// Ends the case: a part of a snapshot came outside of one.
pub(super) fn out_of_order(part: &str) -> ! {
    fail("the order of a snapshot", "Init before it", format_args!("{part} without Init"))
}

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
                let change = self.feed.next().await;
                let change = change.unwrap_or_else(|| fail("the feed", what, "its end"));
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
                let change = self.feed.next().await;
                self.apply(change.unwrap_or_else(|| fail("the feed", "changes", "its end")));
            }
        };
        if let Err(Late(patience)) = actor.stage.in_time(read).await {
            let check = format_args!("the feed delivers the final state within {patience:?}");
            let found = if self.n_snapshots == 0 {
                "no complete snapshot".to_owned()
            } else {
                format!("{:?} in the feed; number of snapshots: {}", self.nodes(), self.n_snapshots)
            };
            fail(check, format_args!("{truth:?} as read"), found);
        }
    }

    /// Reads the pending changes until the feed ends.
    pub(super) async fn ends(&mut self, actor: &Actor<'_>) {
        let drain = async { while self.feed.next().await.is_some() {} };
        actor.stage.within("the feed of a closed center ends", drain).await;
    }

    fn is_complete(&self) -> bool {
        self.n_snapshots > 0 && self.snapshot.is_none()
    }

    /// Applies a change. Ignores nodes that are within the root but outside the scope.
    fn apply(&mut self, change: Change) {
        if let Some(path) = change.path() {
            let root = self.scope.root();
            holds!(path.is_within(root), path, "only nodes within the root {root} of the feed");
            if !self.scope.contains(path) {
                return;
            }
        }
        match change {
            Change::Init => self.snapshot = Some(BTreeMap::new()),
            Change::Entry(node) => {
                self.seen.insert(node.path.clone());
                let snapshot = self.snapshot.as_mut();
                let snapshot = snapshot.unwrap_or_else(|| out_of_order("an Entry"));
                let twice = snapshot.insert(node.path.clone(), node);
                equal!(twice, None, "the earlier entry of the same node in a snapshot");
            }
            Change::Ready => {
                let snapshot = self.snapshot.take();
                let snapshot = snapshot.unwrap_or_else(|| out_of_order("Ready"));
                for (path, new) in &snapshot {
                    self.check_order(path, new);
                }
                self.nodes = snapshot;
                self.n_snapshots += 1;
            }
            Change::Put(node) => {
                holds!(self.is_complete(), node, "Init, entries and Ready before a change");
                self.check_order(&node.path, &node);
                let again = self.nodes.get(&node.path) == Some(&node);
                holds!(!again, node, "each state of {} once", node.path);
                self.seen.insert(node.path.clone());
                self.nodes.insert(node.path.clone(), node);
            }
            Change::Gone { path, .. } => {
                holds!(self.is_complete(), path, "Init, entries and Ready before a deletion");
                self.nodes.remove(&path);
            }
        }
    }

    fn check_order(&self, path: &NodePath, new: &Node) {
        if let Some(old) = self.nodes.get(path) {
            holds!(
                new.stat.modified >= old.stat.modified,
                new,
                "a state of {path} that is not older than {old:?}"
            );
            holds!(
                new.stat.created >= old.stat.created,
                new,
                "a state of {path} that is not older than {old:?}"
            );
        }
    }
}
