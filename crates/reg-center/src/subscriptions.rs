//! The feeds of one center, for backends.

use std::collections::BTreeMap;

use crate::{NodePath, Scope};

/// The feeds of one center with their scopes, for backends that find the feeds of a change
/// themselves.
///
/// A center may have a thousand feeds. A change visits only those whose root is the node or one of
/// its ancestors.
#[derive(Debug)]
pub struct Subscriptions<S> {
    by_root: BTreeMap<NodePath, Vec<(Scope, S)>>,
}

impl<S> Default for Subscriptions<S> {
    fn default() -> Self {
        Self { by_root: BTreeMap::new() }
    }
}

impl<S> Subscriptions<S> {
    /// Adds a feed.
    pub fn add(&mut self, scope: Scope, sender: S) {
        self.by_root.entry(scope.root().clone()).or_default().push((scope, sender));
    }

    /// Calls `send` for each feed whose scope covers the node, and removes the feeds for which it
    /// returns false.
    pub fn visit(&mut self, path: &NodePath, mut send: impl FnMut(&mut S) -> bool) {
        for root in std::iter::successors(Some(path.clone()), NodePath::parent) {
            let Some(feeds) = self.by_root.get_mut(&root) else { continue };
            feeds.retain_mut(|(scope, sender)| !scope.contains(path) || send(sender));
            if feeds.is_empty() {
                self.by_root.remove(&root);
            }
        }
    }

    /// Calls `send` for each feed of exactly this scope, and removes the feeds for which it returns
    /// false.
    pub fn visit_scope(&mut self, scope: &Scope, mut send: impl FnMut(&mut S) -> bool) {
        let Some(feeds) = self.by_root.get_mut(scope.root()) else { return };
        feeds.retain_mut(|(other, sender)| other != scope || send(sender));
        if feeds.is_empty() {
            self.by_root.remove(scope.root());
        }
    }

    /// Calls `send` for each feed, ordered by root. Removes the feeds for which it returns false.
    pub fn visit_all(&mut self, mut send: impl FnMut(&Scope, &mut S) -> bool) {
        self.by_root.retain(|_, feeds| {
            feeds.retain_mut(|(scope, sender)| send(scope, sender));
            !feeds.is_empty()
        });
    }

    /// Returns true if there is no feed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_root.is_empty()
    }

    /// Ends all feeds.
    pub fn clear(&mut self) {
        self.by_root.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;
    use crate::feed::{self, FeedSender};

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    #[test]
    fn a_change_reaches_the_feeds_that_cover_it_and_no_dropped_ones() {
        let mut subscriptions = Subscriptions::default();
        let parts = Scope::parts_of(path("/a"), [path("/a/b")]);
        let scopes = [Scope::all_of(NodePath::root()), parts, Scope::all_of(path("/ab"))];
        let feeds = scopes.map(|scope| {
            let (sender, feed) = feed::channel();
            subscriptions.add(scope, sender);
            feed
        });
        let gone = |text: &str| Change::Gone { path: path(text), revision: None };
        let mut deliver = |text: &str| {
            subscriptions.visit(&path(text), |sender: &mut FeedSender| sender.send(gone(text)));
            subscriptions.is_empty()
        };
        assert!(!deliver("/a/b/c") && !deliver("/a/x"));
        let received = feeds.map(|mut feed| {
            let changes = std::iter::from_fn(|| feed.try_next());
            changes.collect::<Vec<_>>()
        });
        let expected = [vec![gone("/a/b/c"), gone("/a/x")], vec![gone("/a/b/c")], vec![]];
        assert_eq!(received, expected);
        // The readers are dropped now.
        assert!(!deliver("/a/b") && deliver("/ab"), "no feed is left");
    }
}
