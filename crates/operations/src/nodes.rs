//! The nodes of a job, stored in little memory.
//!
//! A namespace can have a million items with three or more nodes each. A node as a value of its
//! own would need about 250 bytes beside its data: the path twice, room for each field, and
//! separate allocations. So the nodes of an item are stored in one buffer, without their paths.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};
use serde::{Deserialize, Serialize};

/// Paths of the nodes of an item, below the job's root: the texts before and after the item number.
///
/// The position in this table is stored. Nodes with other paths are stored as they are.
const ITEM_NODES: [(&str, &str); 14] = [
    ("ledger/", ""),
    ("sharding/", ""),
    ("sharding/", "/instance"),
    ("sharding/", "/running"),
    ("sharding/", "/misfire"),
    ("sharding/", "/failover"),
    ("sharding/", "/failovering"),
    ("sharding/", "/disabled"),
    ("coordination/runs/", ""),
    ("coordination/checkpoints/", ""),
    ("leader/failover/items/", ""),
    ("guarantee/started/", ""),
    ("guarantee/completed/", ""),
    ("coordination/progress/", ""),
];

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nodes {
    root: NodePath,
    /// The nodes of each item, as [`Stored`] values.
    items: BTreeMap<u32, Box<[u8]>>,
    others: BTreeMap<NodePath, Node>,
}

/// A node of an item. Its path is the position of its form in [`ITEM_NODES`].
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    form: u8,
    version: u32,
    created: u64,
    modified: u64,
    modified_at: Option<StoredTime>,
    owner: Option<i64>,
    data: &'a [u8],
}

/// A time, as its difference from 1970 UTC.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum StoredTime {
    After(Duration),
    Before(Duration),
}

impl Nodes {
    /// Returns an empty store for the job with this root.
    pub(crate) fn new(root: NodePath) -> Self {
        Self { root, items: BTreeMap::new(), others: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.others.is_empty()
    }

    /// Adds a node, or replaces the one at the same path.
    pub(crate) fn insert(&mut self, node: Node) {
        match self.item_node(&node.path) {
            Some((item, form)) => self.replace(item, form, Some(&node)),
            None => {
                self.others.insert(node.path.clone(), node);
            }
        }
    }

    pub(crate) fn remove(&mut self, path: &NodePath) {
        match self.item_node(path) {
            Some((item, form)) => self.replace(item, form, None),
            None => {
                self.others.remove(path);
            }
        }
    }

    pub(crate) fn get(&self, path: &NodePath) -> Option<Node> {
        let Some((item, form)) = self.item_node(path) else {
            return self.others.get(path).cloned();
        };
        let node = stored(self.items.get(&item)?).find(|node| node.form == form)?;
        Some(node.node(path.clone()))
    }

    /// Returns the nodes that belong to no item.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Node> + Clone {
        self.others.values()
    }

    /// Returns all nodes, those of items first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Node> {
        let of_items = self.items.iter().flat_map(|(item, buffer)| {
            stored(buffer).map(|node| {
                let path = self.path(*item, node.form);
                node.node(path)
            })
        });
        of_items.chain(self.others.values().cloned())
    }

    /// Returns the item and the form of a path; `None` for a node that is stored as it is.
    fn item_node(&self, path: &NodePath) -> Option<(u32, u8)> {
        let below = path.below(&self.root)?;
        (0_u8..).zip(ITEM_NODES).find_map(|(form, (before, after))| {
            let text = below.strip_prefix(before)?.strip_suffix(after)?;
            let item: u32 = text.parse().ok()?;
            // Another text of the same number, such as `01`, is another path.
            let is_plain = text == "0" || !text.starts_with(['0', '+']);
            is_plain.then_some((item, form))
        })
    }

    fn path(&self, item: u32, form: u8) -> NodePath {
        let (before, after) = ITEM_NODES[usize::from(form)];
        let path = format!("{}/{before}{item}{after}", self.root);
        NodePath::parse(&path).expect("the path was valid when its node was stored")
    }

    /// Replaces the node of this form among those of an item; `None` removes it.
    fn replace(&mut self, item: u32, form: u8, node: Option<&Node>) {
        let former = self.items.get(&item).map_or(&[][..], |buffer| buffer);
        let others = stored(former).filter(|node| node.form != form);
        let mut all: Vec<_> = others.chain(node.map(|node| Stored::of(form, node))).collect();
        // Equal nodes have equal buffers.
        all.sort_unstable_by_key(|node| node.form);
        let mut buffer = Vec::with_capacity(former.len() + node.map_or(0, |n| n.data.len() + 64));
        for node in &all {
            buffer = postcard::to_extend(node, buffer).expect("a vector has room for each value");
        }
        if buffer.is_empty() {
            self.items.remove(&item);
        } else {
            self.items.insert(item, buffer.into());
        }
    }
}

