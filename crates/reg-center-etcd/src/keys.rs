//! Keys of nodes and sessions.
//!
//! The key of a node is the namespace followed by its path, as plain text, so that
//! `etcdctl get --prefix /jobs/report` shows a job. The root is the namespace itself.
//!
//! Keys of sessions have an empty segment (`/jobs//sessions/7587…`), which no node path has. So
//! they are below the namespace, and one permission covers both.

use bytes::Bytes;
use reg_center::{NodePath, SessionId};

/// The keys of one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// A node path, not the root.
    namespace: NodePath,
}

/// A range of keys; the end is excluded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyRange {
    pub(crate) begin: Bytes,
    pub(crate) end: Bytes,
}

impl Keys {
    pub(crate) fn new(namespace: NodePath) -> Self {
        Self { namespace }
    }

    /// Returns the key of a node.
    pub(crate) fn node(&self, path: &NodePath) -> Bytes {
        Bytes::from(self.text(path))
    }

    /// Returns the key of a session.
    pub(crate) fn session(&self, session: SessionId) -> Bytes {
        Bytes::from(format!("{}//sessions/{:x}", self.namespace, session.0))
    }

    /// Returns the range of all nodes below a node.
    pub(crate) fn below(&self, path: &NodePath) -> KeyRange {
        let text = self.text(path);
        // `0` follows the slash.
        KeyRange { begin: format!("{text}/").into(), end: format!("{text}0").into() }
    }

    /// Returns a range with a node and all nodes below it.
    ///
    /// It also has the siblings whose names continue the name of the node with a character before
    /// the slash, such as `a-b` beside `a`. A reader leaves them out.
    pub(crate) fn subtree(&self, path: &NodePath) -> KeyRange {
        let text = self.text(path);
        KeyRange { end: format!("{text}0").into(), begin: text.into() }
    }

    /// Returns the node of a key; `None` for keys of sessions and of other programs.
    pub(crate) fn path(&self, key: &[u8]) -> Option<NodePath> {
        let below = std::str::from_utf8(key).ok()?.strip_prefix(self.namespace.as_str())?;
        if below.is_empty() {
            return Some(NodePath::root());
        }
        NodePath::parse(below).ok().filter(|path| !path.is_root())
    }

    /// Returns the bytes that an operation takes in a request beside its path and its data: the
    /// namespace twice, and the numbers of a condition and a write.
    pub(crate) fn bytes_of_op(&self) -> usize {
        2 * self.namespace.as_str().len() + 100
    }

    fn text(&self, path: &NodePath) -> String {
        let below = if path.is_root() { "" } else { path.as_str() };
        format!("{}{below}", self.namespace)
    }
}

/// Returns the first key after a key.
pub(crate) fn next_key(key: &[u8]) -> Bytes {
    [key, b"\0"].concat().into()
}

/// Returns the child of `path` that is `below` or above it.
pub(crate) fn child_towards(path: &NodePath, below: &NodePath) -> Option<NodePath> {
    let name = below.below(path)?.split('/').next()?;
    path.join(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    #[test]
    fn keys_and_paths_are_inverse_and_other_keys_have_no_path() {
        let keys = Keys::new(path("/jobs"));
        for (at, key) in
            [("/", "/jobs"), ("/report/a b", "/jobs/report/a b"), ("/作业", "/jobs/作业")]
        {
            assert_eq!(keys.node(&path(at)), key);
            assert_eq!(keys.path(key.as_bytes()), Some(path(at)), "{at}");
        }
        let session = keys.session(SessionId(0x75));
        assert_eq!(session, "/jobs//sessions/75");
        for key in [&session[..], b"/job", b"/jobs2", b"/jobs/", b"/jobs/\xff", b"/other/report"] {
            assert_eq!(keys.path(key), None, "{key:?}");
        }
    }

    #[test]
    fn a_subtree_has_all_nodes_below_and_no_deeper_sibling() {
        let keys = Keys::new(path("/jobs"));
        let within = |range: &KeyRange, at: &str| {
            let key = keys.node(&path(at));
            range.begin <= key && key < range.end
        };
        let (subtree, below) = (keys.subtree(&path("/a")), keys.below(&path("/a")));
        for (at, in_subtree, in_below) in [
            ("/a", true, false),
            ("/a/x", true, true),
            ("/a/x/y", true, true),
            ("/a-b", true, false),
            ("/ab", false, false),
            ("/a0", false, false),
        ] {
            assert_eq!((within(&subtree, at), within(&below, at)), (in_subtree, in_below), "{at}");
        }
        assert!(within(&keys.below(&NodePath::root()), "/a"));
    }

    #[test]
    fn the_child_towards_a_descendant_is_its_ancestor() {
        assert_eq!(child_towards(&path("/a"), &path("/a/b/c")), Some(path("/a/b")));
        assert_eq!(child_towards(&path("/"), &path("/a")), Some(path("/a")));
        assert_eq!(child_towards(&path("/a"), &path("/ab")), None);
    }
}
