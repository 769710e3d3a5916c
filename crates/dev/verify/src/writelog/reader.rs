//! Reads the log while it is written.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reg_center::{Change as FeedChange, Feed, NodePath, RegistryCenter};

use super::ROOT;
use super::error::ReadError;
use super::gaps::{Deletions, look_up};
use super::seen::{Event, Seen, SeenLog};
use super::tree::LoggedTree;
use crate::txnlog::{Change, Entry, Owners};

/// Limit of the wait for entries that are stored.
pub(super) const ARRIVAL_LIMIT: Duration = Duration::from_secs(30);
/// Interval at which missing entries are counted, and between two lookups that fail.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Reader of the log of a registry.
#[derive(Debug)]
pub struct LogReader {
    center: Arc<dyn RegistryCenter>,
    seen: Arc<Mutex<SeenLog>>,
    n_returned: usize,
    tree: LoggedTree,
}

impl LogReader {
    /// Follows the log from its beginning. The task ends with the centre.
    ///
    /// Without `deletions`, a session that ends in a gap of the feed is an error.
    #[must_use]
    pub fn start(center: Arc<dyn RegistryCenter>, deletions: Option<Arc<dyn Deletions>>) -> Self {
        let seen = Arc::new(Mutex::new(SeenLog::default()));
        tokio::spawn(follow(center.watch(&node(ROOT)), Arc::clone(&seen), deletions));
        Self { center, seen, n_returned: 0, tree: LoggedTree::default() }
    }

    /// Returns the new entries in order, each with its monotonic time. A write has the time at
    /// which it was sent, and the end of a session is never later than the writes after it.
    ///
    /// An end of a session that was looked up may come after later entries. Only
    /// [`finish`](Self::finish) has the order of all entries.
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
    /// A server may still execute transactions of killed clients. Those that follow the comparison
    /// may be among the entries.
    ///
    /// # Errors
    /// [`ReadError`] if an entry is invalid or was missed, or the registry cannot be read.
    pub async fn finish(&self) -> Result<(Vec<(Entry, u64)>, Vec<String>), ReadError> {
        let snapshot = self.snapshot().await?;
        self.finish_at(&snapshot).await
    }

    /// Returns the whole registry at one moment, after all answered writes.
    async fn snapshot(&self) -> Result<Vec<FeedChange>, ReadError> {
        self.center.sync().await?;
        let mut feed = self.center.watch(&NodePath::root());
        let mut snapshot = Vec::new();
        while snapshot.last() != Some(&FeedChange::Ready) {
            snapshot.push(feed.next().await.ok_or(ReadError::Ended)?);
        }
        Ok(snapshot)
    }

    /// Returns all entries, and the differences between a snapshot and the log of its transactions.
    async fn finish_at(
        &self,
        snapshot: &[FeedChange],
    ) -> Result<(Vec<(Entry, u64)>, Vec<String>), ReadError> {
        let stored = snapshot.iter().filter_map(FeedChange::path).cloned().collect();
        self.arrival(&stored).await?;
        let mut seen = self.entries()?;
        let entries = converted(&mut seen, &mut LoggedTree::default());
        every_session_has_begun(&seen)?;
        seen.retain(|seen| match &seen.event {
            Event::Txn(path, _) => stored.contains(path),
            Event::Opened { .. } | Event::Closed { .. } => true,
        });
        let mut tree = LoggedTree::default();
        converted(&mut seen, &mut tree);
        Ok((entries, tree.differences(snapshot)))
    }

