//! Changes of a few nodes, and a reader that applies them.

use std::collections::BTreeMap;

use bytes::Bytes;
use reg_center::{Node, NodePath, Revision, Stat, Version};

use crate::feed::Change;

pub(crate) fn put(name: &str, version: u32) -> Change {
    Change::Put(node(name, version))
}

pub(crate) fn entry(name: &str, version: u32) -> Change {
    Change::Entry(node(name, version))
}

pub(crate) fn gone(name: &str) -> Change {
    Change::Gone { path: path(name), revision: None }
}

fn path(name: &str) -> NodePath {
    NodePath::root().join(name).expect("a valid name")
}

fn node(name: &str, version: u32) -> Node {
    let modified = Revision(u64::from(version) + 1);
    let stat = Stat {
        version: Version(version),
        created: Revision(1),
        modified,
        modified_at: None,
        owner: None,
    };
    Node { path: path(name), data: Bytes::new(), stat }
}

/// A reader's copy: the version of each node. It asserts the order of the feed.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    known: BTreeMap<String, u32>,
    snapshot: Option<BTreeMap<String, u32>>,
}

impl Reader {
    pub(crate) fn take(&mut self, change: Change) {
        match change {
            Change::Init => self.snapshot = Some(BTreeMap::new()),
            Change::Entry(node) => {
                let snapshot = self.snapshot.as_mut().expect("an Entry follows Init");
                snapshot.insert(node.path.to_string(), node.stat.version.0);
            }
            Change::Ready => self.known = self.snapshot.take().expect("Ready follows Init"),
            Change::Put(node) => {
                assert!(self.snapshot.is_none(), "a change follows the snapshot");
                let new = node.stat.version.0;
                let old = self.known.insert(node.path.to_string(), new);
                assert!(old < Some(new), "{} goes from {old:?} to {new}", node.path);
            }
            Change::Gone { path, .. } => {
                assert!(self.snapshot.is_none(), "a change follows the snapshot");
                self.known.remove(path.as_str());
            }
        }
    }

    pub(crate) fn assert_knows(&self, wanted: &[(&str, u32)]) {
        let wanted: BTreeMap<_, _> =
            wanted.iter().map(|(name, version)| (path(name).to_string(), *version)).collect();
        assert_eq!(self.known, wanted);
    }
}
