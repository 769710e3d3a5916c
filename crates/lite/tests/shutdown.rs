//! Shutdown: draining, deadlines, reports.

use crate::support;

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use lite::{Clock, ItemEnding, JobBuilder, JobError, JobHandle, Outcome, ShardingContext, job_fn};
use reg_center::memory::WriteFault;
use tokio::sync::Notify;

use support::{Cluster, Member, Runs, balanced, every_ten_seconds, settled, within};

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
async fn a_graceful_shutdown_lets_items_finish_and_leaves_no_orphaned_run() {
    let cluster = Cluster::new();
    let Waiting { member, handle, runs, go } = waiting(&cluster).await;

    let begun = cluster.clock.monotonic();
    let shutdown = handle.shutdown(Duration::from_secs(60));
    tokio::pin!(shutdown);
    // Requests are answered in order: when the status is answered, the shutdown has begun.
    let status = tokio::select! {
        biased;
        _ = &mut shutdown => panic!("the items have not finished"),
        status = handle.status() => status.unwrap(),
    };
    assert_eq!(status.waiting_for, Some("the end of the runs in progress"));
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

    // The next instance finds no run to take over.
    let next_member = cluster.member(2);
    let later = Runs::default();
    let config = every_ten_seconds().build().unwrap();
    let _handle = next_member.scheduler.schedule(config, later.job()).await.unwrap();
    let seen = later.until("the next fire", |seen| seen.len() >= 3).await;
    assert!(seen.iter().all(|run| run.source == "NORMAL"), "{seen:?}");
    assert_eq!(runs.all().len(), 3);
    drop(member);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_observes_its_cancellation_ends_at_the_deadline() {
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
async fn an_item_that_ignores_its_cancellation_is_dropped_after_the_grace() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |_| pending()).await;

    let report = within("the shutdown", handle.shutdown(Duration::from_secs(5))).await.unwrap();

    assert_eq!(report.items.len(), 3);
    assert!(report.items.iter().all(|item| item.ending == ItemEnding::Dropped), "{report:?}");
    assert!(report.deregistered, "the instance is deregistered all the same");
    assert_eq!(report.took.as_secs(), 6, "deadline and grace");
}

#[tokio::test(start_paused = true)]
async fn a_run_cut_short_by_a_shutdown_is_taken_over() {
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
async fn a_run_claimed_before_the_shutdown_and_started_later_is_in_the_report() {
    let rows = [
        ("it starts before the deadline", 1_000, 5_000),
        ("it starts after the deadline and is cancelled at once", 5_500, 5_500),
    ];
    for (case, starts_after, took) in rows {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let (runs, go) = (Runs::default(), Arc::new(Notify::new()));
        let (noted, wait) = (runs.clone(), Arc::clone(&go));
        // Item 0 waits for `go`. Item 1 ends at once in its first fire, and at its cancellation in
        // its second.
        let job = job_fn(move |context: ShardingContext| {
            noted.note(&context);
            let wait = Arc::clone(&wait);
            async move {
                match (context.item().index(), context.fencing_token()) {
                    (0, _) => wait.notified().await,
                    (_, 1) => {}
                    _ => {
                        context.cancelled().await;
                        return Err("cancelled".into());
                    }
                }
                Ok(())
            }
        });
        let config = JobBuilder::new("job", 2).cron(support::EVERY_TEN_SECONDS).misfire(false);
        let handle = member.scheduler.schedule(config.build().unwrap(), job).await.unwrap();
        settled(&mut handle.events(), Outcome::Succeeded).await;

        // The claim of the second fire is committed, but its reply is lost, and the feed is held.
        member.center.hold_feeds();
        member.center.fail_next_write(WriteFault::LoseReply);
        let is_claimed = || cluster.stored("job", &["sharding", "1", "running"]).is_some();
        cluster.until("job", "the second claim", is_claimed).await;
        assert_eq!(runs.all().len(), 2, "{case}: the instance does not know of its claim");
        let start = cluster.clock.monotonic() + Duration::from_millis(starts_after);
        let meanwhile = async {
            cluster.clock.sleep_until(start).await;
            member.center.release_feeds();
            runs.until("the late start", |seen| seen.len() == 3).await;
            go.notify_one();
        };
        let (report, ()) = tokio::join!(handle.shutdown(Duration::from_secs(5)), meanwhile);

        let report = report.unwrap();
        let endings: Vec<_> =
            report.items.iter().map(|item| (item.item.index(), item.ending)).collect();
        assert_eq!(endings.len(), 2, "{case}: {endings:?}");
        assert_eq!(endings[1], (1, ItemEnding::Cancelled(Outcome::Interrupted)), "{case}");
        assert_eq!(report.took.as_millis(), took, "{case}");
        assert!(!report.is_clean(), "{case}: {report:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_even_if_the_registry_does_not_answer() {
    let cluster = Cluster::new();
    let (member, handle, _runs) = running(&cluster, |_| pending()).await;

    member.center.suspend(Duration::from_secs(3600));
    let report = within("the shutdown", handle.shutdown(Duration::from_secs(5))).await.unwrap();

    assert!(!report.deregistered);
    assert!(report.took <= Duration::from_secs(7), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_shutdown_can_shorten_the_deadline() {
    let cluster = Cluster::new();
    let (_member, handle, _runs) = running(&cluster, |_| pending()).await;

    let slow = handle.shutdown(Duration::from_secs(3600));
    let fast = handle.shutdown(Duration::from_secs(2));
    let (slow, fast) = within("both shutdowns", async { tokio::join!(slow, fast) }).await;

    let (slow, fast) = (slow.unwrap(), fast.unwrap());
    assert_eq!(slow, fast);
    assert_eq!(slow.took.as_secs(), 3);
    assert_eq!(handle.shutdown(Duration::ZERO).await.unwrap(), slow, "the report is kept");
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_shuts_all_its_jobs_down_and_accepts_no_more() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let runs = Runs::default();
    for name in ["a", "b"] {
        let config = JobBuilder::new(name, 2).build().unwrap();
        let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
        balanced(&cluster, &[&handle], 2).await;
    }

    let reports = within("the shutdown", member.scheduler.shutdown(Duration::from_secs(5))).await;

    let names: Vec<_> = reports.iter().map(|report| report.job.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(reports.iter().all(lite::ShutdownReport::is_clean), "{reports:?}");
    let config = JobBuilder::new("c", 1).build().unwrap();
    let late = member.scheduler.schedule(config, runs.job()).await;
    assert!(matches!(late, Err(lite::Error::Stopped { .. })));
}

/// A waker that records whether the job has ended when it is woken.
struct EndProbe(JobHandle, AtomicBool);

impl Wake for EndProbe {
    fn wake(self: Arc<Self>) {
        self.1.store(self.0.has_ended(), Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn the_job_has_ended_before_a_shutdown_returns() {
    let cluster = Cluster::new();
    let Waiting { handle, go, .. } = waiting(&cluster).await;
    let probe = Arc::new(EndProbe(handle.clone(), AtomicBool::new(false)));
    let mut shutdown = pin!(handle.shutdown(Duration::from_secs(30)));
    let waker = Waker::from(Arc::clone(&probe));
    assert!(shutdown.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    go.notify_waiters();
    let mut events = handle.events();
    within("the end", async { while events.next().await.is_some() {} }).await;
    assert!(probe.1.load(Ordering::SeqCst), "the caller was woken before the job had ended");
    assert!(shutdown.await.unwrap().is_clean());
}
