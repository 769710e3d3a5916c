//! Copies audited changes from the registry, which has the last 32 of each job and of each group,
//! to the history.
//!
//! A change that is stored already stays as it is, so any number of consoles may copy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::{AuditRecord, AuditSubject, JobName};
use job_history::History;
use operations::{Report, Update};

use crate::namespaces::Namespace;

/// Least time between two looks at the changed jobs and groups.
const INTERVAL: Duration = Duration::from_secs(1);
/// Age, before the last stored change of a job or a group, up to which changes are stored again
/// when a console starts: the clocks of operators can differ.
const OVERLAP_MS: i64 = 3_600_000;

/// Last change of each job and of each group that is copied, by its id.
type Copied = BTreeMap<AuditSubject, String>;

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
                Some(copied) => copy_update(&namespace, history, &update, copied).await,
                none => *none = copy_all(&namespace, history).await,
            }
        }
    });
}

/// Copies the new changes of the jobs and groups of an update.
async fn copy_update(
    namespace: &Namespace,
    history: &History,
    update: &Update,
    copied: &mut Copied,
) {
    for name in &update.jobs {
        let subject = AuditSubject::from(name);
        match namespace.live.job(name) {
            Some(job) => copy(history, subject, job.audit(), copied, None).await,
            None => drop(copied.remove(&subject)),
        }
    }
    for name in &update.groups {
        let subject = AuditSubject::from(name);
        match namespace.live.group(name) {
            Some(group) => copy(history, subject, group.audit(), copied, None).await,
            None => drop(copied.remove(&subject)),
        }
    }
}

/// Copies the changes of all jobs and groups that the store may lack. `None` if the store does not
/// answer.
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
        let subject = AuditSubject::from(job.job());
        let from_ms = last.get(&subject).map(|last| last - OVERLAP_MS);
        copy(history, subject, job.audit(), &mut copied, from_ms).await;
    }
    for group in namespace.live.groups() {
        let subject = AuditSubject::from(group.view().name());
        let from_ms = last.get(&subject).map(|last| last - OVERLAP_MS);
        copy(history, subject, group.audit(), &mut copied, from_ms).await;
    }
    Some(copied)
}

/// Copies changes, oldest first, after the last copied one, from a time on if one is given.
async fn copy<'a>(
    history: &History,
    subject: AuditSubject,
    audit: impl Iterator<Item = &'a AuditRecord>,
    copied: &mut Copied,
    from_ms: Option<i64>,
) {
    let records: Vec<&AuditRecord> = audit.collect();
    let known = copied.get(&subject);
    // Without the last copied change in the log, all of it is new.
    let start = records.iter().position(|record| Some(&record.id) == known);
    let is_new = |record: &&&AuditRecord| from_ms.is_none_or(|from| record.at_ms >= from);
    for record in records.iter().skip(start.map_or(0, |at| at + 1)).filter(is_new) {
        if !history.record_audit(&subject, record).await {
            return;
        }
    }
    if let Some(last) = records.last() {
        copied.insert(subject, last.id.clone());
    }
}

/// Stores the removals of a report. A removed job has no node that would keep its removal.
pub(crate) async fn remember(namespace: &Namespace, report: &Report) {
    let Some(history) = &namespace.history else { return };
    for recorded in report.records.iter().filter(|recorded| recorded.is_removal_of_job()) {
        if let Ok(job) = JobName::new(&recorded.job) {
            history.record_audit(&AuditSubject::Job(job), &recorded.record).await;
        }
    }
}
