//! The state that a transaction reads: nodes and children at one revision, and the key of its
//! session.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use reg_center::{Node, NodePath, Op};

use crate::client::Failure;
use crate::client::messages::{KeyValue, RangeRequest};
use crate::keys::child_towards;
use crate::ranges::{Consistency, ranges};
use crate::session::Link;
use crate::value;

/// A stored node, in both forms.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) kv: KeyValue,
    pub(super) node: Result<Node, String>,
}

/// The registry as a transaction has read it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) revision: i64,
    /// Revision of the last write of the session's key; `None` if the session is over.
    pub(super) guard: Option<i64>,
    /// All nodes that the operations can depend on; `None` for absent ones.
    pub(super) nodes: BTreeMap<NodePath, Option<Stored>>,
    /// The children of each node to delete. If there are more than operations, some are left out.
    pub(super) children: BTreeMap<NodePath, BTreeSet<NodePath>>,
}

impl State {
    pub(super) async fn read(
        link: &Link,
        ops: &[Op],
        consistency: Consistency,
    ) -> Result<Self, Failure> {
        let paths: Vec<NodePath> = needed_nodes(ops).into_iter().collect();
        let deleted: Vec<NodePath> = deleted_nodes(ops).into_iter().collect();
        let key = |key: Bytes| RangeRequest { key, ..RangeRequest::default() };
        let mut requests = vec![key(link.keys.session(link.session))];
        requests.extend(paths.iter().map(|path| key(link.keys.node(path))));
        // A key that no operation names is enough to see that a child remains.
        let limit = i64::try_from(ops.len() + 1).unwrap_or(i64::MAX);
        requests.extend(deleted.iter().map(|path| {
            let range = link.keys.below(path);
            let (key, range_end) = (range.begin, range.end);
            RangeRequest { key, range_end, limit, keys_only: true, ..RangeRequest::default() }
        }));
        let (revision, answers) = ranges(link, requests, consistency).await?;
        let mut answers = answers.into_iter();
        let session = answers.next().and_then(|answer| answer.kvs.into_iter().next());
        let mut state = Self {
            revision,
            guard: session.map(|kv| kv.mod_revision),
            nodes: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        for (path, answer) in paths.into_iter().zip(&mut answers) {
            let stored = answer.kvs.into_iter().next().map(|kv| {
                let node = value::decode(path.clone(), &kv);
                Stored { kv, node }
            });
            state.nodes.insert(path, stored);
        }
        for (path, answer) in deleted.into_iter().zip(&mut answers) {
            let below = answer.kvs.iter().filter_map(|kv| link.keys.path(&kv.key));
            let children = below.filter_map(|below| child_towards(&path, &below)).collect();
            state.children.insert(path, children);
        }
        Ok(state)
    }
}

/// Returns the nodes of the operations, and all nodes above those that are created.
fn needed_nodes(ops: &[Op]) -> BTreeSet<NodePath> {
    let mut nodes = BTreeSet::new();
    for op in ops {
        let path = op.path().clone();
        match op {
            Op::Create { .. } => {
                nodes.extend(std::iter::successors(Some(path), NodePath::parent));
            }
            Op::Put { .. } | Op::Delete { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => {
                nodes.insert(path);
            }
        }
    }
    nodes
}

fn deleted_nodes(ops: &[Op]) -> BTreeSet<NodePath> {
    let deletions = ops.iter().filter(|op| matches!(op, Op::Delete { .. }));
    deletions.map(|op| op.path().clone()).collect()
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, Txn};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    #[test]
    fn a_transaction_reads_its_nodes_and_the_parents_of_new_ones() {
        let txn = Txn::new()
            .create(path("/a/b/c"), "", Lifetime::Persistent)
            .put(path("/d/e"), "")
            .delete(path("/f/g"))
            .check_absent(path("/h/i"));
        let nodes: Vec<_> = needed_nodes(txn.ops()).iter().map(ToString::to_string).collect();
        assert_eq!(nodes, ["/", "/a", "/a/b", "/a/b/c", "/d/e", "/f/g", "/h/i"]);
        assert_eq!(deleted_nodes(txn.ops()), BTreeSet::from([path("/f/g")]));
    }
}
