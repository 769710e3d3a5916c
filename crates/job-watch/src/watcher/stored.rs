//! The stored state of the watchers of a registry, kept current for other processes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use coordination::JobName;
use jiff::Timestamp;
use operations::Freshness;
use parking_lot::Mutex;
use reg_center::{Change, Feed, Node, NodePath, RegistryCenter, SessionChange, SessionFeed};
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
    shown: Arc<Mutex<Shown>>,
    changes: watch::Receiver<u64>,
    following: JoinHandle<()>,
}

/// State that the readers see.
#[derive(Debug)]
struct Shown {
    seen: Seen,
    freshness: Freshness,
}

/// The documents that other processes show.
#[derive(Debug, Default)]
struct Seen {
    sender: Option<String>,
    alerts: BTreeMap<JobName, BTreeMap<ConditionKind, Alert>>,
    silences: SilenceView,
    /// Faults of the documents that cannot be read.
    unreadable: BTreeMap<NodePath, String>,
}

impl StoredWatch {
    /// Follows a registry from now on.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn follow(registry: Arc<dyn RegistryCenter>) -> Self {
        let shown = Shown { seen: Seen::default(), freshness: Freshness::Loading };
        let shown = Arc::new(Mutex::new(shown));
        let (changed, changes) = watch::channel(0);
        let follower = Follower::new(registry, Arc::clone(&shown), changed);
        Self { shown, changes, following: tokio::spawn(follower.run()) }
    }

    /// Returns the age of what is shown.
    #[must_use]
    pub fn freshness(&self) -> Freshness {
        self.shown.lock().freshness
    }

    /// Returns at most `limit` of the documents that cannot be read, in the order of their paths,
    /// and the number of all of them. Each text has the path and the reason. Their violations and
    /// silences are not shown.
    #[must_use]
    pub fn unreadable(&self, limit: usize) -> (Vec<String>, usize) {
        let shown = self.shown.lock();
        let all = &shown.seen.unreadable;
        (all.values().take(limit).cloned().collect(), all.len())
    }

    /// Returns the name of the elected sender; `None` if there is none, or before the first
    /// snapshot.
    #[must_use]
    pub fn sender(&self) -> Option<String> {
        self.shown.lock().seen.sender.clone()
    }

    /// Returns the stored violations, in the order of jobs and kinds.
    #[must_use]
    pub fn violations(&self) -> Vec<StoredViolation> {
        let seen = &self.shown.lock().seen;
        let of_job = |(job, alerts): (&JobName, &BTreeMap<ConditionKind, Alert>)| {
            let found = alerts.iter().map(|(kind, alert)| violation(job, *kind, alert));
            found.collect::<Vec<_>>()
        };
        seen.alerts.iter().flat_map(of_job).collect()
    }

    /// Returns the silences that are not over, in the order of jobs and kinds.
    #[must_use]
    pub fn silences(&self, now: Timestamp) -> Vec<SilencedJob> {
        self.shown.lock().seen.silences.present(now)
    }

    /// Returns the silence of an expectation that is not over; `None` if there is none, or before
    /// the first snapshot.
    #[must_use]
    pub fn silence(&self, job: &JobName, kind: ConditionKind, now: Timestamp) -> Option<Silence> {
        self.shown.lock().seen.silences.of(job, kind, now.as_millisecond()).cloned()
    }

    /// Returns the number of stored violations that are neither over nor silenced.
    #[must_use]
    pub fn open_violations(&self, now: Timestamp) -> usize {
        let (seen, now) = (&self.shown.lock().seen, now.as_millisecond());
        let is_open = |job: &JobName, kind: ConditionKind, alert: &Alert| {
            alert.resolved.is_none() && seen.silences.of(job, kind, now).is_none()
        };
        let of_job = |(job, alerts): (&JobName, &BTreeMap<ConditionKind, Alert>)| {
            alerts.iter().filter(|(kind, alert)| is_open(job, **kind, alert)).count()
        };
        seen.alerts.iter().map(of_job).sum()
    }

    /// Returns a counter that changes with the stored state and its freshness.
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

