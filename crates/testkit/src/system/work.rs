//! The job of scenarios: it announces itself to the resource, works, writes its effect, ends.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use checker::history::RunId;
use lite::{Job, JobError, ShardingContext, Spawn};
use tokio::sync::oneshot;

use super::process::{GatedSpawn, run_id};
use super::resource::FencedResource;
use crate::cluster::Work;

/// Number of slices of an item's work. The process can stop between two slices.
const SLICES: u32 = 10;

/// The code of an item, as [`Work`] describes it.
#[derive(Clone)]
pub(crate) struct WorkJob {
    pub(crate) work: Work,
    pub(crate) period: Duration,
    pub(crate) resource: Arc<FencedResource>,
    /// Starts the tasks that a cancelled run does not cancel.
    pub(crate) spawn: GatedSpawn,
}

#[async_trait]
impl Job for WorkJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let (run, item) = (run_id(&context), context.item().index());
        if !self.resource.begin(&run) {
            return Err("a later run of this item has announced itself".into());
        }
        if self.work.hang.contains(&item) {
            context.cancelled().await;
            return Err("cancelled".into());
        }
        if !self.work.block.contains(&item) {
            return self.work(item, &run).await;
        }
        let (sender, receiver) = oneshot::channel();
        let job = self.clone();
        self.spawn.spawn(Box::pin(async move {
            // The receiver is gone if the run was cancelled.
            let _ = sender.send(job.work(item, &run).await);
        }));
        receiver.await?
    }
}

impl WorkJob {
    /// Works without checking for cancellation: the worst behaviour of a job that still awaits.
    async fn work(&self, item: u32, run: &RunId) -> Result<(), JobError> {
        for _ in 0..SLICES {
            tokio::time::sleep(self.duration(item) / SLICES).await;
        }
        if self.work.panic.contains(&item) {
            // Skips the panic hook, because this panic is intended.
            resume_unwind(Box::new("the item panics on purpose"));
        }
        if self.work.fail.contains(&item) {
            return Err("the item fails on purpose".into());
        }
        if self.resource.effect(run) {
            Ok(())
        } else {
            Err("a later run of this item has used the resource".into())
        }
    }

    fn duration(&self, item: u32) -> Duration {
        let slow = self.work.slow.iter().find(|(slow, _)| *slow == item);
        self.period.mul_f64(slow.map_or(self.work.periods, |(_, periods)| *periods))
    }
}
