//! The end of a run: everybody is stopped, and all that was recorded is put together.

use std::fs;
use std::sync::Arc;

use checker::history::{Fact, FaultOutcome, NemesisEvent, Record};
use testkit::harness::ClusterError;

use super::live::Live;
use super::{NAMESPACE, ZkCluster, harness, parts};
use crate::journal;
use crate::txnlog::LogFolder;

/// A wall clock that was set by more than this during a run has spoiled the times of the registry's log.
const MAX_DRIFT_NS: u64 = 50_000_000;

impl ZkCluster {
    /// Ends the run and returns its history.
    ///
    /// The record ends first, then the processes, by SIGKILL: what happens while they die belongs to no scenario.
    pub(super) async fn finish_run(&mut self) -> Result<Vec<Record>, ClusterError> {
        self.note_what_never_came()?;
        self.nemesis.note(Fact::End)?;
        let lives: Vec<_> = self.lives().map(Arc::clone).collect();
        for life in lives {
            life.kill().await?;
        }
        self.means.sweep();
        if let Some(operator) = self.operator.take() {
            operator.close().await;
        }
        // Everything that was committed is in the logs of a majority by now.
        self.servers.kill_all()?;
        let folder = self.options.folder.clone();
        self.servers
            .keep_logs(&folder)
            .map_err(|error| harness("keep the servers' logs", error))?;
        let records = self.collect()?;
        let lines: Result<Vec<Vec<u8>>, _> = records.iter().map(journal::line).collect();
        let written =
            lines.and_then(|lines| fs::write(folder.join("history.jsonl"), lines.concat()));
        written.map_err(|error| harness("write the whole history", error))?;
        Ok(records)
    }

    /// Faults that waited for a point that nobody reached.
    fn note_what_never_came(&self) -> Result<(), ClusterError> {
        for (worker, arm) in self.nemesis.unreached() {
            let (ev, outcome) = (NemesisEvent::Point, FaultOutcome::Skipped);
            let (kind, why) = ("injection".to_owned(), format!("never reached: {arm}"));
            self.nemesis.note(Fact::Nemesis { ev, kind, target: worker, outcome, why })?;
        }
        Ok(())
    }

    /// Reads everything once more, from the beginning and from the files that are kept.
    fn collect(&mut self) -> Result<Vec<Record>, ClusterError> {
        let folder = &self.options.folder;
        let logs = (1..=self.server_addresses.len()).map(|id| folder.join(format!("zk-{id}")));
        let logs = logs.map(LogFolder::new).collect();
        let mut all = Live::new(logs, NAMESPACE, self.started);
        all.follow(&parts(folder).join("nemesis.jsonl"));
        all.follow_resource(&folder.join("resource.log"));
        for (name, worker) in &self.workers {
            for life in 0..worker.n_lives {
                all.follow(&parts(folder).join(format!("{name}.{life}.jsonl")));
            }
        }
        let owners = self.owners();
        let records = all.read_on(&owners).map_err(|error| harness("read the history", error))?;
        let records = records.to_vec();
        tracing::info!(n_doubtful = all.n_doubtful(), n_records = records.len(), "history read");
        let drift_ns = self.started.drift_ns(crate::clock::WallOffset::measure());
        if drift_ns > MAX_DRIFT_NS {
            let error = format!("the wall clock was set by {drift_ns} ns during the run");
            return Err(harness("place the registry's log in time", std::io::Error::other(error)));
        }
        Ok(records)
    }
}
