//! The snapshots of all jobs, and how changes apply to them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use coordination::{GroupName, JobName, Layout, NodeKind};
use jiff::Timestamp;
use reg_center::{Change, Node, NodePath, Revision};
use sharding::{InstanceId, ShardingItem};

use super::list::{JobLine, JobList};
use crate::attention::Readiness;
use crate::groups::by_group;
use crate::nodes::Nodes;
use crate::{GroupSnapshot, JobSnapshot, job_brief_since};

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
    /// Jobs with a schedule by their next fire, in milliseconds since 1970 UTC.
    fires: BTreeSet<(i64, JobName)>,
    /// The jobs of each group that a configuration names.
    by_group: BTreeMap<GroupName, BTreeSet<JobName>>,
}

/// Next fire of a job that is not computed yet.
const UNKNOWN_FIRE: i64 = i64::MIN;

/// A run: its job, its start in milliseconds since 1970 UTC, the key of its slot.
type Run = (Arc<JobSnapshot>, Option<i64>, ShardingItem);

/// A job with its summary.
#[derive(Debug)]
struct LiveJob {
    snapshot: Arc<JobSnapshot>,
    /// `None` without a configuration.
    line: Option<JobLine>,
    /// The instances that can run items, and the time at which this process first saw them so.
    ready: (BTreeMap<InstanceId, Readiness>, i64),
    /// Next fire at the last request for it, and the revision of its configuration.
    fire: Option<(i64, Revision)>,
    /// The group below which the job is in [`Jobs::by_group`].
    group: Option<GroupName>,
}

impl LiveJob {
    fn new(snapshot: JobSnapshot) -> Self {
        let ready = (snapshot.ready().clone(), now_ms());
        let snapshot = Arc::new(snapshot);
        let mut job = Self { snapshot, line: None, ready, fire: None, group: None };
        job.summarize();
        job
    }

    /// Computes the summary again. Returns true if it has changed.
    fn summarize(&mut self) -> bool {
        if self.ready.0 != *self.snapshot.ready() {
            self.ready = (self.snapshot.ready().clone(), now_ms());
        }
        let ready_ms = self.ready.1;
        let brief = || job_brief_since(&self.snapshot, Some(ready_ms));
        let brief = self.snapshot.has_config().then(brief);
        let line = brief.map(|brief| {
            let known = self.line.as_ref().filter(|line| line.brief.status == brief.status);
            let state_since_ms = known.map_or_else(now_ms, |line| line.state_since_ms);
            JobLine { brief: Arc::new(brief), state_since_ms, ready_ms }
        });
        let has_changed = self.line != line;
        if has_changed {
            self.line = line;
        }
        has_changed
    }
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

impl Jobs {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<JobSnapshot>> {
        self.jobs.values().map(|job| &job.snapshot)
    }

    pub(super) fn get(&self, name: &JobName) -> Option<&Arc<JobSnapshot>> {
        self.jobs.get(name).map(|job| &job.snapshot)
    }

    /// Returns the group that the configuration of a job names.
    pub(super) fn group_of(&self, job: &JobName) -> Option<&GroupName> {
        self.jobs.get(job)?.group.as_ref()
    }

    /// Returns the groups that configurations name, each with its jobs.
    pub(super) fn by_group(&self) -> &BTreeMap<GroupName, BTreeSet<JobName>> {
        &self.by_group
    }

    pub(super) fn members_revision(&self) -> u64 {
        self.members_revision
    }

    /// Returns the list of all summaries. It is made again only if one has changed.
    pub(super) fn list(&mut self) -> Arc<JobList> {
        let make = || {
            let lines = self.jobs.values().filter_map(|job| job.line.clone());
            Arc::new(JobList::new(self.revision, lines.collect()))
        };
        Arc::clone(self.list.get_or_insert_with(make))
    }

