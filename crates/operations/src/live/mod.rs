//! All jobs and groups of a namespace, kept current by one feed.
//!
//! In reading order: `jobs` (the snapshots and how changes apply to them) · `groups` (those of
//! groups) · `list` (summaries of all jobs) · `updates` (subscribers) · `follower` (the task that
//! follows the registry) · this file (queries).

mod follower;
mod groups;
mod jobs;
mod list;
mod updates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coordination::{GroupName, JobName, Layout};
use parking_lot::Mutex;
use reg_center::{Change, RegistryCenter};
use sharding::InstanceId;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::doctor::Reading;
use crate::{
    Error, Finding, GroupSnapshot, JobSnapshot, Result, ServerBrief, item_brief, server_briefs,
};
use follower::Follower;
use groups::Groups;
use jobs::Jobs;
pub use list::{JobLine, JobList, RunningItem, Totals};
use updates::Subscribers;
pub use updates::{Update, Updates};

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

impl Freshness {
    /// Returns the freshness that follows this one.
    ///
    /// `is_current` is true while the registry answers and no snapshot is being read.
    #[must_use]
    pub fn after(self, is_current: bool) -> Self {
        match self {
            _ if is_current => Self::Current,
            Self::Current => Self::Stale { since: Instant::now() },
            earlier @ (Self::Loading | Self::Stale { .. }) => earlier,
        }
    }
}

/// All jobs and groups of a namespace, kept current by one feed.
///
/// It reads the whole namespace once. After that, each change costs one delivery, regardless of the
/// number of readers, jobs and items, unless a reader holds a snapshot of the changed job, which is
/// then copied. It needs memory for all nodes of the namespace. Dropping it ends the feed.
///
/// # Cost of a call
/// | call | cost |
/// |---|---|
/// | [`job`](Self::job), [`freshness`](Self::freshness) | the same for each namespace |
/// | [`group`](Self::group), [`group_of`](Self::group_of) | the same for each namespace |
/// | [`groups`](Self::groups) | one pointer for each group |
/// | [`jobs_of_group`](Self::jobs_of_group) | the jobs of the group |
/// | [`jobs`](Self::jobs) | one pointer for each job |
/// | [`list`](Self::list) | nothing if no summary has changed, otherwise one pointer for each job |
/// | [`running`](Self::running) | the jobs with running items, and the returned items |
/// | [`runs_by_instance`](Self::runs_by_instance) | the instances with running items of each job |
/// | [`next_fires`](Self::next_fires) | the fires since the last call, and the returned ones |
/// | [`servers`](Self::servers) | nothing if no server has changed, otherwise all instances |
///
/// No call walks over the items of all jobs. Hold a snapshot only while it is rendered.
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
    groups: Groups,
    freshness: Freshness,
    /// The last summaries of servers, with the revision of the instances and servers then.
    servers: Option<(u64, Arc<Vec<ServerBrief>>)>,
}

impl Shown {
    /// Applies a change of one node, and adds its job or its group to `changed`.
    fn apply(&mut self, change: Change, changed: &mut Update) {
        match change.path().and_then(Layout::parse_group) {
            Some((group, kind)) => {
                self.groups.apply(&group, kind, &change);
                changed.groups.insert(group);
            }
            None => self.jobs.apply(change, &mut changed.jobs),
        }
    }

    fn group(&self, name: &GroupName) -> Option<Arc<GroupSnapshot>> {
        let without_nodes = || {
            let is_named = self.jobs.by_group().contains_key(name);
            is_named.then(|| Arc::new(GroupSnapshot::new(name.clone())))
        };
        self.groups.get(name).cloned().or_else(without_nodes)
    }
}

