//! Start-up time: from the start of a process to its first run.

use std::time::{Duration, Instant};

use super::{Kind, Peers, PeersError, next, within};
use crate::protocol::JobPlan;
use crate::stage::PATIENCE;

/// Times from the start of a process.
#[derive(Clone, Copy, Debug)]
pub struct StartUp {
    /// Time until the process has a session and accepts orders.
    pub ready: Duration,
    /// Time until it takes part in a new job.
    pub joined: Duration,
    /// Time until the first run of the job begins, which fires on each second.
    pub first_start: Duration,
}

impl Peers {
    /// Starts a process that takes part in a job that fires on each second, and waits for its first
    /// run.
    ///
    /// # Errors
    /// Returns an error if the worker fails or reports no event for half a minute.
    pub async fn start_up(&self, kind: Kind) -> Result<StartUp, PeersError> {
        let group = self.group(kind);
        let mut events = group.log.subscribe();
        let begin = Instant::now();
        let worker = group.start_ready("start").await?;
        let ready = begin.elapsed();
        worker.schedule(&JobPlan::new("start", 1)).await?;
        let joined = begin.elapsed();
        let run = async {
            while next(&mut events, "the first run").await?.begun().is_none() {}
            Ok(())
        };
        within(PATIENCE, "the first run", run).await?;
        let first_start = begin.elapsed();
        worker.leave().await?;
        Ok(StartUp { ready, joined, first_start })
    }
}
