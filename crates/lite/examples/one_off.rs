//! A job without a schedule: it runs when somebody asks, on all instances together, and reports how each item ended.
#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::sync::Arc;
use std::time::Duration;

use lite::{JobBuilder, JobEvent, Scheduler, job_fn};
use reg_center::MemoryRegistry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = MemoryRegistry::new();
    let config = JobBuilder::new("reindex", 4).sharding_item_parameters("0=a,1=b,2=c").build()?;
    let mut members = Vec::new();
    for n in 1..=2 {
        let ip = format!("10.0.0.{n}");
        let scheduler = Scheduler::builder(Arc::new(registry.connect())).server_ip(&ip)?.build()?;
        let job = job_fn(|context| async move {
            let part = context.parameter().ok_or("there is no part for this item")?;
            println!("{} indexes part {part}", context.instance());
            Ok(())
        });
        let handle = scheduler.schedule(config.clone(), job).await?;
        handle.joined().await?;
        members.push((scheduler, handle.events(), handle));
    }
    // Asking one instance is asking all.
    members[0].2.trigger().await?;
    let mut left = config.sharding_total_count;
    while left > 0 {
        let [first, second] = &mut members[..] else { unreachable!("two were made") };
        let record = tokio::select! {
            biased;
            record = first.1.next() => record,
            record = second.1.next() => record,
        };
        if let JobEvent::Settled { item, outcome, .. } = record.ok_or("the job has ended")?.event {
            println!("item {item} {outcome}");
            left -= 1;
        }
    }
    for (scheduler, ..) in members {
        scheduler.shutdown(Duration::from_secs(5)).await;
    }
    Ok(())
}
