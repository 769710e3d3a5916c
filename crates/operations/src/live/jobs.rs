//! The snapshots of all jobs, and how changes apply to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use coordination::{JobName, Layout, NodeKind};
use reg_center::{Change, Node, NodePath};
use sharding::ShardingItem;

use super::list::JobList;
use crate::nodes::Nodes;
use crate::{JobBrief, JobSnapshot, job_brief};

/// The jobs of a namespace.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: BTreeMap<JobName, LiveJob>,
    /// Number of changes of the summaries.
    revision: u64,
    /// The list of this revision, if a reader has requested it.
    list: Option<Arc<JobList>>,
    /// Number of changes of instances, servers and configurations.
    members_revision: u64,
}

/// A run: its job, its start in milliseconds since 1970 UTC, its item.
type Run = (Arc<JobSnapshot>, Option<i64>, ShardingItem);

/// A job with its summary.
#[derive(Debug)]
struct LiveJob {
    snapshot: Arc<JobSnapshot>,
    /// `None` without a configuration.
    brief: Option<Arc<JobBrief>>,
}

impl LiveJob {
    fn new(snapshot: JobSnapshot) -> Self {
        let brief = snapshot.has_config().then(|| Arc::new(job_brief(&snapshot)));
        Self { snapshot: Arc::new(snapshot), brief }
    }

    /// Computes the summary again. Returns true if it has changed.
    fn summarize(&mut self) -> bool {
        let brief = self.snapshot.has_config().then(|| job_brief(&self.snapshot));
        let has_changed = self.brief.as_deref() != brief.as_ref();
        if has_changed {
            self.brief = brief.map(Arc::new);
        }
        has_changed
    }
}

impl Jobs {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<JobSnapshot>> {
        self.jobs.values().map(|job| &job.snapshot)
    }

    pub(super) fn get(&self, name: &JobName) -> Option<&Arc<JobSnapshot>> {
        self.jobs.get(name).map(|job| &job.snapshot)
    }

    pub(super) fn members_revision(&self) -> u64 {
        self.members_revision
    }

    /// Returns the list of all summaries. It is made again only if one has changed.
    pub(super) fn list(&mut self) -> Arc<JobList> {
        let make = || {
            let briefs = self.jobs.values().filter_map(|job| job.brief.clone());
            Arc::new(JobList::new(self.revision, briefs.collect()))
        };
        Arc::clone(self.list.get_or_insert_with(make))
    }

    /// Returns the oldest runs of all jobs, with their starts. Runs whose start is unknown are the
    /// last.
    ///
    /// Each job has its runs in this order, so that only the first run of each job, and the
    /// returned ones, are visited.
    pub(super) fn running(&self, limit: usize) -> Vec<Run> {
        let all: Vec<_> = self.jobs.values().filter(|job| job.brief.is_some()).collect();
        let mut runs: Vec<_> = all.iter().map(|job| job.snapshot.tally().running()).collect();
        let mut first = BinaryHeap::new();
        let key = |(since, item): (Option<i64>, ShardingItem), job: usize| {
            Reverse((since.is_none(), since, job, item))
        };
        for (job, runs) in runs.iter_mut().enumerate() {
            first.extend(runs.next().map(|run| key(run, job)));
        }
        let mut oldest = Vec::new();
        while oldest.len() < limit
            && let Some(Reverse((_, since, job, item))) = first.pop()
        {
            oldest.push((Arc::clone(&all[job].snapshot), since, item));
            first.extend(runs[job].next().map(|run| key(run, job)));
        }
        oldest
    }

    /// Applies a change of one node, and adds its job to `changed`. The summaries of `changed` are
    /// outdated until [`summarize`](Self::summarize).
    pub(super) fn apply(&mut self, change: Change, changed: &mut BTreeSet<JobName>) {
        let Some(job) = change.path().and_then(job_of) else { return };
        let known = self.jobs.entry(job.clone());
        let known = known.or_insert_with(|| LiveJob::new(JobSnapshot::of_nodes(&job, Vec::new())));
        // A reader that holds the snapshot keeps it as it is.
        let snapshot = Arc::make_mut(&mut known.snapshot);
        let kind = snapshot.apply(change);
        self.members_revision += u64::from(kind.is_some_and(|kind| concerns_servers(&kind)));
        if !snapshot.exists() {
            self.remove(&job);
        }
        changed.insert(job);
    }

    /// Computes the summaries of changed jobs.
    pub(super) fn summarize(&mut self, changed: &BTreeSet<JobName>) {
        for name in changed {
            if self.jobs.get_mut(name).is_some_and(LiveJob::summarize) {
                self.outdate();
            }
        }
    }

    /// Replaces a job by that of a new snapshot of the namespace.
    pub(super) fn insert(&mut self, snapshot: JobSnapshot) {
        self.jobs.insert(snapshot.job().clone(), LiveJob::new(snapshot));
        self.members_revision += 1;
        self.outdate();
    }

    /// Removes the jobs that a new snapshot of the namespace does not have. Returns their names.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&JobName) -> bool) -> BTreeSet<JobName> {
        let removed: BTreeSet<_> = self.jobs.keys().filter(|job| !is_kept(job)).cloned().collect();
        removed.iter().for_each(|job| self.remove(job));
        removed
    }

    fn remove(&mut self, job: &JobName) {
        self.jobs.remove(job);
        self.members_revision += 1;
        self.outdate();
    }

    fn outdate(&mut self) {
        self.revision += 1;
        self.list = None;
    }
}

/// Returns true if the summaries of servers can depend on a node.
fn concerns_servers(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Instance(_) | NodeKind::Server(_) | NodeKind::Config)
}

/// The nodes of a snapshot of the namespace that is being read, by job.
#[derive(Debug, Default)]
pub(super) struct Incoming(BTreeMap<JobName, Nodes>);

impl Incoming {
    pub(super) fn insert(&mut self, node: Node) {
        if let Some(job) = job_of(&node.path) {
            let root = || Nodes::new(Layout::new(&job).root());
            self.0.entry(job.clone()).or_insert_with(root).insert(node);
        }
    }

    pub(super) fn has(&self, job: &JobName) -> bool {
        self.0.contains_key(job)
    }

    /// Takes the nodes of one job; `None` after the last one.
    pub(super) fn next(&mut self) -> Option<(JobName, Nodes)> {
        self.0.pop_first()
    }
}

/// Returns the job that a node belongs to; `None` for the root, reserved nodes, and nodes of other
/// applications, whose names no job can have.
fn job_of(path: &NodePath) -> Option<JobName> {
    let name = path.as_str().get(1..)?.split('/').next()?;
    if Layout::is_reserved(name) { None } else { JobName::new(name).ok() }
}
