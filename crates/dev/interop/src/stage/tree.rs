//! Present nodes of the registry in the namespace of a check.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reg_center::{
    Change, Lifetime, Node, NodePath, RegistryCenter, Revision, SessionChange, Txn, TxnOutcome,
};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use tokio::sync::watch;

use super::{Failure, PATIENCE};

/// A namespace's nodes by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes(BTreeMap<String, Node>);

impl Nodes {
    /// Returns the text of a node, or `None` if it does not exist.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.0.get(path).map(|node| String::from_utf8_lossy(&node.data).into_owned())
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Returns the names of the children of a node, ascending.
    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let below = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        below.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// Returns the owner of each item of a job, by item.
    pub(crate) fn owners(&self, job: &str) -> BTreeMap<u32, String> {
        let items = self.children(&format!("/{job}/sharding"));
        let items = items.iter().filter_map(|item| item.parse().ok());
        let owner =
            |item: u32| Some((item, self.text(&format!("/{job}/sharding/{item}/instance"))?));
        items.filter_map(owner).collect()
    }

    /// Returns the revision at which the present node was created.
    pub(crate) fn created(&self, path: &str) -> Option<Revision> {
        self.0.get(path).map(|node| node.stat.created)
    }

    pub(crate) fn leader(&self, job: &str) -> Option<String> {
        self.text(&format!("/{job}/leader/election/instance"))
    }

    pub(crate) fn instances(&self, job: &str) -> Vec<String> {
        self.children(&format!("/{job}/instances"))
    }

    /// Returns whether a living instance is a Java instance. Rust instances have `RUST` in their
    /// data.
    pub(crate) fn is_java(&self, job: &str, instance: &str) -> bool {
        let data = self.text(&format!("/{job}/instances/{instance}"));
        data.is_some_and(|data| !data.contains("RUST"))
    }

