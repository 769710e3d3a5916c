//! Measures the number of runs per second that a store can write: `figures URL RUNS`, on an empty
//! database.
//!
//! Each run has three records, like a run of a healthy job: the claim, the report of its end, and
//! its completion. They become one row of `ejob_fire`, one of `JOB_EXECUTION_LOG` and three of
//! `JOB_STATUS_TRACE_LOG`.
#![expect(clippy::print_stdout, reason = "the program prints its measurements")]

use std::time::{Duration, Instant};

use coordination::{FencingToken, FireTime, JobEvent, JobName, Outcome, RunSource};
use jiff::Timestamp;
use job_history::{History, HistoryOptions, HistorySubscriber};
use lite::{EventSubscriber, JobRecord, RunReport};
use sharding::{InstanceId, ShardingItem};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("missing first argument: the URL of the store")?;
    let runs: u64 =
        arguments.next().ok_or("missing second argument: the number of runs")?.parse()?;
    let options = HistoryOptions::url(&url)?.queue_capacity(1_000_000);
    let history = History::open(options).await?;
    let subscriber = history.subscriber();

    let begin = Instant::now();
    for run in 0..runs {
        publish_run(&subscriber, run)?;
    }
    let published = begin.elapsed();
    history.flush(Duration::from_secs(600)).await?;
    let stored = begin.elapsed();
    let stats = history.stats();
    history.close(Duration::from_secs(10)).await?;

    let nanos = published.as_nanos() / u128::from(runs.max(1)) / 3;
    println!("published: {nanos} ns per record, in the scheduler's task");
    let written = stats.written.checked_div(3).unwrap_or_default();
    println!("stored: {written} runs in {stored:?}, {:.0} per second", rate(written, stored));
    println!("dropped: {} records", stats.dropped);
    Ok(())
}

fn rate(runs: u64, time: Duration) -> f64 {
    f64::from(u32::try_from(runs).unwrap_or(u32::MAX)) / time.as_secs_f64()
}

fn publish_run(subscriber: &HistorySubscriber, run: u64) -> Result<(), Box<dyn std::error::Error>> {
    let (job, instance) = (JobName::new("figures")?, InstanceId::new("10.0.0.1@-@1"));
    let ms = 1_709_208_000_000 + i64::try_from(run)? * 1_000;
    let at = Timestamp::from_millisecond(ms)?;
    let (item, fire, token) = (ShardingItem::new(0), FireTime(ms), FencingToken(run + 1));
    let (source, outcome) = (RunSource::Normal, Outcome::Succeeded);
    let record = |event| {
        let mut record = JobRecord::new(job.clone(), at, event);
        record.instance = Some(instance.clone());
        record
    };
    subscriber.on_event(&record(JobEvent::Claimed { item, fire, source, token, past_fire: None }));
    let mut report = RunReport::new(job.clone(), instance.clone(), item, at);
    report.token = token;
    subscriber.on_run_ended(&report);
    subscriber.on_event(&record(JobEvent::Settled { item, fire, source, token, outcome }));
    Ok(())
}
