//! The nodes of the registry by its log.

use std::collections::BTreeMap;

use reg_center::{Change as FeedChange, Node};

use super::ROOT;
use super::entry::{LoggedOp, in_history};
use crate::txnlog::Write;

/// A node by the log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LoggedNode {
    version: i32,
    data: String,
    /// The session that an ephemeral node belongs to.
    session: Option<i64>,
}

/// All nodes by the log, so far.
#[derive(Debug, Default)]
pub(super) struct LoggedTree {
    nodes: BTreeMap<String, LoggedNode>,
}

impl LoggedTree {
    /// Applies an operation, and returns the writes that it stands for: missing parents come first,
    /// and versions are those of the nodes.
    pub(super) fn apply(&mut self, op: LoggedOp, session: i64) -> Vec<Write> {
        let mut writes = Vec::new();
        match op {
            LoggedOp::Create { path, data, ephemeral } => {
                for (slash, _) in path.match_indices('/').skip(1) {
                    let parent = path[..slash].to_owned();
                    if !self.nodes.contains_key(&parent) {
                        writes.push(self.create(parent, String::new(), None));
                    }
                }
                writes.push(self.create(path, data, ephemeral.then_some(session)));
            }
            LoggedOp::Set { path, data } => {
                let node = self.nodes.entry(path.clone()).or_insert_with(|| LoggedNode {
                    version: -1,
                    data: String::new(),
                    session: None,
                });
                (node.version, node.data) = (node.version + 1, data.clone());
                writes.push(Write::Set { path, data: data.into_bytes(), version: node.version });
            }
            LoggedOp::Delete { path } => {
                self.nodes.remove(&path);
                writes.push(Write::Delete { path });
            }
            LoggedOp::Check { path, version } => {
                let version = version.or_else(|| Some(self.nodes.get(&path)?.version));
                writes.extend(version.map(|version| Write::Check { path, version }));
            }
        }
        writes
    }

    fn create(&mut self, path: String, data: String, session: Option<i64>) -> Write {
        let node = LoggedNode { version: 0, data: data.clone(), session };
        self.nodes.insert(path.clone(), node);
        Write::Create { path, data: data.into_bytes(), ephemeral: session.is_some() }
    }

    /// Removes the ephemeral nodes of a session, and returns their paths.
    pub(super) fn end(&mut self, session: i64) -> Vec<String> {
        let of_session = |node: &LoggedNode| node.session == Some(session);
        let gone = self.nodes.iter().filter(|(_, node)| of_session(node));
        let gone: Vec<String> = gone.map(|(path, _)| path.clone()).collect();
        self.nodes.retain(|_, node| !of_session(node));
        gone
    }

    /// Compares the persistent nodes with those of a snapshot of the whole registry, and returns a
    /// sentence for each difference. Ephemeral nodes come and go meanwhile.
    pub(super) fn differences(&self, snapshot: &[FeedChange]) -> Vec<String> {
        let entry = |change: &FeedChange| match change {
            FeedChange::Entry(node) if is_compared(node) => Some(stored(node)),
            FeedChange::Entry(_)
            | FeedChange::Init
            | FeedChange::Ready
            | FeedChange::Put(_)
            | FeedChange::Gone { .. } => None,
        };
        let stored: BTreeMap<_, _> = snapshot.iter().filter_map(entry).collect();
        let logged = self.nodes.iter().filter(|(_, node)| node.session.is_none());
        let logged: BTreeMap<_, _> =
            logged.map(|(path, node)| (path.clone(), (node.version, node.data.clone()))).collect();
        let paths = logged.keys().chain(stored.keys().filter(|path| !logged.contains_key(*path)));
        let differing = paths.filter(|path| logged.get(*path) != stored.get(*path));
        differing
            .map(|path| {
                let (log, registry) = (logged.get(path), stored.get(path));
                format!("{path} is {log:?} by the log, and {registry:?} in the registry")
            })
            .collect()
    }
}

fn is_compared(node: &Node) -> bool {
    let path = node.path.as_str();
    let is_of_log =
        path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    node.stat.owner.is_none() && !node.path.is_root() && !is_of_log
}

fn stored(node: &Node) -> (String, (i32, String)) {
    let data = String::from_utf8_lossy(&node.data).into_owned();
    (node.path.as_str().to_owned(), (in_history(node.stat.version), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &str, ephemeral: bool) -> LoggedOp {
        LoggedOp::Create { path: path.to_owned(), data: "x".to_owned(), ephemeral }
    }

    fn created(path: &str, data: &str, ephemeral: bool) -> Write {
        Write::Create { path: path.to_owned(), data: data.as_bytes().to_vec(), ephemeral }
    }

    #[test]
    fn writes_have_parents_and_versions() {
        let mut tree = LoggedTree::default();
        let writes = tree.apply(create("/job/a/b", false), 1);
        let parents = [created("/job", "", false), created("/job/a", "", false)];
        assert_eq!(writes[..2], parents);
        assert_eq!(writes[2..], [created("/job/a/b", "x", false)]);
        let set = |data: &str| LoggedOp::Set { path: "/job/a/b".to_owned(), data: data.to_owned() };
        for version in 1..3 {
            let data = version.to_string();
            let expected = Write::Set {
                path: "/job/a/b".to_owned(),
                data: data.clone().into_bytes(),
                version,
            };
            assert_eq!(tree.apply(set(&data), 1), [expected]);
        }
        let check = LoggedOp::Check { path: "/job/a/b".to_owned(), version: None };
        let expected = Write::Check { path: "/job/a/b".to_owned(), version: 2 };
        assert_eq!(tree.apply(check, 1), [expected]);
    }

    #[test]
    fn session_ends_with_its_own_nodes() {
        let mut tree = LoggedTree::default();
        for (path, session) in [("/job/a", 1), ("/job/b", 2), ("/job/c", 1)] {
            tree.apply(create(path, true), session);
        }
        tree.apply(LoggedOp::Delete { path: "/job/c".to_owned() }, 2);
        assert_eq!(tree.end(1), ["/job/a"]);
        assert_eq!(tree.end(1), [""; 0]);
        assert_eq!(tree.end(2), ["/job/b"]);
    }

    #[tokio::test]
    async fn difference_from_the_registry_is_found() {
        use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter as _, Txn};

        let center = MemoryRegistry::new().connect();
        let path = NodePath::parse("/job/a").unwrap();
        let txn = Txn::new().create(path.clone(), "x", Lifetime::Persistent).put(path, "y");
        assert!(center.commit(txn).await.unwrap().is_committed());
        let mut feed = center.watch(&NodePath::root());
        let mut snapshot = Vec::new();
        while snapshot.last() != Some(&FeedChange::Ready) {
            snapshot.push(feed.next().await.unwrap());
        }
        let mut tree = LoggedTree::default();
        tree.apply(create("/job/a", false), 1);
        assert_eq!(tree.differences(&snapshot).len(), 1, "the version and the data");
        tree.apply(LoggedOp::Set { path: "/job/a".to_owned(), data: "y".to_owned() }, 1);
        assert_eq!(tree.differences(&snapshot), [""; 0]);
        tree.apply(create("/job/b", false), 1);
        assert_eq!(tree.differences(&snapshot).len(), 1, "a node that was not stored");
    }
}
