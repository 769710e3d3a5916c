//! A feed reader that compares every change with the history of its node.

use std::collections::{BTreeMap, BTreeSet};

use super::replay::Numbers;
use super::{NodeState, Reference};
use crate::contract::failure::{equal, fail, holds};
use crate::contract::mirror::out_of_order;
use crate::{Change, Feed, Node, NodePath};

/// A copy of a subtree that only a feed updates.
pub(super) struct Follower {
    pub(super) client: usize,
    root: NodePath,
    feed: Feed,
    /// Number of states of each node's history up to the last delivered one.
    delivered: BTreeMap<String, usize>,
    nodes: BTreeMap<String, NodeState>,
    /// The nodes of a snapshot that is not complete.
    snapshot: Option<BTreeMap<String, NodeState>>,
    is_begun: bool,
}

impl Follower {
    pub(super) fn new(client: usize, root: NodePath, feed: Feed) -> Self {
        Self {
            client,
            root,
            feed,
            delivered: BTreeMap::new(),
            nodes: BTreeMap::new(),
            snapshot: None,
            is_begun: false,
        }
    }

    /// Applies the pending changes.
    pub(super) fn drain(&mut self, reference: &Reference, numbers: &mut Numbers) {
        while let Some(change) = self.feed.try_next() {
            self.take(change, reference, numbers);
        }
    }

    /// Waits until the copy equals the expected state of the registry.
    pub(super) async fn converge(&mut self, reference: &Reference, numbers: &mut Numbers) {
        while !self.is_complete(reference) {
            let change = self.feed.next().await;
            let change = change.unwrap_or_else(|| fail("the feed", "changes", "its end"));
            self.take(change, reference, numbers);
        }
    }

    /// Waits for the end of the feed after its client was closed.
    pub(super) async fn end(&mut self, reference: &Reference, numbers: &mut Numbers) {
        while let Some(change) = self.feed.next().await {
            self.take(change, reference, numbers);
        }
    }

    /// Ends the case, because the feed has not delivered the final state in time.
    pub(super) fn fail_as_late(&self, reference: &Reference) -> ! {
        let wanted: Vec<_> = reference.subtree(self.root.as_str()).collect();
        let Self { client, root, nodes, .. } = self;
        let check = format_args!("the final state in the feed of client {client} at {root}");
        fail(check, format_args!("{wanted:?}"), format_args!("{nodes:?}"))
    }

    fn is_complete(&self, reference: &Reference) -> bool {
        let nodes = self.nodes.iter().map(|(path, node)| (path.as_str(), node));
        self.is_begun && self.snapshot.is_none() && nodes.eq(reference.subtree(self.root.as_str()))
    }

    fn take(&mut self, change: Change, reference: &Reference, numbers: &mut Numbers) {
        match change {
            Change::Init => self.snapshot = Some(BTreeMap::new()),
            Change::Entry(node) => {
                let state = self.state(&node, numbers);
                let path = node.path.to_string();
                // A snapshot may repeat the last delivered state.
                let from = self.delivered.get(&path).map_or(0, |count| count.saturating_sub(1));
                self.find(&path, from, Some(&state), reference);
                let snapshot = self.snapshot.as_mut();
                let snapshot = snapshot.unwrap_or_else(|| out_of_order("an Entry"));
                let twice = snapshot.insert(path, state);
                equal!(twice, None, "the earlier entry of {} in a snapshot", node.path);
            }
            Change::Ready => {
                let snapshot = self.snapshot.take();
                let snapshot = snapshot.unwrap_or_else(|| out_of_order("Ready"));
                let known: BTreeSet<_> = self.nodes.keys().cloned().collect();
                for gone in known.into_iter().filter(|path| !snapshot.contains_key(path)) {
                    self.find(&gone, self.delivered[&gone], None, reference);
                }
                self.nodes = snapshot;
                self.is_begun = true;
            }
            Change::Put(node) => {
                self.assert_follows_a_snapshot(&node.path);
                let state = self.state(&node, numbers);
                let path = node.path.to_string();
                self.find(
                    &path,
                    self.delivered.get(&path).copied().unwrap_or(0),
                    Some(&state),
                    reference,
                );
                self.nodes.insert(path, state);
            }
            Change::Gone { path, .. } => {
                self.assert_follows_a_snapshot(&path);
                let path = path.to_string();
                let delivered = self.delivered.get(&path).copied().unwrap_or(0);
                let known = self.nodes.remove(&path).is_some();
                let mut later = reference.history(&path).iter().skip(delivered);
                // The deletion of an unknown node may be delivered twice, and also if one
                // transaction created and deleted it, which no state of its history shows.
                if known || later.any(Option::is_none) {
                    self.find(&path, delivered, None, reference);
                }
            }
        }
    }

    /// Finds a state among the states of the node's history that come after the first `from`.
    fn find(&mut self, path: &str, from: usize, state: Option<&NodeState>, reference: &Reference) {
        let history = reference.history(path);
        let found = history.iter().skip(from).position(|past| past.as_ref() == state);
        let root = &self.root;
        let found = found.unwrap_or_else(|| {
            fail(
                format_args!("feed of {root}: the state of {path}"),
                format_args!("one of {history:?} after the first {from}"),
                format_args!("{state:?}"),
            )
        });
        self.delivered.insert(path.to_owned(), from + found + 1);
    }

    fn state(&self, node: &Node, numbers: &mut Numbers) -> NodeState {
        holds!(
            node.path.is_within(&self.root),
            node.path,
            "only nodes within the root {} of the feed",
            self.root
        );
        numbers.state(node)
    }

    fn assert_follows_a_snapshot(&self, path: &NodePath) {
        let is_in_order = self.is_begun && self.snapshot.is_none();
        holds!(is_in_order, path, "feed of {}: a complete snapshot before a change", self.root);
    }
}