/// The task that follows the registry.
struct Follower {
    feed: Feed,
    sessions: SessionFeed,
    shown: Arc<Mutex<Shown>>,
    changed: watch::Sender<u64>,
    /// The documents of the incomplete snapshot, if one is being read. The state before it is shown
    /// meanwhile.
    snapshot: Option<Seen>,
    /// The registry answers.
    is_connected: bool,
    /// A snapshot was read, and no other one is being read.
    is_complete: bool,
    /// A center without an owner is closed.
    _registry: Arc<dyn RegistryCenter>,
}

impl Follower {
    fn new(
        registry: Arc<dyn RegistryCenter>,
        shown: Arc<Mutex<Shown>>,
        changed: watch::Sender<u64>,
    ) -> Self {
        Self {
            feed: registry.watch(&watched_root()),
            sessions: registry.session_feed(),
            shown,
            changed,
            snapshot: None,
            is_connected: false,
            is_complete: false,
            _registry: registry,
        }
    }

    async fn run(mut self) {
        loop {
            let change = tokio::select! {
                // A registry that answers again begins a snapshot, which comes before what was
                // known is shown as current.
                biased;
                change = self.feed.next() => match change {
                    Some(change) => Some(change),
                    None => break,
                },
                session = self.sessions.next() => {
                    match session {
                        Some(SessionChange::Connected { .. }) => self.is_connected = true,
                        Some(SessionChange::Suspended { .. } | SessionChange::Lost { .. }) => {
                            self.is_connected = false;
                        }
                        Some(SessionChange::Closed) | None => break,
                    }
                    None
                }
            };
            self.update(change);
        }
        self.is_connected = false;
        self.update(None);
    }

    /// Applies a change, if there is one, and brings the freshness up to date.
    fn update(&mut self, change: Option<Change>) {
        let is_same = {
            let shown = Arc::clone(&self.shown);
            let mut shown = shown.lock();
            let has_changed = change.is_some_and(|change| self.apply(&mut shown.seen, change));
            let before = shown.freshness;
            shown.freshness = before.after(self.is_connected && self.is_complete);
            !has_changed && before == shown.freshness
        };
        if !is_same {
            self.changed.send_modify(|n| *n = n.wrapping_add(1));
        }
    }

    /// Applies a change, and returns true if readers see something else.
    fn apply(&mut self, seen: &mut Seen, change: Change) -> bool {
        match (change, &mut self.snapshot) {
            (Change::Init, _) => {
                (self.snapshot, self.is_complete) = (Some(Seen::default()), false);
                return false;
            }
            (Change::Ready, snapshot) => {
                self.is_complete = true;
                let Some(complete) = snapshot.take() else { return false };
                *seen = complete;
            }
            (Change::Entry(node) | Change::Put(node), Some(snapshot)) => {
                snapshot.put(&node);
                return false;
            }
            (Change::Gone { path, .. }, Some(snapshot)) => {
                snapshot.remove(&path);
                return false;
            }
            (Change::Entry(node) | Change::Put(node), None) => seen.put(&node),
            (Change::Gone { path, .. }, None) => seen.remove(&path),
        }
        true
    }
}

impl Seen {
    fn put(&mut self, node: &Node) {
        self.remove(&node.path);
        if let Err(error) = self.read(node) {
            tracing::warn!(%error, "a document of watchers is not shown");
            self.unreadable.insert(node.path.clone(), error.to_string());
        }
    }

    fn read(&mut self, node: &Node) -> Result<(), crate::StoreError> {
        let path = &node.path;
        self.silences.put(path, &node.data)?;
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
        self.unreadable.remove(path);
        if *path == Store::sender_path() {
            self.sender = None;
        } else if let Some(job) = watched_job(path) {
            self.alerts.remove(&job);
        }
    }
}