    /// Returns the oldest runs of all jobs, with their starts. Runs whose start is unknown are the
    /// last.
    ///
    /// Each job has its runs in this order, so that only the first run of each job, the returned
    /// ones, and those up to `last` are visited.
    pub(super) fn running(&self, last: Option<(Option<i64>, &str, u32)>, limit: usize) -> Vec<Run> {
        let all: Vec<_> = self.jobs.values().filter(|job| job.line.is_some()).collect();
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
            let snapshot = &all[job].snapshot;
            let position =
                |(since, job, item): (Option<i64>, _, _)| (since.is_none(), since, job, item);
            let here = position((since, snapshot.job().as_str(), item.index()));
            if last.is_none_or(|last| position(last) < here) {
                oldest.push((Arc::clone(snapshot), since, item));
            }
            first.extend(runs[job].next().map(|run| key(run, job)));
        }
        oldest
    }

    /// Returns the numbers of runs by instance.
    pub(super) fn runs_by_instance(&self) -> BTreeMap<InstanceId, usize> {
        let mut all = BTreeMap::new();
        for job in self.jobs.values().filter(|job| job.line.is_some()) {
            for (id, runs) in job.snapshot.tally().runs_on() {
                match all.get_mut(id) {
                    Some(known) => *known += runs,
                    None => drop(all.insert(id.clone(), *runs)),
                }
            }
        }
        all
    }

    /// Returns the first jobs by their next fire, each with its next fire in milliseconds since
    /// 1970 UTC.
    ///
    /// Only fires that have passed since the last call are computed.
    pub(super) fn next_fires(&mut self, now_ms: i64, limit: usize) -> Vec<(i64, JobName)> {
        self.pass_fires(now_ms);
        self.fires.iter().take(limit).cloned().collect()
    }

    /// Returns the next fire of a job, in milliseconds since 1970 UTC.
    pub(super) fn next_fire(&mut self, job: &JobName, now_ms: i64) -> Option<i64> {
        self.pass_fires(now_ms);
        Some(self.jobs.get(job)?.fire?.0)
    }

    fn pass_fires(&mut self, now_ms: i64) {
        while self.fires.first().is_some_and(|(fire, _)| *fire <= now_ms) {
            let Some((_, name)) = self.fires.pop_first() else { return };
            let Some(job) = self.jobs.get_mut(&name) else { continue };
            let next = job.snapshot.fire_after(now_ms);
            job.fire = next.zip(job.snapshot.config_revision());
            self.fires.extend(next.map(|fire| (fire, name)));
        }
    }

    /// Forgets the next fire of a job if its configuration has changed.
    fn check_fire(&mut self, name: &JobName) {
        let Some(job) = self.jobs.get(name) else { return };
        let revision = job.snapshot.config_revision();
        // A delay counts from the ends of runs, so that any change can move its next fire.
        let is_fixed = job.snapshot.config().is_none_or(|config| config.fixed_delay().is_none());
        if is_fixed && job.fire.is_some_and(|(_, of)| Some(of) == revision) {
            return;
        }
        let has_schedule = job.snapshot.schedule().is_some();
        self.forget_fire(name);
        if has_schedule {
            self.fires.insert((UNKNOWN_FIRE, name.clone()));
        }
    }

