//! Copies audited changes from the registry, which has the last 32 of each job, to the history.
//!
//! A change that is stored already stays as it is, so any number of consoles may copy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use job_history::History;
use operations::{JobSnapshot, Report};

use crate::namespaces::Namespace;

/// Least time between two looks at the changed jobs.
const INTERVAL: Duration = Duration::from_secs(1);
/// Age, before the last stored change of a job, up to which changes are stored again when a console
/// starts: the clocks of operators can differ.
const OVERLAP_MS: i64 = 3_600_000;

/// Last change of each job that is copied, by its id.
type Copied = BTreeMap<JobName, String>;

/// Copies the changes of a namespace as long as it is shown. Without a history nothing is copied.
pub(crate) fn follow(namespace: &Arc<Namespace>) {
    if namespace.history.is_none() {
        return;
    }
    let mut updates = namespace.live.updates(INTERVAL);
    let namespace = Arc::downgrade(namespace);
    tokio::spawn(async move {
        let mut copied: Option<Copied> = None;
        while let Some(update) = updates.next().await {
            let Some(namespace) = namespace.upgrade() else { return };
            let Some(history) = &namespace.history else { return };
            match &mut copied {
                Some(copied) => {
                    for name in &update.jobs {
                        match namespace.live.job(name) {
                            Some(job) => copy(history, &job, copied, None).await,
                            None => drop(copied.remove(name)),
                        }
                    }
                }
                none => *none = copy_all(&namespace, history).await,
            }
        }
    });
}

/// Copies the changes of all jobs that the store may lack. `None` if the store does not answer.
async fn copy_all(namespace: &Namespace, history: &History) -> Option<Copied> {
    let last = match history.last_audits().await {
        Ok(last) => last,
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::debug!(error, "the history does not say which changes it has");
            return None;
        }
    };
    let mut copied = Copied::new();
    for job in namespace.live.jobs() {
        let stored = last.get(job.job().as_str()).map(|last| last - OVERLAP_MS);
        copy(history, &job, &mut copied, stored).await;
    }
    Some(copied)
}

/// Copies the changes of a job after the last copied one, from a time on if one is given.
async fn copy(history: &History, job: &JobSnapshot, copied: &mut Copied, from_ms: Option<i64>) {
    let known = copied.get(job.job());
    // Without the last copied change in the log, all of it is new.
    let start = job.audit().position(|record| Some(&record.id) == known).map_or(0, |at| at + 1);
    let is_new =
        |record: &&coordination::AuditRecord| from_ms.is_none_or(|from| record.at_ms >= from);
    for record in job.audit().skip(start).filter(is_new) {
        if !history.record_audit(job.job(), record).await {
            return;
        }
    }
    if let Some(last) = job.audit().next_back() {
        copied.insert(job.job().clone(), last.id.clone());
    }
}

/// Stores the changes of a report. A removed job has no node that would keep its removal.
pub(crate) async fn remember(namespace: &Namespace, report: &Report) {
    let Some(history) = &namespace.history else { return };
    for recorded in &report.records {
        if let Ok(job) = JobName::new(&recorded.job) {
            history.record_audit(&job, &recorded.record).await;
        }
    }
}
