//! Copies audited changes from the registry, which has the last 32 of each job and of each group,
//! to the history.

use std::sync::Arc;
use std::time::Duration;

use coordination::{AuditSubject, JobName};
use job_history::{AuditCopier, History};
use operations::{Report, Update};

use crate::namespaces::Namespace;

/// Least time between two looks at the changed jobs and groups.
const INTERVAL: Duration = Duration::from_secs(1);

/// Copies the changes of a namespace as long as it is shown. Without a history nothing is copied.
pub(crate) fn follow(namespace: &Arc<Namespace>) {
    if namespace.history.is_none() {
        return;
    }
    let mut updates = namespace.live.updates(INTERVAL);
    let namespace = Arc::downgrade(namespace);
    tokio::spawn(async move {
        let mut copier: Option<AuditCopier> = None;
        while let Some(update) = updates.next().await {
            let Some(namespace) = namespace.upgrade() else { return };
            let Some(history) = &namespace.history else { return };
            match &mut copier {
                Some(copier) => copy_update(&namespace, history, &update, copier).await,
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
    copier: &mut AuditCopier,
) {
    for name in &update.jobs {
        let subject = AuditSubject::from(name);
        match namespace.live.job(name) {
            Some(job) => drop(copier.copy(history, &subject, job.audit()).await),
            None => copier.forget(&subject),
        }
    }
    for name in &update.groups {
        let subject = AuditSubject::from(name);
        match namespace.live.group(name) {
            Some(group) => drop(copier.copy(history, &subject, group.audit()).await),
            None => copier.forget(&subject),
        }
    }
}

/// Copies the changes of all jobs and groups that the store may lack. `None` if the store does not
/// answer.
async fn copy_all(namespace: &Namespace, history: &History) -> Option<AuditCopier> {
    let mut copier = match AuditCopier::new(history).await {
        Ok(copier) => copier,
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::debug!(error, "the history does not say which changes it has");
            return None;
        }
    };
    for job in namespace.live.jobs() {
        copier.copy(history, &AuditSubject::from(job.job()), job.audit()).await;
    }
    for group in namespace.live.groups() {
        let subject = AuditSubject::from(group.view().name());
        copier.copy(history, &subject, group.audit()).await;
    }
    Some(copier)
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
