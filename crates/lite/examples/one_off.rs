//! A job without a schedule: it runs on request, on all instances together, and reports the outcome
//! of each item.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;
use std::time::Duration;

use lite::{JobBuilder, JobEvent, Scheduler, job_fn};
use reg_center::MemoryRegistry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = MemoryRegistry::new();
    let config = JobBuilder::new("reindex", 4).sharding_item_parameters("0=a,1=b,2=c").build()?;
    let mut instances = Vec::new();
    for n in 1..=2 {
        let ip = format!("10.0.0.{n}");
        let scheduler = Scheduler::builder(Arc::new(registry.connect())).server_ip(&ip)?.build()?;
        let job = job_fn(|context| async move {
            let part = context.parameter().ok_or("this item has no parameter")?;
            println!("{} indexes part {part}", context.instance());
            Ok(())
        });
        let handle = scheduler.schedule(config.clone(), job).await?;
        handle.joined().await?;
        instances.push((scheduler, handle.events(), handle));
    }
    // A request to one instance runs the items of all instances.
    instances[0].2.trigger().await?;
    let mut left = config.sharding_total_count;
    while left > 0 {
        let [first, second] = &mut instances[..] else {
            unreachable!("two instances were started")
        };
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
    for (scheduler, ..) in instances {
        scheduler.shutdown(Duration::from_secs(5)).await;
    }
    Ok(())
}
