//! The stored state of the watchers of a registry, kept current for other processes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coordination::JobName;
use jiff::Timestamp;
use parking_lot::Mutex;
use reg_center::{Change, Node, NodePath, RegistryCenter};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::store::{
    Alert, JobDoc, SenderDoc, SilenceView, Store, decode, watched_job, watched_root,
};
use crate::{ConditionKind, Severity, Silence, SilencedJob};

/// A violation that the sender has stored, until its end is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredViolation {
    /// Job name.
    pub job: JobName,
    /// Kind of the expectation.
    pub expectation: ConditionKind,
    /// Severity for the receivers.
    pub severity: Severity,
    /// Begin of the violation.
    pub since: Timestamp,
    /// A sentence with the item, its owner and the times.
    pub why: String,
    /// True if the violation is over, and a channel has still to report that.
    pub is_over: bool,
    /// Time of the last message about it; `None` before the first one.
    pub reported: Option<Timestamp>,
}

/// The stored state of the watchers of one registry, kept current by a feed.
///
/// # Examples
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// use std::sync::Arc;
///
/// use job_watch::StoredWatch;
/// use reg_center::MemoryRegistry;
///
/// let stored = StoredWatch::follow(Arc::new(MemoryRegistry::new().connect()));
/// assert_eq!(stored.sender(), None);
/// # });
/// ```
pub struct StoredWatch {
    seen: Arc<Mutex<Seen>>,
    changes: watch::Receiver<u64>,
    following: JoinHandle<()>,
}

/// The documents that other processes show. Unreadable ones are left out and logged.
#[derive(Debug, Default)]
struct Seen {
    sender: Option<String>,
    alerts: BTreeMap<JobName, BTreeMap<ConditionKind, Alert>>,
    silences: SilenceView,
}

impl StoredWatch {
    /// Follows a registry from now on.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn follow(registry: Arc<dyn RegistryCenter>) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let (changed, changes) = watch::channel(0);
        let following = tokio::spawn(follow(registry, Arc::clone(&seen), changed));
        Self { seen, changes, following }
    }

    /// Returns the name of the elected sender; `None` if there is none, or before the first
    /// snapshot.
    #[must_use]
    pub fn sender(&self) -> Option<String> {
        self.seen.lock().sender.clone()
    }

    /// Returns the stored violations, in the order of jobs and kinds.
    #[must_use]
    pub fn violations(&self) -> Vec<StoredViolation> {
        let seen = self.seen.lock();
        let of_job = |(job, alerts): (&JobName, &BTreeMap<ConditionKind, Alert>)| {
            let found = alerts.iter().map(|(kind, alert)| violation(job, *kind, alert));
            found.collect::<Vec<_>>()
        };
        seen.alerts.iter().flat_map(of_job).collect()
    }

    /// Returns the silences that are not over, in the order of jobs and kinds.
    #[must_use]
    pub fn silences(&self, now: Timestamp) -> Vec<SilencedJob> {
        self.seen.lock().silences.present(now)
    }

    /// Returns the silence of an expectation that is not over; `None` if there is none, or before
    /// the first snapshot.
    #[must_use]
    pub fn silence(&self, job: &JobName, kind: ConditionKind, now: Timestamp) -> Option<Silence> {
        self.seen.lock().silences.of(job, kind, now.as_millisecond()).cloned()
    }

    /// Returns the number of stored violations that are neither over nor silenced.
    #[must_use]
    pub fn open_violations(&self, now: Timestamp) -> usize {
        let (seen, now) = (self.seen.lock(), now.as_millisecond());
        let is_open = |job: &JobName, kind: ConditionKind, alert: &Alert| {
            alert.resolved.is_none() && seen.silences.of(job, kind, now).is_none()
        };
        let of_job = |(job, alerts): (&JobName, &BTreeMap<ConditionKind, Alert>)| {
            alerts.iter().filter(|(kind, alert)| is_open(job, **kind, alert)).count()
        };
        seen.alerts.iter().map(of_job).sum()
    }

    /// Returns a counter that changes with the stored state.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }
}

impl Drop for StoredWatch {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl fmt::Debug for StoredWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredWatch").field("sender", &self.sender()).finish_non_exhaustive()
    }
}

fn violation(job: &JobName, kind: ConditionKind, alert: &Alert) -> StoredViolation {
    let time = |ms| Timestamp::from_millisecond(ms).unwrap_or_default();
    StoredViolation {
        job: job.clone(),
        expectation: kind,
        severity: alert.severity,
        since: time(alert.since),
        why: alert.why.clone(),
        is_over: alert.resolved.is_some(),
        reported: alert.reported.values().map(|reported| reported.at).max().map(time),
    }
}

async fn follow(
    registry: Arc<dyn RegistryCenter>,
    shown: Arc<Mutex<Seen>>,
    changed: watch::Sender<u64>,
) {
    let mut feed = registry.watch(&watched_root());
    // During a snapshot, the state before it is shown.
    let mut snapshot = None;
    while let Some(change) = feed.next().await {
        match (change, &mut snapshot) {
            (Change::Init, _) => {
                snapshot = Some(Seen::default());
                continue;
            }
            (Change::Ready, _) => match snapshot.take() {
                Some(complete) => *shown.lock() = complete,
                None => continue,
            },
            (Change::Entry(node) | Change::Put(node), Some(snapshot)) => {
                snapshot.put(&node);
                continue;
            }
            (Change::Gone { path, .. }, Some(snapshot)) => {
                snapshot.remove(&path);
                continue;
            }
            (Change::Entry(node) | Change::Put(node), None) => shown.lock().put(&node),
            (Change::Gone { path, .. }, None) => shown.lock().remove(&path),
        }
        changed.send_modify(|n| *n = n.wrapping_add(1));
    }
}

impl Seen {
    fn put(&mut self, node: &Node) {
        self.remove(&node.path);
        self.silences.put(&node.path, &node.data);
        let read = self.read(node);
        if let Err(error) = read {
            tracing::warn!(%error, "a document of watchers is not shown");
        }
    }

    fn read(&mut self, node: &Node) -> Result<(), crate::StoreError> {
        let path = &node.path;
        if *path == Store::sender_path() {
            self.sender = Some(decode::<SenderDoc>(path, &node.data)?.watcher);
        } else if let Some(job) = watched_job(path) {
            let alerts = decode::<JobDoc>(path, &node.data)?.alerts;
            self.alerts.insert(job, alerts);
        }
        Ok(())
    }

    fn remove(&mut self, path: &NodePath) {
        self.silences.remove(path);
        if *path == Store::sender_path() {
            self.sender = None;
        } else if let Some(job) = watched_job(path) {
            self.alerts.remove(&job);
        }
    }
}
