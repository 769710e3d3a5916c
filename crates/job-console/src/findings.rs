//! The findings of the doctor for all jobs and groups of a namespace.
//!
//! An examination visits all items of a job, so only jobs that have changed are examined again.
//! Groups have few nodes, and all are examined after each change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::{GroupName, JobName};
use futures_util::FutureExt as _;
use jiff::Timestamp;
use operations::{
    Finding, FindingCode, JobSnapshot, LiveNamespace, Severity, Update, Updates, diagnose,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Time of an examination after which the next one is delayed.
const LONG: Duration = Duration::from_millis(5);
/// Pause after a long examination, as a multiple of its time. It bounds the share of a processor.
const PAUSE: u32 = 20;

/// The findings of the jobs and the groups that have any.
#[derive(Debug, Default)]
pub(crate) struct Found {
    jobs: BTreeMap<JobName, Arc<Vec<Finding>>>,
    groups: Vec<Finding>,
}

impl Found {
    /// Returns the findings of all groups, then those of all jobs in the order of their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.groups.iter().chain(self.jobs.values().flat_map(|found| &**found))
    }

    /// Returns the findings about a job, and about the limits and nodes of its group that belong to
    /// no job.
    pub(crate) fn concerning(
        &self,
        job: &JobName,
        group: Option<&GroupName>,
    ) -> impl Iterator<Item = &Finding> {
        let of_groups = self.groups.iter().filter(move |it| it.concerns(job, group));
        of_groups.chain(self.jobs.get(job).into_iter().flat_map(|found| &**found))
    }

    /// Returns the number of findings concerning a job that are more than information.
    pub(crate) fn problems_of(&self, job: &JobSnapshot) -> usize {
        problems(self.concerning(job.job(), job.group()))
    }

    /// Returns the number of findings that are more than information.
    pub(crate) fn problems(&self) -> usize {
        problems(self.all())
    }
}

fn problems<'a>(found: impl Iterator<Item = &'a Finding>) -> usize {
    found.filter(|finding| finding.severity > Severity::Info).count()
}

/// The findings of a namespace, kept current by the changes of its jobs.
#[derive(Debug)]
pub(crate) struct Findings {
    examiner: Mutex<Examiner>,
    found: Mutex<Arc<Found>>,
}

#[derive(Debug)]
struct Examiner {
    /// Changes since the last examination.
    updates: Updates,
    paused_until: Option<Instant>,
}

impl Findings {
    /// Follows a namespace whose first snapshot is not yet read.
    pub(crate) fn follow(live: &LiveNamespace) -> Self {
        let updates = live.updates(Duration::ZERO);
        let examiner = Mutex::new(Examiner { updates, paused_until: None });
        Self { examiner, found: Mutex::default() }
    }

    /// Returns the findings of the last examination.
    pub(crate) fn found(&self) -> Arc<Found> {
        Arc::clone(&self.found.lock())
    }

    /// Examines the jobs that have changed, on a thread where it delays no other request.
    ///
    /// While another examination runs, and for a time after a long one, the findings stay as they
    /// are.
    pub(crate) async fn refresh(namespace: &Arc<Namespace>) {
        let of = Arc::clone(namespace);
        let examined = tokio::task::spawn_blocking(move || {
            of.findings.examine(&of.live, of.operations.present());
        });
        let examined = examined.await;
        if let Err(error) = examined {
            tracing::error!(namespace = namespace.name, %error, "an examination has failed");
        }
    }

    pub(crate) fn examine(&self, live: &LiveNamespace, now: Timestamp) {
        let Some(mut examiner) = self.examiner.try_lock() else { return };
        let began = Instant::now();
        if examiner.paused_until.is_some_and(|until| began < until) {
            return;
        }
        let known = self.found();
        let mut changed = examiner.changed();
        let by_time = known.jobs.iter().filter(|(_, found)| depend_on_time(found));
        changed.jobs.extend(by_time.map(|(name, _)| name.clone()));
        if changed.jobs.is_empty() && changed.groups.is_empty() {
            return;
        }
        let mut jobs = known.jobs.clone();
        for name in changed.jobs {
            match live
                .job(&name)
                .map(|job| diagnose(&job, None, now))
                .filter(|found| !found.is_empty())
            {
                Some(of_job) => drop(jobs.insert(name, Arc::new(of_job))),
                None => drop(jobs.remove(&name)),
            }
        }
        // Nodes of a group are judged by the records of its jobs, so each change can matter.
        *self.found.lock() = Arc::new(Found { jobs, groups: live.diagnose_groups() });
        let time = began.elapsed();
        examiner.paused_until = (time > LONG).then(|| Instant::now() + time * PAUSE);
    }
}

impl Examiner {
    fn changed(&mut self) -> Update {
        self.updates.next().now_or_never().flatten().unwrap_or_default()
    }
}

/// Returns true if findings can end without a change of the job.
fn depend_on_time(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.code == FindingCode::FutureFire)
}

/// Returns the present findings concerning a job: about its group, then about itself.
pub(crate) fn of_job(live: &LiveNamespace, job: &JobSnapshot, now: Timestamp) -> Vec<Finding> {
    let mut found = live.diagnose_groups();
    found.retain(|finding| finding.concerns(job.job(), job.group()));
    found.extend(diagnose(job, None, now));
    found
}

/// Job or group whose finding a request names.
#[derive(Clone, Debug)]
pub(crate) enum Subject {
    Job(Arc<JobSnapshot>),
    Group(GroupName),
}

/// Returns a finding of the present diagnosis of its subject.
pub(crate) fn finding(
    live: &LiveNamespace,
    subject: &Subject,
    (code, node): (&str, Option<&str>),
    now: Timestamp,
) -> Answer<Finding> {
    let (name, found) = match subject {
        Subject::Job(job) => (format!("job {}", job.job()), diagnose(job, None, now)),
        Subject::Group(group) => {
            let mut found = live.diagnose_groups();
            found.retain(|finding| finding.group.as_deref() == Some(group.as_str()));
            (format!("group {group}"), found)
        }
    };
    let same = |one: &Finding| one.code.as_str() == code && one.node.as_deref() == node;
    found.into_iter().find(same).ok_or_else(|| {
        let node = node.unwrap_or("none");
        let detail =
            format!("{name} has no finding with code {code:?} and node {node}; examine it again");
        Problem::not_found("no-such-finding", detail)
    })
}
