//! The program of the README: a job of four items, on the registry that its argument names.
//!
//! ```text
//! cargo run --example any_registry -- sqlite:registry.db
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Duration;

use lite::{JobBuilder, Scheduler, job_fn};
use registry::Registry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("sqlite:registry.db".to_owned());
    let scheduler = Scheduler::builder(Registry::open(&address).await?).build()?;
    let config = JobBuilder::new("report", 4)
        .cron("0/5 * * * * ?")
        .time_zone("Asia/Shanghai")
        .failover(true)
        .build()?;
    let report = job_fn(|cx| async move {
        println!("item {}, token {}", cx.item(), cx.fencing_token());
        Ok(())
    });
    let _job = scheduler.schedule(config, report).await?;
    tokio::signal::ctrl_c().await?;
    scheduler.shutdown(Duration::from_secs(30)).await;
    Ok(())
}
