//! Checkpoints: saved by a run, loaded by the next one, and never overwritten by a fenced run.

use crate::support;

use std::future::pending;
use std::sync::Arc;

use async_trait::async_trait;
use coordination::Layout;
use lite::{CheckpointError, JobBuilder, JobConfig, JobName, Scheduler, ShardingContext, job_fn};
use parking_lot::Mutex;
use reg_center::{Delegate, MemoryCenter, MemoryRegistry, RegistryCenter, Result, Txn, TxnOutcome};
use sharding::ShardingItem;
use tokio::sync::mpsc;

use support::{Cluster, Member, within};

fn config() -> JobConfig {
    JobBuilder::new("job", 1).failover(true).build().unwrap()
}

/// Registers a job whose runs hang, and returns their contexts.
async fn hanging(
    scheduler: &Scheduler,
    config: JobConfig,
) -> mpsc::UnboundedReceiver<ShardingContext> {
    let (given, contexts) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        given.send(context).unwrap();
        pending()
    });
    let handle = scheduler.schedule(config, job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    contexts
}

async fn next(contexts: &mut mpsc::UnboundedReceiver<ShardingContext>) -> ShardingContext {
    within("a run", contexts.recv()).await.unwrap()
}

async fn loaded(context: &ShardingContext) -> Option<String> {
    let data = context.checkpoint().load().await.unwrap();
    data.map(|data| String::from_utf8(data).unwrap())
}

#[tokio::test(start_paused = true)]
async fn load_returns_the_last_saved_checkpoint_and_none_after_clear() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let mut contexts = hanging(&member.scheduler, config()).await;
    member.scheduler.job("job").unwrap().trigger().await.unwrap();
    let context = next(&mut contexts).await;
    let checkpoint = context.checkpoint();

    assert_eq!(loaded(&context).await, None);
    for value in ["one", "two"] {
        checkpoint.save(value).await.unwrap();
        assert_eq!(loaded(&context).await.as_deref(), Some(value));
    }
    assert_eq!(cluster.stored("job", &["coordination", "checkpoints", "0"]).unwrap(), "two");
    checkpoint.clear().await.unwrap();
    assert_eq!(loaded(&context).await, None);
}

/// A run, and the run that has taken it over.
struct TakenOver {
    first: ShardingContext,
    second: ShardingContext,
    _members: [Member; 2],
}

