//! Leaving: draining, deadlines, reports.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use lite::{Clock, ItemEnding, JobBuilder, JobError, JobHandle, Outcome, ShardingContext, job_fn};
use tokio::sync::Notify;

use support::{Cluster, Member, Runs, balanced, every_ten_seconds, within};

/// A member with three items that wait for `go`.
struct Waiting {
    member: Member,
    handle: JobHandle,
    runs: Runs,
    go: Arc<Notify>,
}

async fn waiting(cluster: &Cluster) -> Waiting {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let code = move |_context: ShardingContext| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            Ok(())
        }
    };
    let (member, handle, runs) = running(cluster, code).await;
    Waiting { member, handle, runs, go }
}

/// Starts a job of three items and waits until they run.
async fn running<F, Fut>(cluster: &Cluster, code: F) -> (Member, JobHandle, Runs)
where
    F: Fn(ShardingContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), JobError>> + Send + 'static,
{
    let member = cluster.member(1);
    let runs = Runs::default();
    let noted = runs.clone();
    let job = job_fn(move |context| {
        noted.note(&context);
        code(context)
    });
    let config = every_ten_seconds().failover(true).build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    runs.until("all items", |seen| seen.len() == 3).await;
    (member, handle, runs)
}

#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_lets_items_finish_and_hands_nothing_over() {
    let cluster = Cluster::new();
    let Waiting { member, handle, runs, go } = waiting(&cluster).await;

    let begun = cluster.clock.monotonic();
    let shutdown = handle.shutdown(Duration::from_secs(60));
    tokio::pin!(shutdown);
    // Draining: the shutdown has been noticed and waits.
    within("the shutdown being noticed", async {
        loop {
            tokio::select! {
                biased;
                _ = &mut shutdown => panic!("the items have not finished"),
                status = handle.status() => {
                    if status.unwrap().waiting_for == Some("the end of the runs in progress") {
                        return;
                    }
                }
            }
        }
    })
    .await;
    go.notify_waiters();
    let report = within("the shutdown", shutdown).await.unwrap();

    let endings: Vec<_> =
        report.items.iter().map(|item| (item.item.index(), item.ending)).collect();
    let finished = ItemEnding::Finished(Outcome::Succeeded);
    assert_eq!(endings, [(0, finished), (1, finished), (2, finished)]);
    assert!(report.is_clean(), "{report:?}");
    assert!(cluster.clock.monotonic() - begun < Duration::from_secs(60));
    assert!(handle.has_ended());
    assert_eq!(cluster.stored("job", &["instances", "10.0.0.1@-@1"]), None, "deregistered");

    // Who comes next finds nothing to take over.
    let successor = cluster.member(2);
    let later = Runs::default();
    let config = every_ten_seconds().build().unwrap();
    let _handle = successor.scheduler.schedule(config, later.job()).await.unwrap();
    let seen = later.until("the next fire", |seen| seen.len() >= 3).await;
    assert!(seen.iter().all(|run| run.source == "NORMAL"), "{seen:?}");
    assert_eq!(runs.all().len(), 3);
    drop(member);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_heeds_its_token_ends_at_the_deadline() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |context| async move {
        context.cancelled().await;
        Err("stopped half-way".into())
    })
    .await;

    let report = within("the shutdown", handle.shutdown(Duration::from_secs(5))).await.unwrap();

    assert!(report.deregistered);
    assert!(!report.is_clean());
    let ending = ItemEnding::Cancelled(Outcome::Interrupted);
    assert!(report.items.iter().all(|item| item.ending == ending), "{report:?}");
    assert_eq!(report.took.as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_does_not_is_dropped_after_the_grace() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |_| pending()).await;

    let report = within("the shutdown", handle.shutdown(Duration::from_secs(5))).await.unwrap();

    assert_eq!(report.items.len(), 3);
    assert!(report.items.iter().all(|item| item.ending == ItemEnding::Dropped), "{report:?}");
    assert!(report.deregistered, "its leaving is recorded all the same");
    assert_eq!(report.took.as_secs(), 6, "deadline and grace");
}

#[tokio::test(start_paused = true)]
async fn what_was_cut_short_is_taken_over() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |_| pending()).await;
    let other = cluster.member(2);
    let later = Runs::default();
    let config = every_ten_seconds().failover(true).build().unwrap();
    let _handle = other.scheduler.schedule(config, later.job()).await.unwrap();

    within("the shutdown", handle.shutdown(Duration::from_secs(1))).await.unwrap();

    let takeovers = |seen: &[support::Seen]| {
        let mut items: Vec<_> =
            seen.iter().filter(|run| run.source == "FAILOVER").map(|run| run.item).collect();
        items.sort_unstable();
        items
    };
    let seen = later.until("three takeovers", |seen| takeovers(seen).len() >= 3).await;
    assert_eq!(takeovers(&seen), [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_also_if_the_registry_does_not_answer() {
    let cluster = Cluster::new();
    let (member, handle, _runs) = running(&cluster, |_| pending()).await;

    member.center.suspend(Duration::from_secs(3600));
    let report = within("the shutdown", handle.shutdown(Duration::from_secs(5))).await.unwrap();

    assert!(!report.deregistered);
    assert!(report.took <= Duration::from_secs(7), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_shutdown_can_be_in_more_of_a_hurry() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |_| pending()).await;

    let patient = handle.shutdown(Duration::from_secs(3600));
    let hasty = handle.shutdown(Duration::from_secs(2));
    let (patient, hasty) = within("both", async { tokio::join!(patient, hasty) }).await;

    let (patient, hasty) = (patient.unwrap(), hasty.unwrap());
    assert_eq!(patient, hasty);
    assert_eq!(patient.took.as_secs(), 3);
    assert_eq!(handle.shutdown(Duration::ZERO).await.unwrap(), patient, "and it is remembered");
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_shuts_all_its_jobs_down_and_takes_no_more() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    for name in ["a", "b"] {
        let config = JobBuilder::new(name, 2).build().unwrap();
        let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
        balanced(&[&handle], 2).await;
    }

    let reports = within("it", member.scheduler.shutdown(Duration::from_secs(5))).await;

    let names: Vec<_> = reports.iter().map(|report| report.job.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(reports.iter().all(lite::ShutdownReport::is_clean), "{reports:?}");
    let config = JobBuilder::new("c", 1).build().unwrap();
    let late = member.scheduler.schedule(config, runs.job()).await;
    assert!(matches!(late, Err(lite::Error::Stopped { .. })));
}
