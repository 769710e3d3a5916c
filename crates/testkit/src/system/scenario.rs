//! The simulated cluster as an implementation of the trait for scenarios.

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use checker::history::Record;
use coordination::{Layout, encode_config};
use lite::JobConfig;
use reg_center::TxnOutcome;

use super::cluster::ScenarioCluster;
use crate::cluster::{Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent};

#[async_trait]
impl Cluster for ScenarioCluster {
    fn period(&self) -> Duration {
        Self::PERIOD
    }

    fn session_timeout(&self) -> Duration {
        Self::SESSION_TIMEOUT
    }

    fn cron(&self) -> String {
        Self::CRON.to_owned()
    }

    async fn create_job(&mut self, config: JobConfig) -> Result<(), ClusterError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ClusterError::Harness {
            act: "create job".to_owned(),
            source,
        };
        config.check().map_err(|error| failed(error.into()))?;
        let path = Layout::new(&config.job_name).config_path();
        let txn = self.write(path, &encode_config(&config));
        match self.registry.operate(&txn) {
            Some(Ok(TxnOutcome::Committed(_))) => {}
            Some(Ok(TxnOutcome::Conflict(conflict))) => {
                return Err(failed(conflict.to_string().into()));
            }
            Some(Err(error)) => return Err(failed(error.into())),
            None => return Err(failed("the registry does not answer".into())),
        }
        self.job = Some(config);
        Ok(())
    }

    async fn spawn(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError> {
        self.start_worker(name, opts)
    }

    async fn kill(&mut self, name: &str) -> Result<(), ClusterError> {
        self.kill_now(name)
    }

    async fn pause(&mut self, name: &str) -> Result<(), ClusterError> {
        self.pause_now(name)
    }

    async fn resume(&mut self, name: &str) -> Result<(), ClusterError> {
        self.resume_now(name)
    }

    async fn close(&mut self, name: &str) -> Result<(), ClusterError> {
        self.close_now(name)
    }

    async fn link(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError> {
        self.link_now(name, mode)
    }

    async fn expire(&mut self, name: &str) -> Result<(), ClusterError> {
        self.expire_now(name)
    }

    async fn skew(&mut self, name: &str, ms: i64) -> Result<(), ClusterError> {
        self.skew_now(name, ms)
    }

    async fn inject(&mut self, name: &str, at: Point, action: Action) -> Result<(), ClusterError> {
        self.inject_now(name, at, action)
    }

    async fn registry(&mut self, event: RegEvent) -> Result<(), ClusterError> {
        self.registry_now(event);
        Ok(())
    }

    async fn admin(&mut self, op: AdminOp) -> Result<(), ClusterError> {
        self.operate(op);
        Ok(())
    }

    async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: &(dyn for<'a> Fn(&'a [Record]) -> bool + Sync),
    ) -> Result<(), ClusterError> {
        let wait = async {
            loop {
                let changed = self.recorder.changed();
                if self.recorder.with_records(holds) {
                    return;
                }
                changed.await;
            }
        };
        let timeout = tokio::time::timeout(Self::PERIOD * max_periods, pin!(wait)).await;
        timeout.map_err(|_| ClusterError::Timeout { what: what.to_owned(), max_periods })
    }

    async fn elapse(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn heal(&mut self) -> Result<(), ClusterError> {
        self.heal_all();
        self.record_healed();
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<Vec<Record>, ClusterError> {
        Ok(self.finish_now())
    }
}
