//! Repeated fires of a job with a single worker.

use std::time::Duration;

use tokio::sync::mpsc;

use super::{Kind, Peers, PeersError, WorkerGroup, next, since, within};
use crate::protocol::{JobPlan, WorkerEvent};
use crate::stage::{Entry, Failure, PATIENCE};

/// Fires before the first that counts, so that both workers have run all code once, and Java has
/// compiled part of it.
const WARM_UP: usize = 3;

/// Settings of the fired job.
#[derive(Clone, Copy, Debug)]
pub struct FireTask {
    /// Number of items of the job.
    pub items: u32,
    /// Enables monitoring.
    pub monitor: bool,
    /// Enables failover.
    pub failover: bool,
}

/// Cost of the measured fires.
#[derive(Clone, Debug)]
pub struct Fires {
    /// Requests by the server's count, including those between the fires.
    pub requests_per_fire: f64,
    /// Times of each fire, in their order.
    pub fires: Vec<Fire>,
}

/// Times of one fire, from the scheduled fire time on.
#[derive(Clone, Copy, Debug)]
pub struct Fire {
    /// Time until the first call of the job's code.
    pub first_start: Duration,
    /// Time until all items had ended and, if the job is monitored, the registry had confirmed
    /// that.
    pub all_done: Duration,
}

impl FireTask {
    /// Returns a job whose fires do not overlap in either language. Misfires are not replayed.
    fn plan(self) -> JobPlan {
        let mut plan = JobPlan::new("fires", self.items);
        let seconds = match self.items {
            0..100 => "*",
            100..1_000 => "0/5",
            1_000.. => "0/20",
        };
        plan.cron = format!("{seconds} * * * * ?");
        plan.misfire = false;
        plan.monitor_execution = self.monitor;
        plan.failover = self.failover;
        plan
    }
}

impl Peers {
    /// Measures `rounds` fires of a worker.
    ///
    /// # Errors
    /// Returns an error if the worker fails or reports no event for half a minute.
    pub async fn fires(
        &self,
        kind: Kind,
        task: FireTask,
        rounds: usize,
    ) -> Result<Fires, PeersError> {
        let group = self.group(kind);
        let mut events = group.log.subscribe();
        let worker = group.start_ready("fires").await?;
        worker.schedule(&task.plan()).await?;
        for _ in 0..WARM_UP {
            group.next_fire(task, &mut events).await?;
        }
        let before = self.request_count()?;
        let mut fires = Vec::new();
        while fires.len() < rounds {
            fires.push(group.next_fire(task, &mut events).await?);
        }
        let requests = self.request_count()? - before;
        worker.leave().await?;
        Ok(Fires { requests_per_fire: requests as f64 / rounds as f64, fires })
    }
}

impl WorkerGroup<'_> {
    /// Waits for a fire whose items all run on this worker, for at most two times [`PATIENCE`].
    async fn next_fire(
        &self,
        task: FireTask,
        events: &mut mpsc::UnboundedReceiver<Entry>,
    ) -> Result<Fire, Failure> {
        let expected = format!("a fire of which all {} items run", task.items);
        within(2 * PATIENCE, &expected, self.whole_fire(task, events)).await
    }

    async fn whole_fire(
        &self,
        task: FireTask,
        events: &mut mpsc::UnboundedReceiver<Entry>,
    ) -> Result<Fire, Failure> {
        let (mut fire, mut begun, mut done) = (0, Vec::new(), 0);
        loop {
            let entry = next(events, "the end of a fire").await?;
            let at = entry.fact.at;
            match &entry.fact.event {
                WorkerEvent::Begin(run) => {
                    if run.fire != fire {
                        (fire, begun, done) = (run.fire, Vec::new(), 0);
                    }
                    begun.push(at);
                }
                // A Java worker reports the completion once for all items.
                WorkerEvent::Complete { fire: completed, .. } if *completed == fire => {
                    done = task.items
                }
                WorkerEvent::Event { settled: Some(of), .. } if task.monitor && *of == fire => {
                    done += 1
                }
                WorkerEvent::End(run)
                    if !task.monitor && self.kind == Kind::Rust && run.fire == fire =>
                {
                    done += 1;
                }
                WorkerEvent::End(_)
                | WorkerEvent::Complete { .. }
                | WorkerEvent::Event { .. }
                | WorkerEvent::Ready
                | WorkerEvent::Answer { .. }
                | WorkerEvent::Error { .. } => {}
            }
            if done == task.items && begun.len() == task.items as usize {
                let first = begun.iter().min().copied().unwrap_or(at);
                return Ok(Fire { first_start: since(fire, first), all_done: since(fire, at) });
            }
        }
    }
}
