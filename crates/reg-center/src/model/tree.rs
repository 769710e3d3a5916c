//! The nodes of a registry.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::{Change, Node, NodePath, SessionId};

/// All nodes of a registry, ordered by path so that a subtree is a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    nodes: BTreeMap<NodePath, Node>,
}

impl Tree {
    pub(super) fn get(&self, path: &NodePath) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// Stores a node and returns the former one.
    pub(super) fn insert(&mut self, node: Node) -> Option<Node> {
        self.nodes.insert(node.path.clone(), node)
    }

    pub(super) fn remove(&mut self, path: &NodePath) -> Option<Node> {
        self.nodes.remove(path)
    }

    /// Stores one change of a transaction.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Put(node) | Change::Entry(node) => drop(self.insert(node.clone())),
            Change::Gone { path, .. } => drop(self.remove(path)),
            Change::Init | Change::Ready => {}
        }
    }

    /// Returns `root` and all nodes below it.
    ///
    /// Paths that share the text of the root (`/a-b` beside `/a`) sort between a node and its
    /// descendants, so they are filtered out.
    pub(super) fn within<'a>(&'a self, root: &'a NodePath) -> impl Iterator<Item = &'a Node> {
        self.nodes
            .range((Bound::Included(root), Bound::Unbounded))
            .take_while(|(path, _)| path.as_str().starts_with(root.as_str()))
            .map(|(_, node)| node)
            .filter(|node| node.path.is_within(root))
    }

    pub(super) fn children<'a>(
        &'a self,
        parent: &'a NodePath,
    ) -> impl Iterator<Item = &'a NodePath> {
        self.within(parent)
            .map(|node| &node.path)
            .filter(|path| path.below(parent).is_some_and(|rest| !rest.contains('/')))
    }

    pub(super) fn owned_by(&self, session: SessionId) -> impl Iterator<Item = &NodePath> {
        self.nodes.values().filter(move |n| n.stat.owner == Some(session)).map(|n| &n.path)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Revision, Stat, Version};

    #[test]
    fn a_subtree_excludes_paths_with_the_same_prefix_and_children_exclude_grandchildren() {
        let mut tree = Tree::default();
        let stat = Stat {
            version: Version(0),
            created: Revision(1),
            modified: Revision(1),
            modified_at: None,
            owner: None,
        };
        for text in ["/a", "/a-b", "/a/x", "/a/x/deep", "/a/y", "/ab", "/b"] {
            let path = NodePath::parse(text).unwrap();
            tree.insert(Node { path, data: Bytes::new(), stat });
        }
        let root = NodePath::parse("/a").unwrap();
        let within: Vec<_> = tree.within(&root).map(|n| n.path.as_str()).collect();
        assert_eq!(within, ["/a", "/a/x", "/a/x/deep", "/a/y"]);
        let children: Vec<_> = tree.children(&root).map(NodePath::name).collect();
        assert_eq!(children, ["x", "y"]);
    }
}