impl LiveNamespace {
    /// Follows all jobs of a registry's namespace.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    #[must_use]
    pub fn follow(registry: Arc<dyn RegistryCenter>) -> Self {
        let shown = Shown {
            jobs: Jobs::default(),
            groups: Groups::default(),
            freshness: Freshness::Loading,
            servers: None,
        };
        let shared =
            Arc::new(Shared { shown: Mutex::new(shown), subscribers: Subscribers::default() });
        let follower = Follower::new(registry, Arc::clone(&shared));
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
    /// While a snapshot of the namespace is being read, some jobs can be newer than others, and
    /// [`freshness`](Self::freshness) is not [`Freshness::Current`].
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

    /// Returns the groups that have nodes or jobs, in the order of their names.
    #[must_use]
    pub fn groups(&self) -> Vec<Arc<GroupSnapshot>> {
        let shown = self.shared.shown.lock();
        let stored = shown.groups.all().map(|group| group.view().name());
        let names: BTreeSet<_> = stored.chain(shown.jobs.by_group().keys()).collect();
        names.into_iter().filter_map(|name| shown.group(name)).collect()
    }

    /// Returns a group, if it has nodes or jobs.
    #[must_use]
    pub fn group(&self, name: &GroupName) -> Option<Arc<GroupSnapshot>> {
        self.shared.shown.lock().group(name)
    }

    /// Examines the groups that have nodes, with their jobs as of the same moment.
    ///
    /// Faults that only two readings show are left out; see
    /// [`diagnose_groups`](crate::diagnose_groups).
    #[must_use]
    pub fn diagnose_groups(&self) -> Vec<Finding> {
        let shown = self.shared.shown.lock();
        let job = |name: &JobName| Ok(shown.jobs.get(name).map(|job| &**job));
        let readings = shown.groups.all().map(|group| Reading { group, job: &job });
        readings.flat_map(|reading| reading.findings(None)).collect()
    }

    /// Returns the group of a job, for [`why_not_running_in`](crate::why_not_running_in).
    #[must_use]
    pub fn group_of(&self, job: &JobSnapshot) -> Option<Arc<GroupSnapshot>> {
        self.group(job.group()?)
    }

    /// Returns the names of the jobs whose configurations name a group, ascending.
    #[must_use]
    pub fn jobs_of_group(&self, group: &GroupName) -> Vec<JobName> {
        let shown = self.shared.shown.lock();
        shown.jobs.by_group().get(group).into_iter().flatten().cloned().collect()
    }

    /// Returns the summaries of all jobs, sorted by name, with the sums over all jobs.
    ///
    /// All readers share the list. It is made again only after a summary has changed; a change of
    /// an item need not change the summary of its job.
    #[must_use]
    pub fn list(&self) -> Arc<JobList> {
        self.shared.shown.lock().jobs.list()
    }

    /// Returns the oldest runs of all jobs, at most `limit`. Runs whose start is unknown are the
    /// last.
    #[must_use]
    pub fn running(&self, limit: usize) -> Vec<RunningItem> {
        self.running_after(None, limit)
    }

    /// Returns the runs after a run in the order of [`running`](Self::running), at most `limit`.
    /// The run is given by its start, its job and the index of its [key](crate::ItemBrief::key),
    /// and need not go on.
    #[must_use]
    pub fn running_after(
        &self,
        last: Option<(Option<i64>, &str, u32)>,
        limit: usize,
    ) -> Vec<RunningItem> {
        let runs = self.shared.shown.lock().jobs.running(last, limit);
        let running = runs.into_iter().map(|(job, since_ms, item)| RunningItem {
            job: job.job().clone(),
            item: item_brief(&job, item),
            since_ms,
        });
        running.collect()
    }

    /// Returns the numbers of runs of all jobs by their instance, if it is known.
    #[must_use]
    pub fn runs_by_instance(&self) -> BTreeMap<InstanceId, usize> {
        self.shared.shown.lock().jobs.runs_by_instance()
    }

    /// Returns the first jobs by their next fire after a time, at most `limit`, each with its next
    /// fire. Times are in milliseconds since 1970 UTC, and must not decrease from call to call.
    #[must_use]
    pub fn next_fires(&self, now_ms: i64, limit: usize) -> Vec<(i64, JobName)> {
        self.shared.shown.lock().jobs.next_fires(now_ms, limit)
    }

    /// Returns the next fire of a job after a time; see [`next_fires`](Self::next_fires).
    #[must_use]
    pub fn next_fire(&self, job: &JobName, now_ms: i64) -> Option<i64> {
        self.shared.shown.lock().jobs.next_fire(job, now_ms)
    }

    /// Returns all servers that a job knows or that have a live instance, sorted by address as
    /// text; see [`server_briefs`].
    ///
    /// All readers share the summaries. They are made again only after an instance, a server or a
    /// configuration has changed.
    #[must_use]
    pub fn servers(&self) -> Arc<Vec<ServerBrief>> {
        let (revision, jobs) = {
            let shown = self.shared.shown.lock();
            let revision = shown.jobs.members_revision();
            if let Some((of, servers)) = &shown.servers
                && *of == revision
            {
                return Arc::clone(servers);
            }
            (revision, shown.jobs.all().cloned().collect::<Vec<_>>())
        };
        let servers = Arc::new(server_briefs(jobs.iter().map(|job| &**job)));
        self.shared.shown.lock().servers = Some((revision, Arc::clone(&servers)));
        servers
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
        self.shared.subscribers.add(None, interval)
    }

    /// Subscribes to the changes of one job, of its group, and of the
    /// [`freshness`](Self::freshness), in the manner of [`updates`](Self::updates). Changes of
    /// other jobs neither cause nor delay an update.
    #[must_use]
    pub fn job_updates(&self, job: &JobName, interval: Duration) -> Updates {
        self.shared.subscribers.add(Some(job.clone()), interval)
    }
}

impl Drop for LiveNamespace {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.subscribers.close();
    }
}
