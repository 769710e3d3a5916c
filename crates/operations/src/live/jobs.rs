//! The snapshots of all jobs, and how changes apply to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{JobName, Layout};
use reg_center::{Change, Node, NodePath};

use crate::JobSnapshot;

/// The jobs of a namespace.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: BTreeMap<JobName, Arc<JobSnapshot>>,
    /// The nodes of the incomplete snapshot, if one is being read.
    incoming: Option<BTreeMap<JobName, Vec<Node>>>,
}

impl Jobs {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<JobSnapshot>> {
        self.jobs.values()
    }

    pub(super) fn get(&self, name: &JobName) -> Option<&Arc<JobSnapshot>> {
        self.jobs.get(name)
    }

    /// Applies a change of the feed, and adds the jobs that it has changed to `changed`.
    pub(super) fn apply(&mut self, change: Change, changed: &mut BTreeSet<JobName>) {
        match (change, &mut self.incoming) {
            (Change::Init, _) => self.incoming = Some(BTreeMap::new()),
            (Change::Ready, _) => self.replace(changed),
            (Change::Entry(node) | Change::Put(node), Some(incoming)) => {
                if let Some(job) = job_of(&node.path) {
                    incoming.entry(job).or_default().push(node);
                }
            }
            (change, _) => {
                if let Some(job) = change.path().and_then(job_of) {
                    self.change(&job, &change);
                    changed.insert(job);
                }
            }
        }
    }

    /// Replaces the jobs by those of the snapshot, which is complete. Equal jobs stay, so that no
    /// reader renders them again.
    fn replace(&mut self, changed: &mut BTreeSet<JobName>) {
        let incoming = self.incoming.take().unwrap_or_default();
        changed.extend(self.jobs.keys().filter(|job| !incoming.contains_key(*job)).cloned());
        self.jobs.retain(|job, _| incoming.contains_key(job));
        for (job, nodes) in incoming {
            let snapshot = JobSnapshot::of_nodes(&job, nodes);
            let known = self.jobs.get(&job);
            if known.is_none_or(|known| !known.nodes().eq(snapshot.nodes())) {
                self.jobs.insert(job.clone(), Arc::new(snapshot));
                changed.insert(job);
            }
        }
    }

    fn change(&mut self, job: &JobName, change: &Change) {
        let known = self.jobs.entry(job.clone());
        let known = known.or_insert_with(|| Arc::new(JobSnapshot::of_nodes(job, Vec::new())));
        // A reader that holds the snapshot keeps it as it is.
        let snapshot = Arc::make_mut(known);
        snapshot.apply(change);
        if !snapshot.exists() {
            self.jobs.remove(job);
        }
    }
}

/// Returns the job that a node belongs to; `None` for the root, reserved nodes, and nodes of other
/// applications, whose names no job can have.
fn job_of(path: &NodePath) -> Option<JobName> {
    let name = path.as_str().get(1..)?.split('/').next()?;
    if Layout::is_reserved(name) { None } else { JobName::new(name).ok() }
}