    /// Waits until the feed has delivered the stored transactions of a snapshot, and the ends of
    /// all sessions but the stored ones. Two feeds have no common order.
    async fn arrival(&self, stored: &BTreeSet<NodePath>) -> Result<(), ReadError> {
        let deadline = Instant::now() + ARRIVAL_LIMIT;
        loop {
            let (n_writes, n_ends) = {
                let seen = self.seen.lock();
                (seen.n_unseen_writes(stored), seen.n_unseen_ends(stored))
            };
            if n_writes + n_ends == 0 {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(ReadError::Behind { n_writes, n_ends });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Returns the names of processes by the ids of their sessions.
    #[must_use]
    pub fn owners(&self) -> Owners {
        let seen = self.seen.lock();
        let opened = seen.entries.iter().filter_map(|seen| match &seen.event {
            Event::Opened { session, owner } => Some((*session, owner.clone())),
            Event::Txn(..) | Event::Closed { .. } => None,
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

async fn follow(mut feed: Feed, seen: Arc<Mutex<SeenLog>>, deletions: Option<Arc<dyn Deletions>>) {
    while let Some(change) = feed.next().await {
        let added = seen.lock().add(change);
        match added {
            Ok(missed) => {
                for session in missed {
                    let ended = look_up(&session, deletions.as_deref()).await;
                    seen.lock().add_missed(session.session, ended);
                }
            }
            Err(error) => drop(seen.lock().error.get_or_insert(error)),
        }
    }
}

/// Returns the path of a constant.
fn node(path: &'static str) -> NodePath {
    NodePath::parse(path).expect("the path is valid")
}

/// Checks that each transaction follows the begin of its session. The checker judges if it also
/// precedes the end.
fn every_session_has_begun(in_order: &[Seen]) -> Result<(), ReadError> {
    let mut begun = BTreeSet::new();
    for seen in in_order {
        match &seen.event {
            Event::Opened { session, .. } => drop(begun.insert(*session)),
            Event::Txn(_, txn) if !begun.contains(&txn.session) => {
                return Err(ReadError::Begin { session: txn.session });
            }
            Event::Txn(..) | Event::Closed { .. } => {}
        }
    }
    Ok(())
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
            Event::Txn(_, txn) => {
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
    use async_trait::async_trait;
    use reg_center::{Lifetime, MemoryRegistry, Revision, Txn};

    use super::super::{LoggedCenter, LookupError};
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
        let mut reader = LogReader::start(Arc::new(registry.connect()), None);
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
        let reader = LogReader::start(Arc::new(registry.connect()), None);
        let other = registry.connect();
        let write = create("/job/a", Lifetime::Persistent);
        assert!(other.commit(write).await.unwrap().is_committed());
        let (_, differences) = reader.finish().await.unwrap();
        assert_eq!(differences.len(), 2, "the node and its parent: {differences:?}");
    }

    #[tokio::test]
    async fn transaction_after_the_snapshot_is_an_entry_and_no_difference() {
        let registry = MemoryRegistry::new();
        let center = LoggedCenter::new(Arc::new(registry.connect()), "a", "a.0");
        let mut reader = LogReader::start(Arc::new(registry.connect()), None);
        let mut entries = Vec::new();
        let write = async |txn| RegistryCenter::commit(&center, txn).await.unwrap();
        assert!(write(create("/job/a", Lifetime::Persistent)).await.is_committed());
        let snapshot = reader.snapshot().await.unwrap();
        assert!(write(Txn::new().put(path("/job/a"), "late")).await.is_committed());
        read_until(&mut reader, &mut entries, 3).await;
        let (all, differences) = reader.finish_at(&snapshot).await.unwrap();
        assert_eq!((all.len(), differences), (3, Vec::new()));
    }

    type Answers = Vec<Result<Option<Revision>, String>>;

    /// Answers of lookups, in order.
    #[derive(Debug)]
    struct PreparedLookups(Mutex<Answers>);

    #[async_trait]
    impl Deletions for PreparedLookups {
        async fn deletion(
            &self,
            _: &NodePath,
            _: Revision,
        ) -> Result<Option<Revision>, LookupError> {
            let mut answers = self.0.lock();
            // The last answer stays.
            let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
            Ok(answer?)
        }
    }

    /// Lets a session write and end, the end in a gap of the reader's feed, and then another one
    /// write. `answers` are those of lookups, by the revision of the end.
    async fn log_with_a_gap(
        answers: impl FnOnce(Revision) -> Answers,
    ) -> Result<Vec<(Entry, u64)>, ReadError> {
        let registry = MemoryRegistry::new();
        let (a, b) = (Arc::new(registry.connect()), Arc::new(registry.connect()));
        let first = LoggedCenter::new(a.clone(), "a", "a.0");
        let second = LoggedCenter::new(b, "b", "b.0");
        let reading = Arc::new(registry.connect());
        let lookups = Arc::new(PreparedLookups(Mutex::default()));
        let mut reader = LogReader::start(reading.clone(), Some(lookups.clone()));
        let mut entries = Vec::new();
        let write = async |center: &LoggedCenter, at: &str| {
            let txn = create(at, Lifetime::Ephemeral);
            assert!(RegistryCenter::commit(center, txn).await.unwrap().is_committed());
        };
        write(&first, "/job/a").await;
        read_until(&mut reader, &mut entries, 2).await;
        reading.suspend(Duration::from_secs(60));
        a.expire();
        *lookups.0.lock() = answers(registry.snapshot().revision());
        write(&second, "/job/a").await;
        reading.resume();
        reader.finish().await.map(|(entries, _)| entries)
    }

    #[tokio::test]
    async fn end_in_a_gap_of_the_feed_is_looked_up_until_the_registry_answers() {
        let answers = |ended| vec![Err("down".to_owned()), Err("down".to_owned()), Ok(Some(ended))];
        let entries = log_with_a_gap(answers).await.unwrap();
        let is_end = |change: &Change| matches!(change, Change::CloseSession { .. });
        let place = entries.iter().position(|(entry, _)| is_end(&entry.change));
        assert_eq!(place, Some(2), "after the writes of a, before those of b: {entries:?}");
        let ephemerals = vec!["/job/a".to_owned()];
        assert_eq!(entries[2].0.change, Change::CloseSession { ephemerals });
        assert_eq!(entries.len(), 5, "{entries:?}");
    }

    #[tokio::test]
    async fn end_that_the_registry_does_not_know_is_an_error() {
        let error = log_with_a_gap(|_| vec![Ok(None)]).await.unwrap_err();
        assert!(matches!(error, ReadError::End { .. }), "{error}");
    }

    #[tokio::test]
    async fn session_without_a_begin_is_an_error() {
        let registry = MemoryRegistry::new();
        let (a, reading) = (registry.connect(), Arc::new(registry.connect()));
        let reader = LogReader::start(reading.clone(), None);
        reading.suspend(Duration::from_secs(60));
        let center = LoggedCenter::new(Arc::new(a), "a", "a.0");
        let txn = create("/job/a", Lifetime::Persistent);
        assert!(RegistryCenter::commit(&center, txn).await.unwrap().is_committed());
        RegistryCenter::close(&center).await.unwrap();
        reading.resume();
        let error = reader.finish().await.unwrap_err();
        assert!(matches!(error, ReadError::Begin { .. }), "{error}");
    }
}
