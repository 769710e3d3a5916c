//! Jobs that do nothing.

use super::{Kind, Peers, PeersError};
use crate::protocol::JobPlan;

/// What jobs cost a process that do nothing.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Memory of the process that is resident, in KiB. Java's contains what it has not collected yet.
    pub resident_kib: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Requests to register a job, by the server's count.
    pub requests_per_job: f64,
}

impl Peers {
    /// Lets a worker take part in jobs of one item that do not fire.
    ///
    /// # Errors
    /// Returns an error if the worker fails.
    pub async fn idle(&self, kind: Kind, jobs: u32) -> Result<Idle, PeersError> {
        let company = self.company(kind);
        let worker = company.hire("idle").await?;
        let before = self.request_count()?;
        for number in 0..jobs {
            worker.schedule(&JobPlan::new(&format!("idle{number}"), 1).idle()).await?;
        }
        let requests = self.request_count()? - before;
        let (resident_kib, threads) = worker.size()?;
        worker.leave().await?;
        let requests_per_job = requests as f64 / f64::from(jobs);
        Ok(Idle { resident_kib, threads, requests_per_job })
    }
}
