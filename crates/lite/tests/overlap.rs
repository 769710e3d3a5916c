//! Jobs whose fires cancel the unfinished runs that they meet, queue behind them, or run beside
//! them.

use crate::support;

use std::sync::Arc;

use lite::{
    Dialect, JobBuilder, JobConfig, JobEvent, MissReason, Overlap, ShardingContext, ShardingItem,
    job_fn,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use support::{Cluster, EVERY_TEN_SECONDS, Runs, event, every_ten_seconds};

/// The code ends its first run only when that is cancelled, and each later one at once.
#[tokio::test(start_paused = true)]
async fn fire_cancels_the_run_that_it_meets_and_runs_afterwards() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let seen = runs.clone();
    let job = job_fn(move |context: ShardingContext| {
        seen.note(&context);
        async move {
            if context.fencing_token() == 1 {
                context.cancelled().await;
                return Err("cut short".into());
            }
            Ok(())
        }
    });
    let builder = JobBuilder::new("job", 1).cron(EVERY_TEN_SECONDS);
    let config = builder.overlap(Overlap::Cancel).build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    let mut events = handle.events();
    let cancelled =
        event(&mut events, "the end", |e| matches!(e, JobEvent::Cancelled { .. })).await;
    let JobEvent::Cancelled { by, why, .. } = cancelled.event else { panic!("{cancelled:?}") };
    assert_eq!(by, "the overlap policy of the job");
    assert_eq!(why, "the fire of 2024-02-29T12:00:20Z met the run");
    let began = runs.until("the noted fire and the next one", |seen| seen.len() >= 3).await;
    let began: Vec<_> = began.iter().map(|run| (run.source, run.at())).collect();
    assert_eq!(began, [("NORMAL", 10), ("MISFIRE", 20), ("NORMAL", 30)]);
}

/// The first run ends with the third fire that it met, which the queue has no room for.
#[tokio::test(start_paused = true)]
async fn fires_queue_behind_the_run_and_run_one_by_one() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let (seen, end) = (runs.clone(), std::sync::Arc::new(tokio::sync::Notify::new()));
    let waits = std::sync::Arc::clone(&end);
    let job = job_fn(move |context: ShardingContext| {
        seen.note(&context);
        let waits = std::sync::Arc::clone(&waits);
        async move {
            if context.fencing_token() == 1 {
                waits.notified().await;
            }
            Ok(())
        }
    });
    let builder = JobBuilder::new("job", 1).cron(EVERY_TEN_SECONDS);
    let config = builder.overlap(Overlap::Queue(2)).build().unwrap();
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    let mut events = handle.events();
    let missed = event(&mut events, "a miss", |e| matches!(e, JobEvent::Missed { .. })).await;
    let JobEvent::Missed { reason, .. } = missed.event else { panic!("{missed:?}") };
    assert_eq!(reason, MissReason::QueueFull);
    end.notify_one();
    let began = runs.until("the queued fires", |seen| seen.len() >= 4).await;
    let began: Vec<_> = began.iter().map(|run| (run.source, run.at())).collect();
    let expected = [("NORMAL", 10), ("MISFIRE", 20), ("MISFIRE", 30), ("MISFIRE", 50)];
    assert_eq!(began[..4], expected);
}