    /// Draws the nodes below a path, one per line: `E` for ephemeral nodes, the data after the
    /// path.
    pub(crate) fn draw(&self, below: &str) -> String {
        let within = self.0.iter().filter(|(path, _)| path.starts_with(below));
        let lines = within.map(|(path, node)| {
            let kind = if node.stat.owner.is_some() { "E" } else { " " };
            format!("      {kind} {path} | {}", String::from_utf8_lossy(&node.data))
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// One assignment of an item to an instance, as written to the registry.
#[derive(Clone, Debug)]
pub(crate) struct OwnerChange {
    /// Time at which the suite saw it, in milliseconds since 1970 UTC.
    pub(crate) at: i64,
    pub(crate) job: String,
    pub(crate) item: u32,
    /// A Java instance was the leader at that time.
    pub(crate) by_java: bool,
    /// The item's new owner is a Java instance.
    pub(crate) to_java: bool,
    /// The id of the new owner.
    pub(crate) owner: String,
}

impl OwnerChange {
    /// Reads the assignment from a written node. Returns `None` if the node is not an owner's.
    fn read(node: &Node, nodes: &Nodes) -> Option<Self> {
        let path: Vec<&str> = node.path.as_str().split('/').collect();
        let ["", job, "sharding", item, "instance"] = path[..] else { return None };
        let owner = String::from_utf8_lossy(&node.data);
        Some(Self {
            at: now_ms(),
            job: job.to_owned(),
            item: item.parse().ok()?,
            by_java: nodes.leader(job).is_some_and(|leader| nodes.is_java(job, &leader)),
            to_java: nodes.is_java(job, &owner),
            owner: owner.into_owned(),
        })
    }
}

/// Returns the time of this machine's clock, in milliseconds since 1970 UTC.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// Watched namespace of a check.
#[derive(Debug)]
pub(crate) struct Tree {
    center: Arc<ZookeeperCenter>,
    nodes: watch::Receiver<Nodes>,
    record: Arc<Mutex<WatchRecord>>,
}

/// Assignments and announcements since the suite began to watch, in the order in which it saw them.
#[derive(Debug, Default)]
struct WatchRecord {
    owner_changes: Vec<OwnerChange>,
    announcements: Vec<Announcement>,
}

/// Announcement of a resharding to all instances.
#[derive(Clone, Debug)]
struct Announcement {
    at: i64,
    job: String,
}

impl Announcement {
    fn read(node: &Node) -> Option<Self> {
        let path: Vec<&str> = node.path.as_str().split('/').collect();
        let ["", job, "leader", "sharding", "necessary"] = path[..] else { return None };
        Some(Self { at: now_ms(), job: job.to_owned() })
    }
}

impl Tree {
    /// Connects to the registry and waits until all nodes are known.
    pub(crate) async fn watch(addresses: &str, namespace: &str) -> Result<Self, Failure> {
        let options = ZookeeperOptions::new(addresses)
            .namespace(format!("/{namespace}"))
            .session_timeout(Duration::from_secs(30));
        let connected = tokio::time::timeout(PATIENCE, ZookeeperCenter::connect(options)).await;
        let center = connected.map_err(|_| overdue("a session for the suite"))??;
        let mut feed = center.watch(&NodePath::root());
        let sender = watch::Sender::new(Nodes::default());
        let nodes = sender.subscribe();
        let mut known = Nodes::default();
        let mut snapshot = None;
        let record = Arc::new(Mutex::new(WatchRecord::default()));
        let written = Arc::clone(&record);
        tokio::spawn(async move {
            while let Some(change) = feed.next().await {
                match change {
                    Change::Init => snapshot = Some(Nodes::default()),
                    Change::Entry(node) => {
                        let nodes = snapshot.get_or_insert_default();
                        nodes.0.insert(node.path.to_string(), node);
                    }
                    Change::Ready => known = snapshot.take().unwrap_or_default(),
                    Change::Put(node) => {
                        let mut written = written.lock();
                        written.owner_changes.extend(OwnerChange::read(&node, &known));
                        written.announcements.extend(Announcement::read(&node));
                        drop(written);
                        known.0.insert(node.path.to_string(), node);
                    }
                    Change::Gone { path, .. } => {
                        known.0.remove(path.as_str());
                    }
                }
                if snapshot.is_none() {
                    sender.send_replace(known.clone());
                }
            }
        });
        Ok(Self { center, nodes, record })
    }

    /// Returns the assignments of the items of a job.
    pub(crate) fn owner_changes(&self, job: &str) -> Vec<OwnerChange> {
        let record = self.record.lock();
        record.owner_changes.iter().filter(|change| change.job == job).cloned().collect()
    }

    /// Returns the times at which a resharding of a job was announced, in milliseconds since 1970
    /// UTC.
    pub(crate) fn announcements(&self, job: &str) -> Vec<i64> {
        let record = self.record.lock();
        let of_job = record.announcements.iter().filter(|announced| announced.job == job);
        of_job.map(|announced| announced.at).collect()
    }

    pub(crate) fn now(&self) -> Nodes {
        self.nodes.borrow().clone()
    }

    /// Waits until `look` finds a value in the tree.
    ///
    /// Otherwise `look` returns a description of the present state for the error.
    pub(crate) async fn wait<T>(
        &self,
        limit: Duration,
        expected: impl Into<String>,
        mut look: impl FnMut(&Nodes) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let mut nodes = self.nodes.clone();
        let mut found = String::new();
        let search = async {
            loop {
                match look(&nodes.borrow_and_update()) {
                    Ok(value) => return Some(value),
                    Err(present) => found = present,
                }
                nodes.changed().await.ok()?;
            }
        };
        match tokio::time::timeout(limit, search).await {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Failure::unreadable("the suite's own feed has ended")),
            Err(_) => Err(Failure::Deadline { expected: expected.into(), found, after: limit }),
        }
    }

    /// Commits a transaction. A conflict is an error. The watched tree shows the write a moment
    /// later.
    pub(crate) async fn commit(&self, txn: Txn) -> Result<(), Failure> {
        match soon("the registry's answer to a write", self.center.commit(txn)).await? {
            TxnOutcome::Committed(_) => Ok(()),
            TxnOutcome::Conflict(conflict) => Err(Failure::Conflict(format!("{conflict:?}"))),
        }
    }

    /// Creates a persistent node and its missing parents.
    pub(crate) async fn create(&self, path: &str, data: &str) -> Result<(), Failure> {
        self.commit(Txn::new().create(parsed(path)?, data.to_owned(), Lifetime::Persistent)).await
    }

    /// Creates ephemeral nodes of the suite's session, or deletes them, in one transaction.
    pub(crate) async fn ephemerals(
        &self,
        changes: &[(String, Option<String>)],
    ) -> Result<(), Failure> {
        let Some(SessionChange::Connected { session, .. }) = self.center.session() else {
            return Err(Failure::unreadable("the suite has lost its session"));
        };
        let mut txn = Txn::new().in_session(session);
        for (path, data) in changes {
            let path = parsed(path)?;
            txn = match data {
                Some(data) => txn.create(path, data.clone(), Lifetime::Ephemeral),
                None => txn.delete(path),
            };
        }
        self.commit(txn).await
    }

    pub(crate) async fn put(&self, path: &str, data: &str) -> Result<(), Failure> {
        self.commit(Txn::new().put(parsed(path)?, data.to_owned())).await
    }

    /// Ends the suite's session in this namespace.
    pub(crate) async fn close(&self) -> Result<(), Failure> {
        soon("the end of the suite's session", self.center.close()).await
    }
}

/// Waits for an answer of the registry for at most [`PATIENCE`].
async fn soon<T>(
    expected: &str,
    request: impl Future<Output = Result<T, reg_center::Error>>,
) -> Result<T, Failure> {
    let ended = tokio::time::timeout(PATIENCE, request).await;
    Ok(ended.map_err(|_| overdue(expected))??)
}

fn overdue(expected: &str) -> Failure {
    Failure::Deadline {
        expected: expected.to_owned(),
        found: "no answer of the registry".to_owned(),
        after: PATIENCE,
    }
}

/// Parses a path.
pub(crate) fn parsed(path: &str) -> Result<NodePath, Failure> {
    NodePath::parse(path).map_err(|error| Failure::unreadable(format!("{path}: {error}")))
}