    /// Moves a job to the group that its configuration names now.
    fn check_group(&mut self, name: &JobName) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        let group = job.snapshot.group();
        if job.group.as_ref() == group {
            return;
        }
        let group = group.cloned();
        let former = std::mem::replace(&mut job.group, group.clone());
        self.leave_group(name, former.as_ref());
        if let Some(group) = group {
            self.by_group.entry(group).or_default().insert(name.clone());
        }
    }

    fn leave_group(&mut self, name: &JobName, group: Option<&GroupName>) {
        let Some(group) = group else { return };
        let Some(jobs) = self.by_group.get_mut(group) else { return };
        jobs.remove(name);
        if jobs.is_empty() {
            self.by_group.remove(group);
        }
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
            self.check_fire(name);
            self.check_group(name);
            if self.jobs.get_mut(name).is_some_and(LiveJob::summarize) {
                self.outdate();
            }
        }
    }

    /// Replaces a job by that of a new snapshot of the namespace.
    pub(super) fn insert(&mut self, snapshot: JobSnapshot) {
        let name = snapshot.job().clone();
        self.forget_fire(&name);
        match self.jobs.get_mut(&name) {
            // The times at which this process has seen its states stay.
            Some(known) => {
                known.snapshot = Arc::new(snapshot);
                known.summarize();
            }
            None => drop(self.jobs.insert(name.clone(), LiveJob::new(snapshot))),
        }
        self.check_fire(&name);
        self.check_group(&name);
        self.members_revision += 1;
        self.outdate();
    }

    /// Removes the jobs that a new snapshot of the namespace does not have. Returns their names.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&JobName) -> bool) -> BTreeSet<JobName> {
        let removed: BTreeSet<_> = self.jobs.keys().filter(|job| !is_kept(job)).cloned().collect();
        removed.iter().for_each(|job| self.remove(job));
        removed
    }

    fn forget_fire(&mut self, name: &JobName) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        let fire = job.fire.take().map_or(UNKNOWN_FIRE, |(fire, _)| fire);
        self.fires.remove(&(fire, name.clone()));
    }

    fn remove(&mut self, job: &JobName) {
        self.forget_fire(job);
        let removed = self.jobs.remove(job);
        self.leave_group(job, removed.and_then(|removed| removed.group).as_ref());
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

/// The nodes of a snapshot of the namespace that is being read.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    jobs: BTreeMap<JobName, Nodes>,
    of_groups: Vec<Node>,
}

impl Incoming {
    pub(super) fn insert(&mut self, node: Node) {
        if let Some(job) = job_of(&node.path) {
            let root = || Nodes::new(Layout::new(&job).root());
            self.jobs.entry(job.clone()).or_insert_with(root).insert(node);
        } else if Layout::parse_group(&node.path).is_some() {
            self.of_groups.push(node);
        }
    }

    pub(super) fn take_groups(&mut self) -> BTreeMap<GroupName, GroupSnapshot> {
        by_group(&std::mem::take(&mut self.of_groups))
    }

    pub(super) fn has(&self, job: &JobName) -> bool {
        self.jobs.contains_key(job)
    }

    /// Takes the nodes of one job; `None` after the last one.
    pub(super) fn next(&mut self) -> Option<(JobName, Nodes)> {
        self.jobs.pop_first()
    }
}

/// Returns the job that a node belongs to; `None` for the root, reserved nodes, and nodes of other
/// applications, whose names no job can have.
fn job_of(path: &NodePath) -> Option<JobName> {
    let name = path.as_str().get(1..)?.split('/').next()?;
    if Layout::is_reserved(name) { None } else { JobName::new(name).ok() }
}

#[cfg(test)]
mod tests {
    use coordination::{JobConfig, encode_config};
    use reg_center::{Stat, Version};

    use super::*;

    fn scheduled(name: &str) -> JobSnapshot {
        let name = JobName::new(name).unwrap();
        let mut config = JobConfig::new(name.clone(), 1);
        config.cron = Some("0 0/10 * * * ?".to_owned());
        let revision = Revision(1);
        let stat = Stat {
            version: Version(0),
            created: revision,
            modified: revision,
            modified_at: None,
            owner: None,
        };
        let path = Layout::new(&name).path(&NodeKind::Config);
        JobSnapshot::of_nodes(&name, vec![Node { path, data: encode_config(&config).into(), stat }])
    }

    #[test]
    fn removed_job_leaves_no_fire_whether_or_not_it_was_computed() {
        for is_computed in [false, true] {
            let mut jobs = Jobs::default();
            jobs.insert(scheduled("kept"));
            jobs.insert(scheduled("removed"));
            if is_computed {
                assert_eq!(jobs.next_fires(0, 9).len(), 2);
            }
            jobs.retain(|job| job.as_str() == "kept");
            assert_eq!(jobs.fires.len(), 1, "{is_computed}: {:?}", jobs.fires);
            jobs.insert(scheduled("kept"));
            assert_eq!(jobs.fires.len(), 1, "{is_computed}: {:?}", jobs.fires);
        }
    }
}