/// Returns the nodes in a buffer.
fn stored(mut buffer: &[u8]) -> impl Iterator<Item = Stored<'_>> {
    std::iter::from_fn(move || {
        if buffer.is_empty() {
            return None;
        }
        let (node, rest) =
            postcard::take_from_bytes(buffer).expect("the buffer was written by this type");
        buffer = rest;
        Some(node)
    })
}

impl<'a> Stored<'a> {
    fn of(form: u8, node: &'a Node) -> Self {
        let Stat { version, created, modified, modified_at, owner } = node.stat;
        Self {
            form,
            version: version.0,
            created: created.0,
            modified: modified.0,
            modified_at: modified_at.map(StoredTime::of),
            owner: owner.map(|session| session.0),
            data: &node.data,
        }
    }

    fn node(self, path: NodePath) -> Node {
        let stat = Stat {
            version: Version(self.version),
            created: Revision(self.created),
            modified: Revision(self.modified),
            modified_at: self.modified_at.map(StoredTime::time),
            owner: self.owner.map(SessionId),
        };
        Node { path, data: self.data.to_vec().into(), stat }
    }
}

impl StoredTime {
    fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        since.map_or_else(|earlier| Self::Before(earlier.duration()), Self::After)
    }

    fn time(self) -> SystemTime {
        match self {
            Self::After(since) => SystemTime::UNIX_EPOCH + since,
            Self::Before(until) => SystemTime::UNIX_EPOCH - until,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(below: &str) -> NodePath {
        NodePath::parse(&format!("/job{below}")).unwrap()
    }

    fn times() -> impl Strategy<Value = Option<SystemTime>> {
        let time = |(is_later, nanos): (bool, u64)| {
            let distance = Duration::from_nanos(nanos);
            let epoch = SystemTime::UNIX_EPOCH;
            if is_later { epoch + distance } else { epoch - distance }
        };
        prop::option::of((any::<bool>(), 0..1_u64 << 62).prop_map(time))
    }

    fn nodes() -> impl Strategy<Value = Node> {
        let paths = prop::sample::select(vec![
            "",
            "/config",
            "/instances/7",
            "/ledger",
            "/ledger/0",
            "/ledger/00",
            "/ledger/+1",
            "/ledger/4294967295",
            "/ledger/4294967296",
            "/ledger/1/x",
            "/sharding/0",
            "/sharding/0/instance",
            "/sharding/0/running",
            "/sharding/0/unknown",
            "/sharding/10/disabled",
            "/coordination/runs/0",
            "/leader/failover/items/10",
        ]);
        let stats = (any::<u32>(), any::<u64>(), any::<u64>(), times(), any::<Option<i64>>());
        let data = prop::collection::vec(any::<u8>(), 0..300);
        (paths, stats, data).prop_map(|(below, stat, data)| {
            let (version, created, modified, modified_at, owner) = stat;
            let stat = Stat {
                version: Version(version),
                created: Revision(created),
                modified: Revision(modified),
                modified_at,
                owner: owner.map(SessionId),
            };
            Node { path: path(below), data: data.into(), stat }
        })
    }

    proptest! {
        /// A store has the same nodes as a map by path, in any order of changes.
        #[test]
        fn stored_nodes_equal_those_of_a_map(
            changes in prop::collection::vec((nodes(), prop::bool::weighted(0.7)), 0..60)
        ) {
            let root = path("");
            let (mut store, mut map) = (Nodes::new(root.clone()), BTreeMap::new());
            for (node, is_kept) in changes {
                if is_kept {
                    store.insert(node.clone());
                    map.insert(node.path.clone(), node);
                } else {
                    store.remove(&node.path);
                    map.remove(&node.path);
                }
                let found: BTreeMap<_, _> = store.iter().map(|n| (n.path.clone(), n)).collect();
                prop_assert_eq!(&found, &map);
                prop_assert_eq!(store.is_empty(), map.is_empty());
                prop_assert!(map.values().all(|node| store.get(&node.path).as_ref() == Some(node)));
            }
            let mut again = Nodes::new(root);
            map.into_values().rev().for_each(|node| again.insert(node));
            prop_assert_eq!(again, store, "the order of the changes does not matter");
        }
    }
}
