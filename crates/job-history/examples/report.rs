//! Runs a job for a few fires, stores its history in a file, and prints a report: `report [FILE]`.
#![expect(clippy::print_stdout, reason = "the program prints a report")]

use std::sync::Arc;
use std::time::Duration;

use job_history::{FireQuery, History, HistoryOptions};
use lite::{JobBuilder, Scheduler, job_fn};
use reg_center::MemoryRegistry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "history.db".to_owned());
    let history = History::open(HistoryOptions::sqlite(&path)).await?;
    let registry = MemoryRegistry::new();
    let scheduler = Scheduler::builder(Arc::new(registry.connect()))
        .event_subscriber(history.subscriber())
        .build()?;
    let config = JobBuilder::new("report", 3).cron("* * * * * ?").build()?;
    let job = job_fn(|context| async move {
        match context.item().index() {
            0 => Err("item 0 fails each time".into()),
            _ => Ok(()),
        }
    });
    scheduler.schedule(config, job).await?;
    // Three records for each of three fires of three items.
    history.wait_for(|stats| stats.written >= 3 * 3 * 3).await;
    scheduler.shutdown(Duration::from_secs(5)).await;
    history.flush(Duration::from_secs(5)).await?;

    println!("{:24} {:>4}  {:10} reason", "fire", "item", "outcome");
    for fire in history.fires(&FireQuery::default().job("report"), 100, None).await?.fires {
        let reason = fire.reason.unwrap_or_default();
        println!("{:24} {:>4}  {:10} {reason}", fire.fire.to_string(), fire.item, fire.outcome);
    }
    for count in history.counts(&FireQuery::default()).await? {
        println!("{}: {} {}", count.job, count.fires, count.outcome);
    }
    history.close(Duration::from_secs(5)).await?;
    println!("the history is in {path}; the next run of this program adds to it");
    Ok(())
}
