//! Jobs whose fires cancel the unfinished runs that they meet, or queue behind them.

use crate::support;

use lite::{JobBuilder, JobEvent, MissReason, Overlap, ShardingContext, job_fn};

use support::{Cluster, EVERY_TEN_SECONDS, Runs, event};

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
