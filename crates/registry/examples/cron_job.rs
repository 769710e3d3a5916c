//! The smallest job: four items, every two seconds, on the registry that the argument names, such
//! as `sqlite:registry.db`, or in memory. Ends after ten seconds.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use lite::{JobBuilder, Scheduler, job_fn};
use registry::Registry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("memory:".to_owned());
    let scheduler = Scheduler::builder(Registry::open(&address).await?).build()?;
    let config = JobBuilder::new("hello", 4).cron("0/2 * * * * ?").build()?;
    let job = job_fn(|context| async move {
        println!("{} item {}", context.fire_time(), context.item());
        Ok(())
    });
    scheduler.schedule(config, job).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    scheduler.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
