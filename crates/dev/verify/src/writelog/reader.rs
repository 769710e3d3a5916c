//! Reads the log while it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reg_center::{Change as FeedChange, Feed, Node, NodePath, RegistryCenter};
use serde::de::DeserializeOwned;

use super::entry::{LoggedSession, LoggedTxn};
use super::tree::LoggedTree;
use super::{ROOT, SESSIONS, WRITES};
use crate::clock::{monotonic_ns, wall_ms};
use crate::txnlog::{Change, Entry, Owners};

/// Limit of the wait for entries that are stored.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(30);
/// Interval at which the number of entries is compared.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Failure to read the log.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A node of the log has other data.
    #[error("the node {path} is no entry of the log: {reason}")]
    Entry {
        /// Path of the node.
        path: String,
        /// The reason.
        reason: String,
    },
    /// A session ended, and the feed did not say when.
    #[error("the feed does not show at which revision the session {session} ended")]
    End {
        /// Id of the session.
        session: String,
    },
    /// The feed has not delivered all entries in time.
    #[error("waited {ARRIVAL_LIMIT:?} for {n_writes} entries of the log, {n_seen} have come")]
    Behind {
        /// Number of delivered transactions.
        n_seen: usize,
        /// Number of stored transactions.
        n_writes: usize,
    },
    /// The registry cannot be read.
    #[error(transparent)]
    Registry(#[from] reg_center::Error),
    /// The feed has ended.
    #[error("the feed of the log has ended")]
    Ended,
}

/// An entry of the log.
#[derive(Clone, Debug)]
struct Seen {
    revision: i64,
    /// Monotonic time at which a write was sent. The end of a session has the time at which the
    /// reader saw it.
    monotonic_ns: u64,
    /// Time at which the reader saw the entry.
    wall_ms: i64,
    event: Event,
}

#[derive(Clone, Debug)]
enum Event {
    Txn(LoggedTxn),
    Opened { session: i64, owner: String },
    Closed { session: i64 },
}

/// Reader of the log of a registry.
#[derive(Debug)]
pub struct LogReader {
    center: Arc<dyn RegistryCenter>,
    seen: Arc<Mutex<SeenLog>>,
    n_returned: usize,
    tree: LoggedTree,
}

/// Everything that the feed has delivered so far.
#[derive(Debug, Default)]
struct SeenLog {
    entries: Vec<Seen>,
    /// Paths of the transactions: a new snapshot repeats them.
    writes: BTreeSet<NodePath>,
    open: BTreeMap<NodePath, i64>,
    /// Sessions of an incomplete snapshot.
    snapshot: Option<BTreeSet<NodePath>>,
    error: Option<ReadError>,
}

impl LogReader {
    /// Follows the log from its beginning. The task ends with the centre.
    #[must_use]
    pub fn start(center: Arc<dyn RegistryCenter>) -> Self {
        let seen = Arc::new(Mutex::new(SeenLog::default()));
        tokio::spawn(follow(center.watch(&node(ROOT)), Arc::clone(&seen)));
        Self { center, seen, n_returned: 0, tree: LoggedTree::default() }
    }

    /// Returns the new entries in order, each with its monotonic time. A write has the time at
    /// which it was sent, and the end of a session is never later than the writes after it.
    ///
    /// # Errors
    /// [`ReadError`] if an entry is invalid or was missed.
    pub fn read_on(&mut self) -> Result<Vec<(Entry, u64)>, ReadError> {
        let mut new = self.entries()?.split_off(self.n_returned);
        self.n_returned += new.len();
        Ok(converted(&mut new, &mut self.tree))
    }