async fn taken_over(cluster: &Cluster, saved: &str) -> TakenOver {
    // Instances are sorted by their ids in descending order, so that the first one gets the only
    // item.
    let (one, two) = (cluster.member(2), cluster.member(1));
    let mut of_one = hanging(&one.scheduler, config()).await;
    let mut of_two = hanging(&two.scheduler, config()).await;
    one.scheduler.job("job").unwrap().trigger().await.unwrap();
    let first = next(&mut of_one).await;
    first.checkpoint().save(saved.to_owned()).await.unwrap();
    // The test keeps the connection open after the abort, so that the former code can still try to
    // write.
    one.scheduler.abort();
    one.center.expire();
    let second = next(&mut of_two).await;
    assert_eq!(second.source(), lite::RunSource::Failover);
    TakenOver { first, second, _members: [one, two] }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_loads_the_last_checkpoint_of_the_lost_run() {
    let cluster = Cluster::new();
    let TakenOver { second, .. } = &taken_over(&cluster, "line 3000").await;
    assert_eq!(loaded(second).await.as_deref(), Some("line 3000"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_taken_over_cannot_save() {
    let cluster = Cluster::new();
    let TakenOver { first, second, .. } = &taken_over(&cluster, "old").await;
    for step in ["before the next run has saved", "after it"] {
        let error = first.checkpoint().save("stale").await.unwrap_err();
        assert!(matches!(error, CheckpointError::Fenced { token: 1, .. }), "{step}: {error}");
        assert_ne!(loaded(second).await.as_deref(), Some("stale"), "{step}");
        second.checkpoint().save("new").await.unwrap();
    }
    assert_eq!(loaded(second).await.as_deref(), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_cannot_save() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (given, mut contexts) = mpsc::unbounded_channel();
    let job = job_fn(move |context: ShardingContext| {
        given.send(context.clone()).unwrap();
        async move {
            context.checkpoint().save("done").await?;
            Ok(())
        }
    });
    let handle = member.scheduler.schedule(config(), job).await.unwrap();
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    support::settled(&mut events, lite::Outcome::Succeeded).await;
    let context = next(&mut contexts).await;
    let error = context.checkpoint().save("late").await.unwrap_err();
    assert!(matches!(error, CheckpointError::Fenced { .. }), "{error}");
    assert_eq!(loaded(&context).await.as_deref(), Some("done"));
}

#[tokio::test(start_paused = true)]
async fn a_job_without_monitoring_cannot_save() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("job", 1)
        .cron(support::EVERY_TEN_SECONDS)
        .monitor_execution(false)
        .build()
        .unwrap();
    let mut contexts = hanging(&member.scheduler, config).await;
    let context = next(&mut contexts).await;
    let error = context.checkpoint().save("x").await.unwrap_err();
    assert!(matches!(error, CheckpointError::Unmonitored), "{error}");
}

/// Change of the item's record between its read and the write of the checkpoint.
type RecordChange = fn(&str) -> String;

/// A registry in which another client changes the record before the first writes of a checkpoint.
#[derive(Debug)]
struct ConcurrentWriter {
    center: MemoryCenter,
    registry: MemoryRegistry,
    changes: Mutex<Vec<RecordChange>>,
}

impl ConcurrentWriter {
    async fn change_record(&self, change: RecordChange) {
        let layout = Layout::new(&JobName::new("job").unwrap());
        let record = layout.ledger_path(ShardingItem::new(0));
        let other_client = self.registry.connect();
        let node = other_client.read(&record).await.unwrap().unwrap();
        let text = change(std::str::from_utf8(&node.data).unwrap());
        let outcome = other_client.commit(Txn::new().put(record, text)).await.unwrap();
        assert!(outcome.is_committed());
    }
}

#[async_trait]
impl Delegate for ConcurrentWriter {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let change = (txn.label() == "checkpoint").then(|| self.changes.lock().pop()).flatten();
        if let Some(change) = change {
            self.change_record(change).await;
        }
        self.center.commit(txn).await
    }
}

#[tokio::test(start_paused = true)]
async fn save_is_fenced_if_the_run_is_taken_over_between_reading_the_record_and_writing() {
    let taken: RecordChange = |record| record.replace(r#""token":1"#, r#""token":2"#);
    let touched: RecordChange = str::to_owned;
    let rows: [(&str, Vec<RecordChange>, bool, Option<&str>); 4] = [
        ("no other writer", vec![], true, Some("mine")),
        ("the record changes three times", vec![touched; 3], true, Some("mine")),
        ("the record changes at every attempt", vec![touched; 16], false, None),
        ("the item is taken over", vec![taken], false, None),
    ];
    for (case, changes, succeeds, expected) in rows {
        let cluster = Cluster::new();
        let registry = cluster.registry.clone();
        let center =
            ConcurrentWriter { center: registry.connect(), registry, changes: Mutex::new(changes) };
        let scheduler = Scheduler::builder(Arc::new(center)).clock(cluster.clock.clone());
        let scheduler = scheduler.build().unwrap();
        let mut contexts = hanging(&scheduler, config()).await;
        scheduler.job("job").unwrap().trigger().await.unwrap();
        let context = next(&mut contexts).await;

        let saved = context.checkpoint().save("mine").await;

        assert_eq!(saved.is_ok(), succeeds, "{case}: {saved:?}");
        let stored = cluster.stored("job", &["coordination", "checkpoints", "0"]);
        assert_eq!(stored.as_deref(), expected, "{case}");
        scheduler.abort();
    }
}
