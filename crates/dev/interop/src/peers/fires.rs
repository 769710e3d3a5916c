//! A worker alone with a job that fires again and again.

use std::time::Duration;

use tokio::sync::mpsc;

use super::{Company, Kind, Peers, PeersError, next, since, within};
use crate::protocol::{JobPlan, Said};
use crate::stage::{Entry, Failure, PATIENCE};

/// Fires before the first that counts: both have been through everything once, and Java has compiled some of it.
const WARM_UP: usize = 3;

/// What is fired.
#[derive(Clone, Copy, Debug)]
pub struct FireTask {
    /// How many items the job has.
    pub items: u32,
    /// Whether the registry shows what runs.
    pub monitor: bool,
    /// Whether items of lost instances fail over.
    pub failover: bool,
}

/// What fires have cost.
#[derive(Clone, Debug)]
pub struct Fires {
    /// By the server's count, with what was sent between them.
    pub requests_per_fire: f64,
    /// One after the other.
    pub fires: Vec<Fire>,
}

/// When something was done after the scheduled time.
#[derive(Clone, Copy, Debug)]
pub struct Fire {
    /// The job's code was called the first time.
    pub first_start: Duration,
    /// All items had run and, if the job is monitored, the registry had confirmed it.
    pub all_done: Duration,
}

impl FireTask {
    /// A job whose fires do not meet the one before, not even Java's; where one does, that is not made up for.
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
    /// Lets a worker run some fires.
    ///
    /// # Errors
    /// Returns an error if the worker fails or says nothing for half a minute.
    pub async fn fires(
        &self,
        kind: Kind,
        task: FireTask,
        rounds: usize,
    ) -> Result<Fires, PeersError> {
        let company = self.company(kind);
        let mut heard = company.log.tap();
        let worker = company.hire("fires").await?;
        worker.schedule(&task.plan()).await?;
        for _ in 0..WARM_UP {
            company.next_fire(task, &mut heard).await?;
        }
        let before = self.request_count()?;
        let mut fires = Vec::new();
        while fires.len() < rounds {
            fires.push(company.next_fire(task, &mut heard).await?);
        }
        let requests = self.request_count()? - before;
        worker.leave().await?;
        Ok(Fires { requests_per_fire: requests as f64 / rounds as f64, fires })
    }
}

impl Company<'_> {
    /// Waits for a fire of which all items run here, not for ever.
    async fn next_fire(
        &self,
        task: FireTask,
        heard: &mut mpsc::UnboundedReceiver<Entry>,
    ) -> Result<Fire, Failure> {
        let expected = format!("a fire of {} items, all of which run", task.items);
        within(2 * PATIENCE, &expected, self.whole_fire(task, heard)).await
    }

    async fn whole_fire(
        &self,
        task: FireTask,
        heard: &mut mpsc::UnboundedReceiver<Entry>,
    ) -> Result<Fire, Failure> {
        let (mut fire, mut begun, mut done) = (0, Vec::new(), 0);
        loop {
            let entry = next(heard, "the end of a fire").await?;
            let at = entry.fact.at;
            match &entry.fact.ev {
                Said::Begin(run) => {
                    if run.fire != fire {
                        (fire, begun, done) = (run.fire, Vec::new(), 0);
                    }
                    begun.push(at);
                }
                // Java says it once for all items.
                Said::Complete { fire: completed, .. } if *completed == fire => done = task.items,
                Said::Event { settled: Some(of), .. } if task.monitor && *of == fire => done += 1,
                Said::End(run) if !task.monitor && self.kind == Kind::Rust && run.fire == fire => {
                    done += 1;
                }
                Said::End(_)
                | Said::Complete { .. }
                | Said::Event { .. }
                | Said::Ready
                | Said::Answer { .. }
                | Said::Error { .. } => {}
            }
            if done == task.items && begun.len() == task.items as usize {
                let first = begun.iter().min().copied().unwrap_or(at);
                return Ok(Fire { first_start: since(fire, first), all_done: since(fire, at) });
            }
        }
    }
}
