//! Copies audited changes of the jobs that a worker leads to its history.
//!
//! The registry keeps the last 32 of each job and of each group.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use coordination::AuditSubject;
use job_history::{AuditCopier, History};
use lite::Scheduler;
use operations::Operations;
use tokio::time::MissedTickBehavior;

/// Time between two copies. Each reads one node of each job that this worker leads, and of its
/// group, one after the other.
const INTERVAL: Duration = Duration::from_secs(30);

/// Copies changes until the future is dropped.
pub(super) async fn copy_changes(
    history: &History,
    operations: &Operations,
    scheduler: &Scheduler,
) -> Infallible {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut copier: Option<AuditCopier> = None;
    loop {
        ticks.tick().await;
        let known = match copier.take() {
            Some(copier) => Ok(copier),
            None => AuditCopier::new(history).await,
        };
        match known {
            Ok(mut known) => {
                copy_led(history, operations, scheduler, &mut known).await;
                copier = Some(known);
            }
            Err(error) => {
                tracing::debug!(%error, "the history does not say which changes it has");
            }
        }
    }
}

/// Copies the changes of the jobs that this worker leads, and of their groups. Of all workers of a
/// job, its leader alone reads the log.
async fn copy_led(
    history: &History,
    operations: &Operations,
    scheduler: &Scheduler,
    copier: &mut AuditCopier,
) {
    let mut subjects = BTreeSet::new();
    for job in scheduler.jobs() {
        let Some(status) = job.status().await.ok().filter(|status| status.leads) else { continue };
        subjects.insert(AuditSubject::from(&status.job));
        let group = status.config.as_ref().and_then(|config| config.group.as_ref());
        subjects.extend(group.map(AuditSubject::from));
    }
    for subject in subjects {
        match operations.audit(&subject).await {
            Ok(log) => drop(copier.copy(history, &subject, &log).await),
            Err(error) => tracing::debug!(%error, "the last changes of {subject} are not copied"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coordination::{GroupLimits, GroupName, JobName};
    use job_history::{AuditQuery, HistoryOptions};
    use lite::{JobBuilder, JobEvent, JobRecord, job_fn};
    use operations::{By, Scope};
    use reg_center::{MemoryRegistry, RegistryCenter};
    use tokio::sync::mpsc;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(60);

    /// Starts an instance of a job in the group `db`. It reports its terms as the leader.
    async fn instance(
        registry: &MemoryRegistry,
        n: u8,
    ) -> (Scheduler, mpsc::UnboundedReceiver<()>) {
        let (sender, terms) = mpsc::unbounded_channel();
        let note = move |record: &JobRecord| {
            if matches!(record.event, JobEvent::BecameLeader { .. }) {
                let _ = sender.send(());
            }
        };
        let center: Arc<dyn RegistryCenter> = Arc::new(registry.connect());
        let builder = Scheduler::builder(center).server_ip(&format!("10.0.0.{n}")).unwrap();
        let scheduler = builder.event_subscriber(note).build().unwrap();
        let config = JobBuilder::new("report", 1).group("db").build().unwrap();
        let registered = scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await.unwrap();
        tokio::time::timeout(DEADLINE, registered.joined()).await.unwrap().unwrap();
        (scheduler, terms)
    }

    /// Returns the authors of the stored changes of the job and of the group.
    async fn stored(history: &History) -> [Vec<String>; 2] {
        history.flush(DEADLINE).await.unwrap();
        let mut found = [AuditQuery::default().job("report"), AuditQuery::default().group("db")]
            .map(|query| (query, Vec::new()));
        for (query, authors) in &mut found {
            let page = history.audit(query, 100, None).await.unwrap();
            authors.extend(page.records.into_iter().map(|stored| stored.record.who));
        }
        found.map(|(_, authors)| authors)
    }

    #[tokio::test]
    async fn leader_alone_copies_changes_of_its_job_and_group_and_each_once() {
        let registry = MemoryRegistry::new();
        let folder = tempfile::tempdir().unwrap();
        let options = HistoryOptions::sqlite(folder.path().join("h.db"));
        let history = History::open(options).await.unwrap();
        let operations = Operations::new(Arc::new(registry.connect()));
        let (leader, mut terms) = instance(&registry, 1).await;
        tokio::time::timeout(DEADLINE, terms.recv()).await.unwrap().unwrap();
        let (follower, _terms) = instance(&registry, 2).await;
        let by = |who| By::new(who, "test").unwrap();
        let scope = Scope::of_job(JobName::new("report").unwrap());
        operations.pause(&scope, &by("anna")).await.unwrap();
        let limits = GroupLimits { cluster_concurrency: Some(3), ..GroupLimits::NONE };
        let group = GroupName::new("db").unwrap();
        operations.set_group(&group, limits, &by("bob")).await.unwrap();

        let mut copier = AuditCopier::new(&history).await.unwrap();
        copy_led(&history, &operations, &follower, &mut copier).await;
        assert_eq!(stored(&history).await, [[""; 0]; 2]);
        copy_led(&history, &operations, &leader, &mut copier).await;
        let [of_job, of_group] = stored(&history).await;
        assert!(of_job.iter().all(|who| who == "anna") && !of_job.is_empty(), "{of_job:?}");
        assert_eq!(of_group, ["bob"]);

        // More changes than the registry keeps: the copies keep them all.
        for _ in 0..20 {
            operations.resume(&scope, &by("carl")).await.unwrap();
            operations.pause(&scope, &by("carl")).await.unwrap();
            copy_led(&history, &operations, &leader, &mut copier).await;
        }
        // A worker that starts again stores nothing twice.
        let mut restarted = AuditCopier::new(&history).await.unwrap();
        copy_led(&history, &operations, &leader, &mut restarted).await;
        let [all, _] = stored(&history).await;
        let by_carl = all.iter().filter(|who| *who == "carl").count();
        assert_eq!((all.len(), by_carl % 40), (of_job.len() + by_carl, 0), "{all:?}");
        assert!(by_carl >= 40);
        for scheduler in [leader, follower] {
            scheduler.shutdown(DEADLINE).await;
        }
        history.close(DEADLINE).await.unwrap();
    }
}
