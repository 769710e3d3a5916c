//! Lateness of runs with many jobs that all fire on each second.

use std::time::Duration;

use super::{Kind, Peers, PeersError, next, since, within};
use crate::protocol::JobPlan;
use crate::stage::{PATIENCE, now_ms};

/// Time after the last registration, in milliseconds, in which fires do not count.
const WARM_UP_MS: i64 = 3_000;

impl Peers {
    /// Measures a worker with jobs of one item that fire on each second. Returns the lateness of
    /// each run.
    ///
    /// # Errors
    /// Returns an error if the worker fails or reports no event for half a minute.
    pub async fn lateness(
        &self,
        kind: Kind,
        jobs: u32,
        monitor: bool,
        seconds: usize,
    ) -> Result<Vec<Duration>, PeersError> {
        let group = self.group(kind);
        let worker = group.start_ready("lateness").await?;
        for number in 0..jobs {
            let mut plan = JobPlan::new(&format!("late{number}"), 1);
            plan.monitor_execution = monitor;
            worker.schedule(&plan).await?;
        }
        let from = now_ms() + WARM_UP_MS;
        let mut events = group.log.subscribe();
        let runs = async {
            let mut late = Vec::new();
            while late.len() < seconds * jobs as usize {
                let entry = next(&mut events, "a run").await?;
                if let Some(run) = entry.begun().filter(|run| run.fire >= from) {
                    late.push(since(run.fire, entry.fact.at));
                }
            }
            Ok(late)
        };
        let limit = PATIENCE + 2 * Duration::from_secs(seconds as u64);
        let late = within(limit, "the expected number of runs of all jobs", runs).await?;
        worker.leave().await?;
        Ok(late)
    }
}
