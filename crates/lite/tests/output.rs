//! Output of runs: passed to the subscribers that keep it, within its bound.

use crate::support;

use std::sync::Arc;

use lite::{
    EventSubscriber, JobBuilder, JobRecord, Outcome, OutputLine, RunLog, ShardingContext, job_fn,
};
use parking_lot::Mutex;

use support::{Cluster, within};

/// Keeps all lines.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<OutputLine>>>);

impl EventSubscriber for Keeper {
    fn on_event(&self, _: &JobRecord) {}

    fn keeps_output(&self) -> bool {
        true
    }

    fn on_output(&self, line: &OutputLine) {
        self.0.lock().push(line.clone());
    }
}

/// Runs a job once whose code writes some lines, and returns its context.
async fn run(keeper: Option<&Keeper>, limit: Option<usize>) -> ShardingContext {
    let code = |log: &RunLog| {
        log.line("first\nsecond\r\n");
        for n in 0..100 {
            log.line(format!("{n} {}", "x".repeat(90)));
        }
        log.line("é".repeat(5_000));
    };
    run_code(keeper, limit, code).await
}

/// Runs a job once with code that writes to the log, and returns its context.
async fn run_code(
    keeper: Option<&Keeper>,
    limit: Option<usize>,
    code: fn(&RunLog),
) -> ShardingContext {
    let cluster = Cluster::new();
    let member = cluster.member(1);
    let kept = Arc::new(Mutex::new(None));
    let given = Arc::clone(&kept);
    let job = job_fn(move |context: ShardingContext| {
        *given.lock() = Some(context.clone());
        async move {
            code(&context.log());
            Ok(())
        }
    });
    let config = JobBuilder::new("job", 1).build().unwrap();
    let mut registration = member.scheduler.schedule(config, job);
    if let Some(keeper) = keeper {
        registration = registration.event_subscriber(keeper.clone());
    }
    if let Some(limit) = limit {
        registration = registration.output_limit(limit);
    }
    let handle = registration.await.unwrap();
    let mut events = handle.events();
    within("joining", handle.joined()).await.unwrap();
    handle.trigger().await.unwrap();
    support::settled(&mut events, Outcome::Succeeded).await;
    kept.lock().take().unwrap()
}

#[tokio::test(start_paused = true)]
async fn lines_have_their_run_and_consecutive_numbers() {
    let keeper = Keeper::default();
    let context = run(Some(&keeper), None).await;
    let lines = keeper.0.lock().clone();
    assert_eq!(lines.len(), 103);
    assert_eq!((lines[0].text.as_str(), lines[1].text.as_str()), ("first", "second"));
    assert!(lines.iter().zip(0..).all(|(line, seq)| line.seq == seq && line.token.0 == 1));
    assert!(lines.iter().all(|line| line.left_out.is_none()), "256 KiB are not reached");
    assert_eq!(lines[102].text.len(), 4_000, "a line is cut");
    // The code goes on after the end of the run.
    context.log().line("late");
    assert_eq!(keeper.0.lock().len(), 103);
}

#[tokio::test(start_paused = true)]
async fn masked_secrets_of_a_program_are_not_kept() {
    let keeper = Keeper::default();
    let code = |log: &RunLog| {
        log.line("before t0ps3cret");
        log.mask("t0ps3cret");
        log.mask("key 1\nkey 2");
        log.clone().line("after t0ps3cret\nfirst key 1\nsecond key 2");
        log.line(format!("{}t0ps3cret", "x".repeat(3_996)));
    };
    run_code(Some(&keeper), None, code).await;
    let lines: Vec<String> = keeper.0.lock().iter().map(|line| line.text.clone()).collect();
    assert_eq!(lines[..4], ["before t0ps3cret", "after ***", "first ***", "second ***"]);
    assert!(lines[4].ends_with("xx***") && lines[4].len() == 3_999, "cut after the mask");
}

#[tokio::test(start_paused = true)]
async fn lines_beyond_the_bound_displace_those_in_the_middle() {
    let keeper = Keeper::default();
    run(Some(&keeper), Some(4_096)).await;
    let lines = keeper.0.lock().clone();
    let left_out = lines.last().unwrap().left_out.clone().unwrap();
    // Half of the bound is for 16 lines of 93 to 125 bytes, and the last line alone is longer.
    assert_eq!(left_out, 17..102);
    let kept: usize = lines.iter().filter(|line| line.seq < 17).map(|l| l.text.len() + 32).sum();
    assert!(kept <= 2_048, "{kept}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_without_a_subscriber_or_with_a_limit_of_zero() {
    let keeper = Keeper::default();
    let context = run(Some(&keeper), Some(0)).await;
    assert!(keeper.0.lock().is_empty() && !context.log().is_kept());
    assert!(!run(None, None).await.log().is_kept());
}

#[tokio::test]
async fn limit_out_of_range_is_rejected() {
    let member = Cluster::new().member(1);
    let config = JobBuilder::new("job", 1).build().unwrap();
    let job = job_fn(|_| async { Ok(()) });
    let error = member.scheduler.schedule(config, job).output_limit(5).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("output_limit") && text.contains("0 for none, or 1024 to"), "{text}");
}
