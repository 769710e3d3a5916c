//! The findings of the doctor for all jobs of a namespace.
//!
//! An examination visits all items of a job, so only jobs that have changed are examined again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use operations::{Finding, FindingCode, JobSnapshot, LiveNamespace, Severity, Updates, diagnose};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Time of an examination after which the next one is delayed.
const LONG: Duration = Duration::from_millis(5);
/// Pause after a long examination, as a multiple of its time. It bounds the share of a processor.
const PAUSE: u32 = 20;

/// The findings of each job that has any.
#[derive(Debug, Default)]
pub(crate) struct Found(BTreeMap<JobName, Arc<Vec<Finding>>>);

impl Found {
    /// Returns the findings of all jobs, in the order of their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Finding> {
        self.0.values().flat_map(|found| &**found)
    }

    /// Returns the number of findings of a job that are more than information.
    pub(crate) fn problems_of(&self, job: &JobName) -> usize {
        self.0.get(job).map_or(0, |found| problems(found.iter()))
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
        changed.extend(known.0.iter().filter(|(_, found)| depend_on_time(found)).map(name_of));
        if changed.is_empty() {
            return;
        }
        let mut found = known.0.clone();
        for name in changed {
            match live
                .job(&name)
                .map(|job| diagnose(&job, None, now))
                .filter(|found| !found.is_empty())
            {
                Some(of_job) => drop(found.insert(name, Arc::new(of_job))),
                None => drop(found.remove(&name)),
            }
        }
        *self.found.lock() = Arc::new(Found(found));
        let time = began.elapsed();
        examiner.paused_until = (time > LONG).then(|| Instant::now() + time * PAUSE);
    }
}

impl Examiner {
    fn changed(&mut self) -> BTreeSet<JobName> {
        let update = self.updates.next().now_or_never().flatten();
        update.map(|update| update.jobs).unwrap_or_default()
    }
}

fn name_of((name, _): (&JobName, &Arc<Vec<Finding>>)) -> JobName {
    name.clone()
}

/// Returns true if findings can end without a change of the job.
fn depend_on_time(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.code == FindingCode::FutureFire)
}

/// Returns a finding of the present diagnosis.
pub(crate) fn finding(
    job: &JobSnapshot,
    code: &str,
    node: Option<&str>,
    now: Timestamp,
) -> Answer<Finding> {
    let mut findings = diagnose(job, None, now).into_iter();
    let same = |one: &Finding| one.code.as_str() == code && one.node.as_deref() == node;
    findings.find(same).ok_or_else(|| {
        let node = node.unwrap_or("none");
        let detail = format!(
            "job {} has no finding with code {code:?} and node {node}; examine it again",
            job.job()
        );
        Problem::not_found("no-such-finding", detail)
    })
}
