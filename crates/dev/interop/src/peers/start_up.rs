//! From the start of a process to its first run.

use std::time::{Duration, Instant};

use super::{Kind, Peers, PeersError, next, within};
use crate::protocol::JobPlan;
use crate::stage::PATIENCE;

/// When a process that was started had done something.
#[derive(Clone, Copy, Debug)]
pub struct StartUp {
    /// It has a session and takes orders.
    pub ready: Duration,
    /// It takes part in a job that nobody knew before.
    pub joined: Duration,
    /// It has begun the first run of the job, which fires on each second.
    pub first_start: Duration,
}

impl Peers {
    /// Starts a process, lets it take part in a job that fires on each second, and waits for its first run.
    ///
    /// # Errors
    /// Returns an error if the worker fails or says nothing for half a minute.
    pub async fn start_up(&self, kind: Kind) -> Result<StartUp, PeersError> {
        let company = self.company(kind);
        let mut heard = company.log.tap();
        let begin = Instant::now();
        let worker = company.hire("start").await?;
        let ready = begin.elapsed();
        worker.schedule(&JobPlan::new("start", 1)).await?;
        let joined = begin.elapsed();
        let run = async {
            while next(&mut heard, "the first run").await?.begun().is_none() {}
            Ok(())
        };
        within(PATIENCE, "the first run", run).await?;
        let first_start = begin.elapsed();
        worker.leave().await?;
        Ok(StartUp { ready, joined, first_start })
    }
}