    /// Returns all entries in order, after all writes of this moment have been seen. Compares the
    /// stored tree with that of the log, and returns a sentence for each difference.
    ///
    /// No client may write meanwhile.
    ///
    /// # Errors
    /// [`ReadError`] if an entry is invalid or was missed, or the registry cannot be read.
    pub async fn finish(&self) -> Result<(Vec<(Entry, u64)>, Vec<String>), ReadError> {
        self.center.sync().await?;
        let n_writes = self.center.children(&node(WRITES)).await?.unwrap_or_default().len();
        let mut feed = self.center.watch(&NodePath::root());
        let mut snapshot = Vec::new();
        while snapshot.last() != Some(&FeedChange::Ready) {
            snapshot.push(feed.next().await.ok_or(ReadError::Ended)?);
        }
        // The feed of the log and the snapshot have no common order.
        let deadline = Instant::now() + ARRIVAL_LIMIT;
        loop {
            let n_seen = self.seen.lock().writes.len();
            if n_seen >= n_writes {
                break;
            }
            if Instant::now() >= deadline {
                return Err(ReadError::Behind { n_seen, n_writes });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let mut tree = LoggedTree::default();
        let entries = converted(&mut self.entries()?, &mut tree);
        Ok((entries, tree.differences(&snapshot)))
    }

    /// Returns the names of processes by the ids of their sessions.
    #[must_use]
    pub fn owners(&self) -> Owners {
        let seen = self.seen.lock();
        let opened = seen.entries.iter().filter_map(|seen| match &seen.event {
            Event::Opened { session, owner } => Some((*session, owner.clone())),
            Event::Txn(_) | Event::Closed { .. } => None,
        });
        opened.collect()
    }

    fn entries(&self) -> Result<Vec<Seen>, ReadError> {
        let seen = self.seen.lock();
        match &seen.error {
            Some(error) => Err(error.clone()),
            None => Ok(seen.entries.clone()),
        }
    }
}

async fn follow(mut feed: Feed, seen: Arc<Mutex<SeenLog>>) {
    while let Some(change) = feed.next().await {
        let mut seen = seen.lock();
        if let Err(error) = seen.add(change) {
            seen.error.get_or_insert(error);
        }
    }
}

impl SeenLog {
    fn add(&mut self, change: FeedChange) -> Result<(), ReadError> {
        match change {
            FeedChange::Init => self.snapshot = Some(BTreeSet::new()),
            FeedChange::Entry(node) | FeedChange::Put(node) => {
                let revision = i64::try_from(node.stat.created.0).unwrap_or(i64::MAX);
                if let Some(session) = id_of_session(&node.path) {
                    if let Some(snapshot) = &mut self.snapshot {
                        snapshot.insert(node.path.clone());
                    }
                    if self.open.insert(node.path.clone(), session).is_none() {
                        let LoggedSession { sent_ns, process } = parsed(&node)?;
                        self.push(revision, sent_ns, Event::Opened { session, owner: process });
                    }
                } else if node.path.parent().is_some_and(|parent| parent.as_str() == WRITES)
                    && self.writes.insert(node.path.clone())
                {
                    let txn: LoggedTxn = parsed(&node)?;
                    self.push(revision, txn.sent_ns, Event::Txn(txn));
                }
            }
            FeedChange::Gone { path, revision } => {
                // A deletion may be reported twice.
                if let Some(session) = self.open.remove(&path) {
                    let unseen = || ReadError::End { session: session.to_string() };
                    let revision = revision.ok_or_else(unseen)?;
                    let revision = i64::try_from(revision.0).unwrap_or(i64::MAX);
                    self.push(revision, monotonic_ns(), Event::Closed { session });
                }
            }
            FeedChange::Ready => {
                let snapshot = self.snapshot.take().unwrap_or_default();
                if let Some(missed) = self.open.keys().find(|path| !snapshot.contains(*path)) {
                    return Err(ReadError::End { session: missed.name().to_owned() });
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, revision: i64, monotonic_ns: u64, event: Event) {
        let wall_ms = wall_ms();
        self.entries.push(Seen { revision, monotonic_ns, wall_ms, event });
    }
}

/// Returns the path of a constant.
fn node(path: &'static str) -> NodePath {
    NodePath::parse(path).expect("the path is valid")
}

fn parsed<T: DeserializeOwned>(node: &Node) -> Result<T, ReadError> {
    serde_json::from_slice(&node.data).map_err(|error| ReadError::Entry {
        path: node.path.to_string(),
        reason: error.to_string(),
    })
}

fn id_of_session(path: &NodePath) -> Option<i64> {
    path.as_str().strip_prefix(SESSIONS)?.strip_prefix('/')?.parse().ok()
}

/// Converts entries in the order of their revisions.
fn converted(seen: &mut [Seen], tree: &mut LoggedTree) -> Vec<(Entry, u64)> {
    seen.sort_by_key(|seen| seen.revision);
    let mut next = u64::MAX;
    for seen in seen.iter_mut().rev() {
        if matches!(seen.event, Event::Closed { .. }) {
            seen.monotonic_ns = seen.monotonic_ns.min(next);
        }
        next = next.min(seen.monotonic_ns);
    }
    let convert = |seen: &Seen| {
        let (session, change) = match &seen.event {
            Event::Txn(txn) => {
                let ops = txn.ops.iter().cloned();
                let writes = ops.flat_map(|op| tree.apply(op, txn.session)).collect();
                (txn.session, Change::Write(writes))
            }
            Event::Opened { session, .. } => (*session, Change::OpenSession),
            Event::Closed { session } => {
                (*session, Change::CloseSession { ephemerals: tree.end(*session) })
            }
        };
        let entry = Entry { zxid: seen.revision, session, time_ms: seen.wall_ms, change };
        (entry, seen.monotonic_ns)
    };
    seen.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, MemoryRegistry, Txn};

    use super::super::LoggedCenter;
    use super::*;
    use crate::txnlog::Write;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    fn create(at: &str, lifetime: Lifetime) -> Txn {
        Txn::new().create(path(at), "x", lifetime)
    }

    /// Waits until the reader has this number of entries.
    async fn read_until(reader: &mut LogReader, entries: &mut Vec<(Entry, u64)>, n_entries: usize) {
        let reading = async {
            while entries.len() < n_entries {
                entries.extend(reader.read_on().unwrap());
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reading).await.expect("all entries are seen");
    }

    #[tokio::test]
    async fn log_has_the_sessions_and_their_writes_in_order() {
        let registry = MemoryRegistry::new();
        let client = |name: &str| {
            let prefix = format!("{name}.0");
            LoggedCenter::new(Arc::new(registry.connect()), name, &prefix)
        };
        let (a, b) = (client("a"), client("b"));
        let mut reader = LogReader::start(Arc::new(registry.connect()));
        let committed = [
            (&a, create("/job/a", Lifetime::Ephemeral)),
            (&b, create("/job/b", Lifetime::Persistent).check_absent(path("/job/c"))),
            (&a, Txn::new().put(path("/job/b"), "y").check_exists(path("/job/a"))),
        ];
        for (center, txn) in committed {
            assert!(RegistryCenter::commit(center, txn).await.unwrap().is_committed());
        }
        let mut entries = Vec::new();
        // A feed may skip a node that is gone before the reader looks.
        read_until(&mut reader, &mut entries, 5).await;
        RegistryCenter::close(&a).await.unwrap();
        read_until(&mut reader, &mut entries, 6).await;
        let changes: Vec<Change> = entries.into_iter().map(|(entry, _)| entry.change).collect();
        let created = |at: &str, data: &str, ephemeral: bool| Write::Create {
            path: at.to_owned(),
            data: data.as_bytes().to_vec(),
            ephemeral,
        };
        let set = Write::Set { path: "/job/b".to_owned(), data: b"y".to_vec(), version: 1 };
        let check = Write::Check { path: "/job/a".to_owned(), version: 0 };
        let expected = [
            Change::OpenSession,
            Change::Write(vec![created("/job", "", false), created("/job/a", "x", true)]),
            Change::OpenSession,
            Change::Write(vec![created("/job/b", "x", false)]),
            Change::Write(vec![set, check]),
            Change::CloseSession { ephemerals: vec!["/job/a".to_owned()] },
        ];
        assert_eq!(changes, expected);
        let owners: Vec<String> = reader.owners().into_values().collect();
        assert_eq!(owners, ["a", "b"]);
        let (all, differences) = reader.finish().await.unwrap();
        assert_eq!((all.len(), differences), (6, Vec::new()));
    }

    #[tokio::test]
    async fn write_that_is_not_logged_is_a_difference() {
        let registry = MemoryRegistry::new();
        let reader = LogReader::start(Arc::new(registry.connect()));
        let other = registry.connect();
        let write = create("/job/a", Lifetime::Persistent);
        assert!(other.commit(write).await.unwrap().is_committed());
        let (_, differences) = reader.finish().await.unwrap();
        assert_eq!(differences.len(), 2, "the node and its parent: {differences:?}");
    }
}
