//! How far an item has come: saved by its run, found by the next one, and never overwritten by one that was fenced.

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

/// Registers a job whose runs hang; hands back the contexts that they were given.
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
async fn a_run_finds_what_was_saved_last_and_nothing_once_it_was_cleared() {
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
    // Instances come in descending order of their ids, so that the first one gets the only item.
    let (one, two) = (cluster.member(2), cluster.member(1));
    let mut of_one = hanging(&one.scheduler, config()).await;
    let mut of_two = hanging(&two.scheduler, config()).await;
    one.scheduler.job("job").unwrap().trigger().await.unwrap();
    let first = next(&mut of_one).await;
    first.checkpoint().save(saved.to_owned()).await.unwrap();
    // Its connection outlives the process here, so that its code can still try.
    one.scheduler.abort();
    one.center.expire();
    let second = next(&mut of_two).await;
    assert_eq!(second.source(), lite::RunSource::Failover);
    TakenOver { first, second, _members: [one, two] }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_goes_on_where_the_lost_run_had_come_to() {
    let cluster = Cluster::new();
    let TakenOver { second, .. } = &taken_over(&cluster, "line 3000").await;
    assert_eq!(loaded(second).await.as_deref(), Some("line 3000"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_taken_over_writes_nothing_any_more() {
    let cluster = Cluster::new();
    let TakenOver { first, second, .. } = &taken_over(&cluster, "old").await;
    for step in ["before the successor has saved", "after it"] {
        let error = first.checkpoint().save("stale").await.unwrap_err();
        assert!(matches!(error, CheckpointError::Fenced { token: 1, .. }), "{step}: {error}");
        assert_ne!(loaded(second).await.as_deref(), Some("stale"), "{step}");
        second.checkpoint().save("new").await.unwrap();
    }
    assert_eq!(loaded(second).await.as_deref(), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_writes_nothing_any_more() {
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
async fn a_job_that_is_not_monitored_has_no_checkpoint_to_write() {
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

/// What happens to the item's record between the reading of it and the write of the checkpoint.
type Meddle = fn(&str) -> String;

/// A registry in which somebody is faster than the first writers of a checkpoint.
#[derive(Debug)]
struct Meddled {
    center: MemoryCenter,
    registry: MemoryRegistry,
    meddle: Mutex<Vec<Meddle>>,
}

impl Meddled {
    async fn overtake(&self, meddle: Meddle) {
        let layout = Layout::new(&JobName::new("job").unwrap());
        let record = layout.ledger_path(ShardingItem::new(0));
        let somebody = self.registry.connect();
        let node = somebody.read(&record).await.unwrap().unwrap();
        let text = meddle(std::str::from_utf8(&node.data).unwrap());
        let outcome = somebody.commit(Txn::new().put(record, text)).await.unwrap();
        assert!(outcome.is_committed());
    }
}

#[async_trait]
impl Delegate for Meddled {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let meddle = (txn.label() == "checkpoint").then(|| self.meddle.lock().pop()).flatten();
        if let Some(meddle) = meddle {
            self.overtake(meddle).await;
        }
        self.center.commit(txn).await
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_overtaken_between_reading_the_record_and_writing_is_fenced_too() {
    let taken: Meddle = |record| record.replace(r#""token":1"#, r#""token":2"#);
    let touched: Meddle = str::to_owned;
    let rows: [(&str, Vec<Meddle>, bool, Option<&str>); 4] = [
        ("nobody", vec![], true, Some("mine")),
        ("the record is touched", vec![touched; 3], true, Some("mine")),
        ("it is touched again and again", vec![touched; 16], false, None),
        ("the item is taken over", vec![taken], false, None),
    ];
    for (case, meddle, succeeds, expected) in rows {
        let cluster = Cluster::new();
        let registry = cluster.registry.clone();
        let center = Meddled { center: registry.connect(), registry, meddle: Mutex::new(meddle) };
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
