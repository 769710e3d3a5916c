//! Timeouts, retries and jobs that block.

use crate::support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lite::{
    Clock, JobBuilder, JobError, JobEvent, JobHandle, JobRecord, Outcome, RetryPolicy,
    ShardingContext, blocking_fn, job_fn,
};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use support::{Cluster, Member, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// A job of one item that runs on request.
fn on_request() -> lite::JobConfig {
    JobBuilder::new("job", 1).build().unwrap()
}

/// Requests a run and waits until its end is recorded.
async fn run_once(handle: &JobHandle) -> (Outcome, u64) {
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    let is_end = |event: &JobEvent| matches!(event, JobEvent::Settled { .. });
    let JobRecord { event, .. } = event(&mut events, "the end of the run", is_end).await;
    let JobEvent::Settled { outcome, token, .. } = event else { unreachable!("{event:?}") };
    (outcome, token.0)
}

/// One attempt: its number, its token, and the time of its start.
type Seen = (u32, u64, Duration);

/// Record of the attempts of a job.
#[derive(Clone, Default)]
struct Attempts(Arc<Mutex<Vec<Seen>>>);

impl Attempts {
    fn note(&self, cluster_clock: &dyn Clock, context: &ShardingContext) {
        let at = cluster_clock.monotonic();
        self.0.lock().push((context.attempt(), context.fencing_token(), at));
    }

    fn numbers(&self) -> Vec<u32> {
        self.0.lock().iter().map(|seen| seen.0).collect()
    }

    /// Returns the times between consecutive starts.
    fn gaps(&self) -> Vec<Duration> {
        self.0.lock().windows(2).map(|pair| pair[1].2 - pair[0].2).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_at_its_timeout_and_then_dropped() {
    type Code = fn(ShardingContext) -> lite::Task;
    let rows: [(&str, Code, Outcome, Duration); 3] = [
        ("it hangs", |_| Box::pin(pending()), Outcome::TimedOut, 7 * SECOND),
        (
            "it ends when it is cancelled",
            |context| Box::pin(async move { context.cancelled().await }),
            Outcome::Succeeded,
            5 * SECOND,
        ),
        ("it is fast", |_| Box::pin(async {}), Outcome::Succeeded, Duration::ZERO),
    ];
    for (case, code, expected, took) in rows {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let job = job_fn(move |context| async move {
            code(context).await;
            Ok(())
        });
        let handle = member
            .scheduler
            .schedule(on_request(), job)
            .timeout(5 * SECOND)
            .shutdown_grace(2 * SECOND)
            .await
            .unwrap();
        within("joining", handle.joined()).await.unwrap();
        let began = cluster.clock.monotonic();
        assert_eq!(run_once(&handle).await.0, expected, "{case}");
        let found = cluster.clock.monotonic() - began;
        assert!(found >= took && found < took + SECOND, "{case}: {found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_after_the_timeout_is_recorded_as_timed_out() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let job = job_fn(|context| async move {
        context.cancelled().await;
        Err::<(), JobError>("not finished".into())
    });
    let handle = member.scheduler.schedule(on_request(), job).timeout(SECOND).await.unwrap();
    assert_eq!(run_once(&handle).await.0, Outcome::TimedOut);
    let ledger = cluster.stored("job", &["ledger", "0"]).unwrap();
    assert!(ledger.contains(r#""outcome":"timed_out""#), "{ledger}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_timed_out_is_not_taken_over_and_the_next_fire_runs() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let config = JobBuilder::new("job", 1).cron(support::EVERY_TEN_SECONDS).failover(true);
    let job = job_fn(|_| pending());
    let registration = member.scheduler.schedule(config.build().unwrap(), job).timeout(SECOND);
    let handle = registration.await.unwrap();
    let mut events = handle.events();
    let first = settled(&mut events, Outcome::TimedOut).await;
    let second = settled(&mut events, Outcome::TimedOut).await;
    let fire = |record: &JobRecord| {
        let JobEvent::Settled { fire, source, .. } = record.event else {
            unreachable!("{record:?}")
        };
        (fire.0, source)
    };
    assert_eq!(fire(&second).0 - fire(&first).0, 10_000);
    assert_eq!(fire(&second).1, lite::RunSource::Normal);
}

async fn failing(
    cluster: &Cluster,
    member: &Member,
    policy: RetryPolicy,
    good: Option<u32>,
) -> (JobHandle, Attempts) {
    let attempts = Attempts::default();
    let (noted, clock) = (attempts.clone(), cluster.clock.clone());
    let job = job_fn(move |context: ShardingContext| {
        noted.note(&*clock, &context);
        async move {
            match good {
                Some(good) if context.attempt() >= good => Ok(()),
                _ => Err("the disk is full".into()),
            }
        }
    });
    let handle = member.scheduler.schedule(on_request(), job).retry(policy).await.unwrap();
    (handle, attempts)
}

#[tokio::test(start_paused = true)]
async fn a_failing_item_is_retried_under_the_same_token_with_growing_delays() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let policy = RetryPolicy::new(4).first_delay(2 * SECOND).max_delay(5 * SECOND);
    let (handle, attempts) = failing(&cluster, &member, policy, None).await;

    let (outcome, token) = run_once(&handle).await;

    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(attempts.numbers(), [1, 2, 3, 4]);
    assert!(attempts.0.lock().iter().all(|seen| seen.1 == token), "{token}");
    let gaps: Vec<_> = attempts.gaps().iter().map(Duration::as_secs).collect();
    assert_eq!(gaps, [2, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn the_first_success_ends_the_run() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (handle, attempts) = failing(&cluster, &member, RetryPolicy::new(9), Some(3)).await;
    assert_eq!(run_once(&handle).await.0, Outcome::Succeeded);
    assert_eq!(attempts.numbers(), [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn panics_are_retried_only_if_the_policy_says_so() {
    let rows = [(false, Outcome::Panicked, 1), (true, Outcome::Succeeded, 2)];
    for (after_panics, expected, n_attempts) in rows {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let tried = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&tried);
        let job = job_fn(move |context| {
            count.fetch_add(1, Ordering::SeqCst);
            async move {
                assert!(context.attempt() > 1, "a bug of the first attempt");
                Ok(())
            }
        });
        let policy = RetryPolicy::new(3).after_panics(after_panics);
        let handle = member.scheduler.schedule(on_request(), job).retry(policy).await.unwrap();
        assert_eq!(run_once(&handle).await.0, expected, "after_panics({after_panics})");
        assert_eq!(tried.load(Ordering::SeqCst), n_attempts, "after_panics({after_panics})");
    }
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_the_full_timeout_and_a_cancellation_token_of_its_own() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let attempts = Attempts::default();
    let (noted, clock) = (attempts.clone(), cluster.clock.clone());
    let job = job_fn(move |context: ShardingContext| {
        noted.note(&*clock, &context);
        async move {
            assert!(!context.is_cancelled(), "the second attempt begins without a cancellation");
            if context.attempt() == 1 {
                return pending().await;
            }
            Ok(())
        }
    });
    let policy = RetryPolicy::new(2);
    let handle = member
        .scheduler
        .schedule(on_request(), job)
        .timeout(10 * SECOND)
        .retry(policy)
        .await
        .unwrap();
    assert_eq!(run_once(&handle).await.0, Outcome::Succeeded);
    // Timeout of 10 s, grace of 1 s, delay of 1 s.
    assert_eq!(attempts.gaps(), [12 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_run_between_two_attempts_ends_at_once_at_a_shutdown_and_is_interrupted() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let policy = RetryPolicy::new(2).first_delay(3600 * SECOND).max_delay(3600 * SECOND);
    let (handle, attempts) = failing(&cluster, &member, policy, None).await;
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    event(&mut events, "the claim", |e| matches!(e, JobEvent::Claimed { .. })).await;
    let began = cluster.clock.monotonic();

    let report = handle.shutdown(5 * SECOND).await.unwrap();

    assert_eq!(attempts.numbers(), [1]);
    let took = cluster.clock.monotonic() - began;
    assert!(took < 6 * SECOND, "{took:?}");
    let ending = lite::ItemEnding::Cancelled(Outcome::Interrupted);
    assert_eq!(report.items.iter().map(|item| item.ending).collect::<Vec<_>>(), [ending]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_cancelled_before_its_timeout_is_interrupted() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let clock = cluster.clock.clone();
    let (began, mut begins) = mpsc::unbounded_channel();
    let job = job_fn(move |_| {
        began.send(()).unwrap();
        let done = clock.sleep_until(clock.monotonic() + 7 * SECOND);
        async move {
            done.await;
            Err("stopped".into())
        }
    });
    let registration = member.scheduler.schedule(on_request(), job).timeout(5 * SECOND);
    let handle = registration.shutdown_grace(20 * SECOND).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    within("the beginning", begins.recv()).await;

    let report = handle.shutdown(Duration::ZERO).await.unwrap();

    let ending = lite::ItemEnding::Cancelled(Outcome::Interrupted);
    assert_eq!(report.items.iter().map(|item| item.ending).collect::<Vec<_>>(), [ending]);
}

#[tokio::test(start_paused = true)]
async fn an_item_between_two_attempts_takes_no_place() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (ran, mut runs) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        ran.send((context.item().index(), context.attempt())).unwrap();
        async move {
            match (context.item().index(), context.attempt()) {
                (0, 1) => Err("not yet".into()),
                _ => Ok(()),
            }
        }
    });
    let config = JobBuilder::new("job", 2).build().unwrap();
    let registration = member.scheduler.schedule(config, job).max_concurrency(1);
    let policy = RetryPolicy::new(2).first_delay(60 * SECOND);
    let handle = registration.retry(policy).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();

    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(within("a run", runs.recv()).await.unwrap());
    }

    assert_eq!(seen.last(), Some(&(0, 2)), "the other item ran meanwhile: {seen:?}");
    assert!(seen.contains(&(1, 1)), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn invalid_timeout_and_retry_policy_are_rejected_before_anything_is_written() {
    let rows = [
        ("timeout", Some(Duration::ZERO), None, "0s"),
        ("retry.max_attempts", None, Some(RetryPolicy::new(1)), "1"),
        ("retry.first_delay", None, Some(RetryPolicy::new(2).first_delay(Duration::ZERO)), "0ns"),
        ("retry.max_delay", None, Some(RetryPolicy::new(2).max_delay(SECOND / 2)), "500ms"),
    ];
    for (field, timeout, retry, value) in rows {
        let cluster = Cluster::new();
        let member = cluster.member(1);
        let before = cluster.everything();
        let mut registration =
            member.scheduler.schedule(on_request(), job_fn(|_| async { Ok(()) }));
        if let Some(timeout) = timeout {
            registration = registration.timeout(timeout);
        }
        if let Some(policy) = retry {
            registration = registration.retry(policy);
        }
        let error = registration.await.unwrap_err();
        let fault = error.as_invalid_config().unwrap();
        assert_eq!((fault.field, fault.value.as_str()), (field, value), "{error}");
        assert_eq!(cluster.everything(), before, "{field}");
    }
}

#[tokio::test]
async fn a_blocking_closure_runs_on_another_thread_and_sees_its_cancellation() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let here = std::thread::current().id();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let job = blocking_fn(move |context| {
        assert_ne!(std::thread::current().id(), here);
        while !context.is_cancelled() {
            std::hint::spin_loop();
        }
        ended.send(context.attempt()).unwrap();
        Err("stopped".into())
    });
    let registration = member.scheduler.schedule(on_request(), job);
    let handle = registration.timeout(Duration::from_millis(50)).await.unwrap();
    assert_eq!(run_once(&handle).await.0, Outcome::TimedOut);
    assert_eq!(within("the closure's end", ends.recv()).await, Some(1));
}

#[tokio::test]
async fn a_blocking_closure_sees_that_its_run_was_dropped() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let (began, mut begins) = mpsc::unbounded_channel();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let job = blocking_fn(move |context| {
        began.send(()).unwrap();
        while !context.is_cancelled() {
            std::hint::spin_loop();
        }
        ended.send(()).unwrap();
        Ok(())
    });
    let handle = member.scheduler.schedule(on_request(), job).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    within("the beginning", begins.recv()).await;
    member.scheduler.abort();
    assert_eq!(within("the closure's end", ends.recv()).await, Some(()));
}

#[tokio::test]
async fn a_panic_on_the_blocking_pool_is_recorded_as_the_outcome() {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let job = blocking_fn(|context| {
        assert!(context.item().index() > 9, "never true");
        Ok(())
    });
    let handle = member.scheduler.schedule(on_request(), job).await.unwrap();
    assert_eq!(run_once(&handle).await.0, Outcome::Panicked);
}
