//! The job's code: reports the begin of the run, waits, and reports the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobError, ShardingContext};
use tokio::sync::watch;

use super::output::emit;
use crate::protocol::{Run, WorkerEvent};

/// Behaviour of the runs of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Behaviour {
    /// Duration of a run.
    pub(super) usual: Duration,
    /// Items whose runs do not end before a later order releases them.
    pub(super) hold: Vec<u32>,
}

/// The code of one job.
#[derive(Debug)]
pub(super) struct WorkingJob {
    pub(super) behaviour: watch::Receiver<Behaviour>,
}

static RUNS: AtomicU64 = AtomicU64::new(1);

#[async_trait]
impl Job for WorkingJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let run = Run {
            job: context.job_name().to_string(),
            item: context.item().index(),
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            fire: context.fire_time().as_millisecond(),
            source: context.source().to_string(),
            total: context.sharding_total_count(),
            job_parameter: context.job_parameter().to_owned(),
            parameter: context.parameter().map(str::to_owned),
            task_id: context.task_id(),
            interrupted: false,
            merged_from: context.merged().map(|range| range.first.0),
        };
        let mut ended = Ended(Some(run.clone()));
        emit(WorkerEvent::Begin(run));
        let mut behaviour = self.behaviour.clone();
        let usual = behaviour.borrow().usual;
        tokio::time::sleep(usual).await;
        let item = context.item().index();
        // The sender lives as long as the process.
        let _ = behaviour.wait_for(|behaviour| !behaviour.hold.contains(&item)).await;
        ended.report(false);
        Ok(())
    }
}

/// Reports the end of a run. If the run's future is dropped, the run was interrupted.
struct Ended(Option<Run>);

impl Ended {
    fn report(&mut self, interrupted: bool) {
        if let Some(run) = self.0.take() {
            emit(WorkerEvent::End(Run { interrupted, ..run }));
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.report(true);
    }
}
