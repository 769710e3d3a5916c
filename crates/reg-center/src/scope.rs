//! The scope of a feed.

use std::collections::BTreeSet;

use crate::NodePath;

/// The nodes that a feed covers: a subtree, or some of the subtrees within it.
///
/// # Examples
/// ```
/// use reg_center::{NodePath, Scope};
///
/// let path = |text| NodePath::parse(text);
/// let scope = Scope::parts_of(path("/job")?, [path("/job/config")?, path("/job/sharding/7")?]);
/// assert!(scope.contains(&path("/job/sharding/7/instance")?));
/// assert!(!scope.contains(&path("/job/sharding/77")?));
/// assert!(Scope::all_of(path("/job")?).contains(&path("/job/sharding/77")?));
/// # Ok::<(), reg_center::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    root: NodePath,
    /// No part is within another one.
    parts: BTreeSet<NodePath>,
}

impl Scope {
    /// Returns the scope of a whole subtree, `root` itself included.
    #[must_use]
    pub fn all_of(root: NodePath) -> Self {
        let parts = BTreeSet::from([root.clone()]);
        Self { root, parts }
    }

    /// Returns the scope of the subtrees at these nodes.
    ///
    /// The nodes need not exist. Parts outside of `root` are left out.
    #[must_use]
    pub fn parts_of(root: NodePath, parts: impl IntoIterator<Item = NodePath>) -> Self {
        let parts: BTreeSet<_> = parts.into_iter().filter(|part| part.is_within(&root)).collect();
        let outermost = |part: &&NodePath| {
            let above = part.parent();
            above.is_none_or(|above| !has_ancestor(&parts, above))
        };
        let parts = parts.iter().filter(outermost).cloned().collect();
        Self { root, parts }
    }

    /// Returns the node whose subtree contains the whole scope.
    #[must_use]
    pub fn root(&self) -> &NodePath {
        &self.root
    }

    /// Returns the roots of the parts, in ascending order. No part is within another one.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = &NodePath> {
        self.parts.iter()
    }

    /// Returns true if the scope covers a node.
    #[must_use]
    pub fn contains(&self, path: &NodePath) -> bool {
        has_ancestor(&self.parts, path.clone())
    }
}

/// Returns true if the set has this node or one of its ancestors.
fn has_ancestor(set: &BTreeSet<NodePath>, path: NodePath) -> bool {
    std::iter::successors(Some(path), NodePath::parent).any(|path| set.contains(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn parts_of(root: &str, parts: &[&str]) -> Scope {
        Scope::parts_of(path(root), parts.iter().map(|part| path(part)))
    }

    #[test]
    fn parts_within_others_and_outside_the_root_are_left_out() {
        let rows: [(&str, &[&str], &[&str]); 5] = [
            ("/job", &["/job/b", "/job/a", "/job/a/x/y"], &["/job/a", "/job/b"]),
            ("/job", &["/job", "/job/a"], &["/job"]),
            ("/job", &["/jobs", "/", "/job-2/a"], &[]),
            ("/", &["/a/b", "/a", "/b/c"], &["/a", "/b/c"]),
            ("/job", &["/job/a", "/job/ab"], &["/job/a", "/job/ab"]),
        ];
        for (root, parts, expected) in rows {
            let scope = parts_of(root, parts);
            let found: Vec<_> = scope.parts().map(NodePath::as_str).collect();
            assert_eq!(found, expected, "{parts:?} of {root}");
        }
    }

    #[test]
    fn a_scope_contains_its_parts_and_their_descendants() {
        let scope = parts_of("/job", &["/job/a", "/job/b/c"]);
        let rows = [
            ("/job/a", true),
            ("/job/a/x/y", true),
            ("/job/ab", false),
            ("/job/b", false),
            ("/job/b/c", true),
            ("/job", false),
            ("/", false),
        ];
        for (at, expected) in rows {
            assert_eq!(scope.contains(&path(at)), expected, "{at}");
        }
        assert!(Scope::all_of(NodePath::root()).contains(&path("/a")));
        assert!(!parts_of("/job", &[]).contains(&path("/job")));
    }
}