/// Each run waits for its place to be opened. The fires of 10 and 20 s run at once, that of 30 s
/// meets two runs, and runs as soon as the second one has ended.
#[tokio::test(start_paused = true)]
async fn fires_run_beside_unfinished_runs_in_slots_of_their_own() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let (seen, end) = (runs.clone(), Arc::new(Notify::new()));
    let (waits, progress) = (Arc::clone(&end), Arc::new(Mutex::new(Vec::new())));
    let slots = Arc::clone(&progress);
    let job = job_fn(move |context: ShardingContext| {
        seen.note(&context);
        slots.lock().push((context.slot(), context.fencing_token()));
        let waits = Arc::clone(&waits);
        async move {
            context.checkpoint().save(context.slot().to_string()).await?;
            match (context.slot(), context.fencing_token()) {
                (1, 1) => waits.notified().await,
                (0, 1) => std::future::pending().await,
                _ => {}
            }
            Ok(())
        }
    });
    let config = parallel(1, 2);
    let handle = member.scheduler.schedule(config, job).await.unwrap();
    let mut events = handle.events();
    let noted = event(&mut events, "a note", |e| matches!(e, JobEvent::MisfireNoted { .. })).await;
    let JobEvent::MisfireNoted { waiting, .. } = noted.event else { panic!("{noted:?}") };
    assert_eq!(waiting.count, 1);
    let running = handle.status().await.unwrap().running;
    assert_eq!(running.len(), 2, "{running:?}");
    assert!(running.iter().all(|(item, _)| *item == ShardingItem::new(0)), "{running:?}");
    for (node, text) in [("0", "0"), ("0.1", "1")] {
        let stored = cluster.stored("job", &["coordination", "checkpoints", node]);
        assert_eq!(stored.as_deref(), Some(text), "each slot has its checkpoint");
    }
    end.notify_one();
    let began = runs.until("the noted fire", |seen| seen.len() >= 3).await;
    let began: Vec<_> = began.iter().map(|run| (run.source, run.at())).collect();
    assert_eq!(began[..3], [("NORMAL", 10), ("NORMAL", 20), ("MISFIRE", 30)]);
    assert_eq!(progress.lock()[..3], [(0, 1), (1, 1), (1, 2)]);
}

/// A request to cancel an item cancels the runs in all of its slots.
#[tokio::test(start_paused = true)]
async fn cancellation_of_an_item_ends_its_runs_in_all_slots() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let member = cluster.member(1);
    let seen = runs.clone();
    let job = job_fn(move |context: ShardingContext| {
        seen.note(&context);
        async move {
            context.cancelled().await;
            Err("cut short".into())
        }
    });
    let handle = member.scheduler.schedule(parallel(1, 2), job).await.unwrap();
    let mut events = handle.events();
    runs.until("two runs", |seen| seen.len() >= 2).await;
    let items = handle.cancel(None, "wrong month").await.unwrap();
    assert_eq!(items, [ShardingItem::new(0)].into());
    let mut cancelled = Vec::new();
    for _ in 0..2 {
        let next = event(&mut events, "an end", |e| matches!(e, JobEvent::Cancelled { .. })).await;
        let JobEvent::Cancelled { item, why, .. } = next.event else { panic!("{next:?}") };
        cancelled.push((item.index(), why));
    }
    assert_eq!(cancelled, [(0, "wrong month".to_owned()), (0, "wrong month".to_owned())]);
}

#[test]
fn parallel_runs_are_refused_where_they_cannot_be_kept() {
    let base = || every_ten_seconds().overlap(Overlap::Parallel(2));
    let rows = [
        (
            "too many runs",
            every_ten_seconds().overlap(Overlap::Parallel(17)),
            "parallel 2 to parallel 16",
        ),
        ("no misfires", base().misfire(false), "misfire = true"),
        ("no records", base().monitor_execution(false), "monitor_execution = true"),
    ];
    for (case, builder, expected) in rows {
        let error = builder.build().unwrap_err();
        assert_eq!(error.field, "overlap", "{case}: {error}");
        assert!(error.to_string().contains(expected), "{case}: {error}");
    }
    let shared = base().java_class("com.acme.Report").build().unwrap();
    let error = shared.check_for_java().unwrap_err().to_string();
    assert!(error.contains("run an item once at a time"), "{error}");
    let many = JobBuilder::new("job", 60_000).overlap(Overlap::Parallel(2)).build().unwrap_err();
    assert!(many.to_string().contains("at most 100000 runs"), "{many}");
}

#[tokio::test(start_paused = true)]
async fn parallel_runs_are_refused_in_the_dialect_of_3_x() {
    let cluster = Cluster::new();
    let member = cluster.member_with(1, |builder| builder.dialect(Dialect::V3));
    let refused = member.scheduler.schedule(parallel(1, 2), Runs::default().job()).await;
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("overlap is parallel 2"), "{error}");
    assert_eq!(cluster.stored("job", &["config"]), None, "nothing was written");
}

fn parallel(items: u32, max: u32) -> JobConfig {
    let builder = JobBuilder::new("job", items).cron(EVERY_TEN_SECONDS).failover(true);
    builder.overlap(Overlap::Parallel(max)).build().unwrap()
}
