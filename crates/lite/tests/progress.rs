//! Progress: written by the run that holds the item, at a bounded rate, and at its end.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coordination::{OutcomeCounts, ProgressRecord, decode_progress};
use lite::{
    Clock as _, JobBuilder, JobConfig, Outcome, ProgressError, Scheduler, ShardingContext, job_fn,
};
use parking_lot::Mutex;
use reg_center::{Delegate, Lifetime, MemoryCenter, RegistryCenter, Result, Txn, TxnOutcome};
use tokio::sync::mpsc;

use support::{Cluster, within};

fn config() -> JobConfig {
    JobBuilder::new("job", 1).failover(true).build().unwrap()
}

/// Fault of a registry at writes of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// No write reaches the registry.
    Rejected,
    /// The reply to each write but every third is lost.
    RepliesLost,
}

/// Registry that counts the writes of progress.
#[derive(Debug)]
struct Counting {
    center: MemoryCenter,
    writes: Mutex<Vec<String>>,
    fault: Fault,
}

#[async_trait]
impl Delegate for Counting {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let is_progress = txn.label() == "progress";
        if is_progress && self.fault == Fault::Rejected {
            self.writes.lock().push("rejected".to_owned());
            return Err(reg_center::Error::Unavailable { call: "commit" });
        }
        let outcome = self.center.commit(txn).await?;
        if is_progress {
            let mut writes = self.writes.lock();
            writes.push("written".to_owned());
            if self.fault == Fault::RepliesLost && !writes.len().is_multiple_of(3) {
                return Err(reg_center::Error::Unavailable { call: "commit" });
            }
        }
        Ok(outcome)
    }
}

fn stored(cluster: &Cluster) -> Option<ProgressRecord> {
    let text = cluster.stored("job", &["coordination", "progress", "0"])?;
    Some(decode_progress(text.as_bytes()).unwrap())
}

/// A scheduler whose writes of progress are counted.
fn counting(cluster: &Cluster, fault: Fault) -> (Arc<Counting>, Scheduler) {
    let center = cluster.registry.connect();
    let center = Arc::new(Counting { center, writes: Mutex::default(), fault });
    let registry: Arc<dyn RegistryCenter> = center.clone();
    let scheduler = Scheduler::builder(registry).clock(cluster.clock.clone()).build().unwrap();
    (center, scheduler)
}

/// Runs a job once on a scheduler, and returns the contexts that its code got.
async fn run_to_end(
    scheduler: &Scheduler,
    code: impl Fn(ShardingContext) -> futures_util::future::BoxFuture<'static, ()>
    + Send
    + Sync
    + 'static,
) {
    let job = job_fn(move |context| {
        let code = code(context);
        async move {
            code.await;
            Ok(())
        }
    });
    let handle = scheduler.schedule(config(), job).await.unwrap();
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    support::settled(&mut events, Outcome::Succeeded).await;
}

