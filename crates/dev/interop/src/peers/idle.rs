//! Idle jobs: jobs that do not fire.

use std::fmt::Display;

use procfs::process::Process;

use super::{Kind, Peers, PeersError};
use crate::protocol::JobPlan;
use crate::stage::Failure;

/// Cost of idle jobs in a process.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Resident memory of the process, in KiB. Java's includes memory that is not yet
    /// garbage-collected.
    pub resident_kib: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Requests to register a job, by the server's count.
    pub requests_per_job: f64,
}

impl Peers {
    /// Measures a worker that takes part in `jobs` jobs of one item that do not fire.
    ///
    /// # Errors
    /// Returns an error if the worker fails.
    pub async fn idle(&self, kind: Kind, jobs: u32) -> Result<Idle, PeersError> {
        let group = self.group(kind);
        let worker = group.start_ready("idle").await?;
        let before = self.request_count()?;
        for number in 0..jobs {
            worker.schedule(&JobPlan::new(&format!("idle{number}"), 1).idle()).await?;
        }
        let requests = self.request_count()? - before;
        let (resident_kib, threads) = size_of(worker.pid())?;
        worker.leave().await?;
        let requests_per_job = requests as f64 / f64::from(jobs);
        Ok(Idle { resident_kib, threads, requests_per_job })
    }
}

/// Returns the resident memory of a process in KiB and its number of threads.
///
/// # Errors
/// Returns an error if there is no such process, or the operating system does not report its
/// memory.
pub fn size_of(pid: u32) -> Result<(u64, u64), PeersError> {
    let unknown =
        |error: &dyn Display| Failure::unreadable(format!("the size of process {pid}: {error}"));
    let raw = i32::try_from(pid).map_err(|error| unknown(&error))?;
    let status = Process::new(raw).and_then(|process| process.status());
    let status = status.map_err(|error| unknown(&error))?;
    let kib =
        status.vmrss.ok_or_else(|| unknown(&"the operating system reports no resident memory"))?;
    Ok((kib, status.threads))
}
