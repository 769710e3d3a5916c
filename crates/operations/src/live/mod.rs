//! All jobs of a namespace, kept current by one feed.
//!
//! In reading order: `jobs` (the snapshots and how changes apply to them) · `updates` (subscribers)
//! · this file (the task that follows the registry).

mod jobs;
mod updates;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use parking_lot::Mutex;
use reg_center::{Change, Feed, NodePath, RegistryCenter, SessionChange, SessionFeed};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::{Error, JobSnapshot, Result};
use jobs::Jobs;
use updates::Subscribers;
pub use updates::{Update, Updates};

/// Maximum number of changes that are applied without a pause in which readers get the jobs.
const CHANGES_AT_ONCE: usize = 1_000;

/// Age of what a [`LiveNamespace`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing is shown yet: the first snapshot is being read.
    Loading,
    /// The registry reports each change. What is shown is older by the time of its delivery alone.
    Current,
    /// Later changes are unknown: the registry does not answer, or a new snapshot is being read.
    Stale {
        /// Time of the last state that is shown completely.
        since: Instant,
    },
}

/// All jobs of a namespace, kept current by one feed.
///
/// It reads the whole namespace once. After that, each change costs one delivery, regardless of the
/// number of readers and jobs. It needs memory for all nodes of the namespace. Dropping it ends the
/// feed.
///
/// # Examples
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use operations::{Freshness, LiveNamespace};
/// use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter as _, Txn};
///
/// let registry = MemoryRegistry::new();
/// let live = LiveNamespace::follow(Arc::new(registry.connect()));
/// live.loaded(Duration::from_secs(10)).await?;
/// assert!(live.jobs().is_empty());
///
/// let mut updates = live.updates(Duration::from_millis(100));
/// let config = NodePath::parse("/report/config")?;
/// let create = Txn::new().create(config, "{}", Lifetime::Persistent);
/// registry.connect().commit(create).await?;
/// let update = updates.next().await.expect("the registry is open");
/// assert_eq!(update.jobs.first().map(|job| job.as_str()), Some("report"));
/// assert_eq!(live.freshness(), Freshness::Current);
/// assert!(live.jobs()[0].has_config());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct LiveNamespace {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// State that the task and the readers share.
#[derive(Debug)]
struct Shared {
    shown: Mutex<Shown>,
    subscribers: Subscribers,
}

/// State that the readers see.
#[derive(Debug)]
struct Shown {
    jobs: Jobs,
    freshness: Freshness,
}

impl LiveNamespace {
    /// Follows all jobs of a registry's namespace.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    #[must_use]
    pub fn follow(registry: Arc<dyn RegistryCenter>) -> Self {
        let shown = Shown { jobs: Jobs::default(), freshness: Freshness::Loading };
        let shared =
            Arc::new(Shared { shown: Mutex::new(shown), subscribers: Subscribers::default() });
        let follower = Follower {
            feed: registry.watch(&NodePath::root()),
            sessions: registry.session_feed(),
            shared: Arc::clone(&shared),
            is_connected: false,
            is_complete: false,
            _registry: registry,
        };
        Self { shared, task: tokio::spawn(follower.run()) }
    }

    /// Waits until the first snapshot is complete.
    ///
    /// # Errors
    /// [`Error::Deadline`]: the registry has not delivered it in time. The wait can be repeated.
    ///
    /// # Cancel safety
    /// The future can be dropped at any time.
    pub async fn loaded(&self, deadline: Duration) -> Result<()> {
        let mut updates = self.updates(Duration::ZERO);
        let loaded = async {
            while self.freshness() == Freshness::Loading {
                if updates.next().await.is_none() {
                    let closed = reg_center::Error::Closed;
                    return Err(Error::registry("reading the namespace")(closed));
                }
            }
            Ok(())
        };
        let late =
            |_| Error::Deadline { what: "reading the namespace".to_owned(), waited: deadline };
        tokio::time::timeout(deadline, loaded).await.map_err(late)?
    }

    /// Returns the jobs in the order of their names, each as of the last change that was delivered.
    ///
    /// Nodes without a configuration are no job; see [`JobSnapshot::has_config`].
    #[must_use]
    pub fn jobs(&self) -> Vec<Arc<JobSnapshot>> {
        self.shared.shown.lock().jobs.all().cloned().collect()
    }

    /// Returns a job, if it has any node.
    #[must_use]
    pub fn job(&self, name: &JobName) -> Option<Arc<JobSnapshot>> {
        self.shared.shown.lock().jobs.get(name).cloned()
    }

    /// Returns the age of what is shown.
    #[must_use]
    pub fn freshness(&self) -> Freshness {
        self.shared.shown.lock().freshness
    }

    /// Subscribes to the changes. The subscriber gets at most one update in each interval, with
    /// everything that has changed since the former one. With an interval of zero it gets an update
    /// as soon as it asks and something has changed.
    #[must_use]
    pub fn updates(&self, interval: Duration) -> Updates {
        self.shared.subscribers.add(interval)
    }
}

impl Drop for LiveNamespace {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.subscribers.close();
    }
}

/// The task that follows the registry.
struct Follower {
    feed: Feed,
    sessions: SessionFeed,
    shared: Arc<Shared>,
    /// The registry answers.
    is_connected: bool,
    /// No snapshot is being read.
    is_complete: bool,
    /// A center without an owner is closed.
    _registry: Arc<dyn RegistryCenter>,
}

impl Follower {
    async fn run(mut self) {
        loop {
            tokio::select! {
                change = self.feed.next() => match change {
                    Some(change) => self.apply(change),
                    None => break,
                },
                session = self.sessions.next() => match session {
                    Some(SessionChange::Connected { .. }) => self.is_connected = true,
                    Some(SessionChange::Suspended { .. } | SessionChange::Lost { .. }) => {
                        self.is_connected = false;
                    }
                    Some(SessionChange::Closed) | None => break,
                },
            }
            self.report_freshness();
            // The feed is always ready while a large snapshot arrives.
            tokio::task::yield_now().await;
        }
        self.is_connected = false;
        self.report_freshness();
        self.shared.subscribers.close();
    }

    /// Applies a change, and those that are pending, as one update.
    fn apply(&mut self, first: Change) {
        let mut changed = BTreeSet::new();
        let mut next = Some(first);
        {
            let mut shown = self.shared.shown.lock();
            for _ in 0..CHANGES_AT_ONCE {
                let Some(change) = next.take().or_else(|| self.feed.try_next()) else { break };
                match &change {
                    Change::Init => self.is_complete = false,
                    Change::Ready => self.is_complete = true,
                    Change::Entry(_) | Change::Put(_) | Change::Gone { .. } => {}
                }
                shown.jobs.apply(change, &mut changed);
            }
        }
        if !changed.is_empty() {
            self.shared.subscribers.report(&changed);
        }
    }

    fn report_freshness(&self) {
        let mut shown = self.shared.shown.lock();
        let freshness = match shown.freshness {
            _ if self.is_connected && self.is_complete => Freshness::Current,
            Freshness::Current => Freshness::Stale { since: Instant::now() },
            earlier @ (Freshness::Loading | Freshness::Stale { .. }) => earlier,
        };
        if shown.freshness != freshness {
            shown.freshness = freshness;
            drop(shown);
            self.shared.subscribers.report(&BTreeSet::new());
        }
    }
}
