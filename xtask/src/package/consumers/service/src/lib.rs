//! A service with one job, on the registry that an address names.

use elastic_job::prelude::*;
use tokio::sync::mpsc::UnboundedSender;

/// Reports the items that run.
pub struct Report(pub UnboundedSender<u32>);

#[async_trait]
impl Job for Report {
    async fn execute(&self, run: ShardingContext) -> Result<(), JobError> {
        self.0.send(run.item().index())?;
        Ok(())
    }
}

/// Starts an instance of the job.
pub async fn start(address: &str, job: Report) -> Result<(Scheduler, JobHandle), JobError> {
    let scheduler = Scheduler::builder(Registry::open(address).await?).build()?;
    let config = JobBuilder::new("report", 3).failover(true).build()?;
    let handle = scheduler.schedule(config, job).await?;
    Ok((scheduler, handle))
}
