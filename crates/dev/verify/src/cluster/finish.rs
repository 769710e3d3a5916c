//! End of a run: stops all processes and collects all records.

use std::fs;
use std::sync::Arc;

use checker::history::{Fact, FaultOutcome, NemesisEvent, Record};
use testkit::harness::ClusterError;

use super::history::{HistoryFollower, RegistryLog};
use super::registry::TestedRegistry;
use super::{RealCluster, harness, parts};
use crate::journal;
use crate::txnlog::{LogFolder, Union};

/// Maximum change of the wall clock during a run. A larger one makes the times of the registry's
/// log wrong.
const MAX_DRIFT_NS: u64 = 50_000_000;

impl RealCluster {
    /// Ends the run and returns its history.
    ///
    /// The history ends first, then the processes are killed: records of their end belong to no
    /// scenario.
    pub(super) async fn finish_run(&mut self) -> Result<Vec<Record>, ClusterError> {
        const KEEP: &str = "keep the servers' logs";
        self.record_unreached_points()?;
        self.nemesis.note(Fact::End)?;
        let processes: Vec<_> = self.processes().map(Arc::clone).collect();
        for process in processes {
            process.kill().await?;
        }
        self.method.clean_up();
        if let Some(operator) = self.operator.take() {
            operator.close().await;
        }
        let folder = self.options.folder.clone();
        let log = match &self.registry {
            TestedRegistry::Zookeeper(zookeeper) => {
                // By now the logs of a majority contain every committed transaction.
                zookeeper.servers().kill_all()?;
                let kept = zookeeper.keep_logs(&folder);
                let n_servers = kept.map_err(|error| harness(KEEP, error))?;
                let logs =
                    (1..=n_servers).map(|id| LogFolder::new(folder.join(format!("zk-{id}"))));
                RegistryLog::Files(Union::new(logs.collect()))
            }
            TestedRegistry::Sqlite(_) => self.complete_log().await?,
            TestedRegistry::Postgres(database) => {
                database.keep_log(&folder).map_err(|error| harness(KEEP, error))?;
                self.complete_log().await?
            }
            TestedRegistry::Etcd(etcd) => {
                etcd.keep_logs(&folder).map_err(|error| harness(KEEP, error))?;
                self.complete_log().await?
            }
        };
        let records = self.collect(log)?;
        let lines: Result<Vec<Vec<u8>>, _> = records.iter().map(journal::line).collect();
        let written =
            lines.and_then(|lines| fs::write(folder.join("history.jsonl"), lines.concat()));
        written.map_err(|error| harness("write the complete history", error))?;
        Ok(records)
    }

    /// Records the faults whose point no worker reached.
    fn record_unreached_points(&self) -> Result<(), ClusterError> {
        for (worker, arm) in self.nemesis.unreached() {
            let (ev, outcome) = (NemesisEvent::Point, FaultOutcome::Skipped);
            let (kind, why) = ("injection".to_owned(), format!("never reached: {arm}"));
            self.nemesis.note(Fact::Nemesis { ev, kind, target: worker, outcome, why })?;
        }
        Ok(())
    }

    /// Reads the log of the clients to its end, and checks that it describes the stored nodes.
    async fn complete_log(&self) -> Result<RegistryLog, ClusterError> {
        const ACT: &str = "read the log of the registry";
        let Some(log) = self.history.log_of_clients() else {
            return Err(harness(ACT, std::io::Error::other("the clients write no log")));
        };
        let (entries, differences) = log.finish().await.map_err(|error| harness(ACT, error))?;
        if differences.is_empty() {
            return Ok(RegistryLog::Complete(entries));
        }
        Err(harness(ACT, std::io::Error::other(differences.join("; "))))
    }

    /// Reads all records again, from the beginning and from the files that are kept.
    fn collect(&mut self, log: RegistryLog) -> Result<Vec<Record>, ClusterError> {
        let folder = &self.options.folder;
        let mut all = HistoryFollower::new(log, self.started);
        all.follow(&parts(folder).join("nemesis.jsonl"));
        all.follow_resource(&folder.join("resource.log"));
        for (name, worker) in &self.workers {
            for start in 0..worker.n_starts {
                all.follow(&parts(folder).join(format!("{name}.{start}.jsonl")));
            }
        }
        let owners = self.owners();
        let records = all.read_on(&owners).map_err(|error| harness("read the history", error))?;
        let records = records.to_vec();
        tracing::info!(
            n_uncommitted = all.n_uncommitted(),
            n_records = records.len(),
            "history read"
        );
        let drift_ns = self.started.drift_ns(crate::clock::WallOffset::measure());
        if drift_ns > MAX_DRIFT_NS {
            let error = format!(
                "the wall clock was set by {drift_ns} ns during the run; valid is at most {MAX_DRIFT_NS} ns"
            );
            return Err(harness(
                "convert the times of the registry's log",
                std::io::Error::other(error),
            ));
        }
        Ok(records)
    }
}