#[tokio::test(start_paused = true)]
async fn reports_are_written_once_a_second_and_the_last_one_at_the_end() {
    let cluster = Cluster::new();
    let (center, scheduler) = counting(&cluster, Fault::None);
    let clock = cluster.clock.clone();
    run_to_end(&scheduler, move |context| {
        let clock = clock.clone();
        Box::pin(async move {
            for done in 1..=2_550_u64 {
                context.progress(done, 2_550, "counting").unwrap();
                let next = clock.monotonic() + Duration::from_millis(1);
                clock.sleep_until(next).await;
            }
        })
    })
    .await;
    let record = stored(&cluster).unwrap();
    assert_eq!((record.token.0, record.progress.percent()), (1, Some(100)));
    // At 0, 1 and 2 seconds, and at the end.
    assert_eq!(center.writes.lock().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_report_right_before_the_end_is_written() {
    let cluster = Cluster::new();
    let (center, scheduler) = counting(&cluster, Fault::None);
    run_to_end(&scheduler, |context| {
        Box::pin(async move {
            context.progress(1, None, "first").unwrap();
            tokio::task::yield_now().await;
            context.progress(2, None, "last").unwrap();
        })
    })
    .await;
    assert_eq!(stored(&cluster).unwrap().progress.message(), "last");
    assert!((1..=2).contains(&center.writes.lock().len()));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_reports_writes_nothing() {
    let cluster = Cluster::new();
    let (center, scheduler) = counting(&cluster, Fault::None);
    run_to_end(&scheduler, |_| Box::pin(async {})).await;
    assert_eq!(*center.writes.lock(), Vec::<String>::new());
    assert_eq!(stored(&cluster), None);
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_although_its_progress_cannot_be_written() {
    let cluster = Cluster::new();
    let (center, scheduler) = counting(&cluster, Fault::Rejected);
    run_to_end(&scheduler, |context| Box::pin(async move { context.progress(1, 2, "").unwrap() }))
        .await;
    assert!(!center.writes.lock().is_empty());
    assert_eq!(stored(&cluster), None);
}

#[tokio::test(start_paused = true)]
async fn invalid_reports_and_those_of_unmonitored_jobs_are_rejected() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("job", 1)
        .cron(support::EVERY_TEN_SECONDS)
        .monitor_execution(false)
        .build()
        .unwrap();
    let (given, mut contexts) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        given.send(context).unwrap();
        std::future::pending()
    });
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    let context = within("a run", contexts.recv()).await.unwrap();
    assert_eq!(context.progress(1, 2, ""), Err(ProgressError::Unmonitored));
    let error = context.progress(3, 2, "").unwrap_err();
    assert_eq!(error.to_string(), "done is 3; valid are 0 to the total, which is 2");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_taken_over_does_not_overwrite_the_progress_of_its_successor() {
    let cluster = Cluster::new();
    // Instances are sorted by their ids in descending order: the first one gets the only item.
    let (one, two) = (cluster.member(2), cluster.member(1));
    let (given, mut contexts) = mpsc::unbounded_channel();
    for member in [&one, &two] {
        let given = given.clone();
        let job = job_fn(move |context| {
            given.send(context).unwrap();
            std::future::pending()
        });
        let handle = member.scheduler.schedule(config(), job).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
    }
    one.scheduler.job("job").unwrap().trigger().await.unwrap();
    let first = within("a run", contexts.recv()).await.unwrap();
    one.center.expire();
    let second = within("a takeover", contexts.recv()).await.unwrap();
    assert_eq!(second.source(), lite::RunSource::Failover);
    second.progress(7, 9, "successor").unwrap();
    second.count_processed(7, 0).unwrap();
    first.progress(1, 9, "former").unwrap();
    first.count_processed(1, 0).unwrap();
    let written = async {
        while stored(&cluster).is_none() {
            let soon = cluster.clock.monotonic() + Duration::from_millis(100);
            cluster.clock.sleep_until(soon).await;
        }
    };
    within("the progress", written).await;
    first.progress(2, 9, "former").unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::task::yield_now().await;
    let record = stored(&cluster).unwrap();
    assert_eq!((record.token.0, record.progress.message()), (2, "successor"));
    assert_eq!(record.counts, counts(7, 0));
}

fn counts(succeeded: u64, failed: u64) -> OutcomeCounts {
    OutcomeCounts { succeeded, failed }
}

#[tokio::test(start_paused = true)]
async fn counts_of_processed_records_survive_processes() {
    let cluster = Cluster::new();
    let rows = [(5, 1, 0, counts(5, 1)), (0, 0, 7, counts(5, 1)), (2, 0, 0, counts(7, 1))];
    for (token, (succeeded, failed, done, expected)) in (1..).zip(rows) {
        let (_, scheduler) = counting(&cluster, Fault::None);
        run_to_end(&scheduler, move |context| {
            Box::pin(async move {
                context.count_processed(succeeded, failed).unwrap();
                if done > 0 {
                    context.progress(done, None, "").unwrap();
                }
            })
        })
        .await;
        let record = stored(&cluster).unwrap();
        assert_eq!((record.token.0, record.counts), (token, expected));
        assert_eq!(record.progress.done(), succeeded + done);
        within("the shutdown", scheduler.shutdown(Duration::ZERO)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_reply_counts_once() {
    let cluster = Cluster::new();
    for expected in [counts(3, 0), counts(6, 0)] {
        let (center, scheduler) = counting(&cluster, Fault::RepliesLost);
        let clock = cluster.clock.clone();
        run_to_end(&scheduler, move |context| {
            let clock = clock.clone();
            Box::pin(async move {
                for _ in 0..3 {
                    context.count_processed(1, 0).unwrap();
                    clock.sleep_until(clock.monotonic() + Duration::from_millis(1_500)).await;
                }
            })
        })
        .await;
        assert_eq!(stored(&cluster).unwrap().counts, expected);
        assert!(center.writes.lock().len() > 3, "no reply was lost");
        within("the shutdown", scheduler.shutdown(Duration::ZERO)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_later_version_is_not_overwritten() {
    let cluster = Cluster::new();
    let (center, scheduler) = counting(&cluster, Fault::None);
    let later = r#"{"v":99,"totals":[7]}"#;
    let path = support::path("job", &["coordination", "progress", "0"]);
    cluster
        .registry
        .connect()
        .commit(Txn::new().create(path, later, Lifetime::Persistent))
        .await
        .unwrap();
    run_to_end(&scheduler, |context| {
        Box::pin(async move { context.count_processed(1, 0).unwrap() })
    })
    .await;
    assert_eq!(cluster.stored("job", &["coordination", "progress", "0"]).unwrap(), later);
    assert_eq!(*center.writes.lock(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn invalid_stored_progress_is_replaced() {
    let cluster = Cluster::new();
    let (_, scheduler) = counting(&cluster, Fault::None);
    for invalid in [None, Some("{")] {
        if let Some(text) = invalid {
            let path = support::path("job", &["coordination", "progress", "0"]);
            cluster.registry.connect().commit(Txn::new().put(path, text)).await.unwrap();
        }
        run_to_end(&scheduler, |context| {
            Box::pin(async move { context.count_processed(4, 0).unwrap() })
        })
        .await;
        assert_eq!(stored(&cluster).unwrap().counts, counts(4, 0), "{invalid:?}");
        let handle = scheduler.job("job").unwrap();
        within("the end", handle.shutdown(Duration::ZERO)).await.unwrap();
    }
}
