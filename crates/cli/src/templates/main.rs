//! A job that says hello every ten seconds.

use std::time::Duration;

use elastic_job::prelude::*;

/// The work: one call for each item of each fire.
struct Hello;

#[async_trait]
impl Job for Hello {
    async fn execute(&self, run: ShardingContext) -> Result<(), JobError> {
        println!("hello from item {} of {}", run.item(), run.fire_time());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A file for the processes of one host. For several hosts: zk://, postgres:// or etcd://.
    let registry = Registry::open("sqlite:registry.db").await?;
    let scheduler = Scheduler::builder(registry).build()?;
    let config = JobBuilder::new("hello", 2).cron("0/10 * * * * ?").failover(true).build()?;
    scheduler.schedule(config, Hello).await?;
    println!("hello runs every ten seconds; ctrl-c ends it");
    tokio::signal::ctrl_c().await?;
    // Runs may continue for this time.
    scheduler.shutdown(Duration::from_secs(30)).await;
    Ok(())
}
