//! How late runs begin, with many jobs that all fire on each second.

use std::time::Duration;

use super::{Kind, Peers, PeersError, next, since, within};
use crate::protocol::JobPlan;
use crate::stage::{PATIENCE, now_ms};

/// Fires right after the last job was scheduled are not counted.
const WARM_UP_MS: i64 = 3_000;

impl Peers {
    /// Lets a worker run jobs of one item each that fire on each second, and returns how much later their code was called.
    ///
    /// # Errors
    /// Returns an error if the worker fails or says nothing for half a minute.
    pub async fn lateness(
        &self,
        kind: Kind,
        jobs: u32,
        monitor: bool,
        seconds: usize,
    ) -> Result<Vec<Duration>, PeersError> {
        let company = self.company(kind);
        let worker = company.hire("lateness").await?;
        for number in 0..jobs {
            let mut plan = JobPlan::new(&format!("late{number}"), 1);
            plan.monitor_execution = monitor;
            worker.schedule(&plan).await?;
        }
        let from = now_ms() + WARM_UP_MS;
        let mut heard = company.log.tap();
        let runs = async {
            let mut late = Vec::new();
            while late.len() < seconds * jobs as usize {
                let entry = next(&mut heard, "a run").await?;
                if let Some(run) = entry.begun().filter(|run| run.fire >= from) {
                    late.push(since(run.fire, entry.fact.at));
                }
            }
            Ok(late)
        };
        let limit = PATIENCE + 2 * Duration::from_secs(seconds as u64);
        let late = within(limit, "as many runs as the jobs are to have", runs).await?;
        worker.leave().await?;
        Ok(late)
    }
}
