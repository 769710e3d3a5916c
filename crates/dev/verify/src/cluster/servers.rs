//! The ensemble: kills, stops and starts its servers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::task::block_in_place;
use zookeeper_fixture::{Ensemble, Server, ServerOptions};

use super::harness;
use super::lagging_server::LaggingServer;
use crate::txnlog::LogFolder;

/// Number of servers: the smallest ensemble that can lose one.
const N_SERVERS: usize = 3;
/// Tick of the servers. Sessions end on a tick and last at least two ticks.
///
/// With short ticks, elections end before sessions expire.
const TICK: Duration = Duration::from_millis(100);
/// Limit of an election on a loaded machine.
const ELECTION_LIMIT: Duration = Duration::from_secs(60);

/// The servers. The methods block a thread of the runtime, which must have other threads.
#[derive(Debug)]
pub(super) struct Servers {
    ensemble: Arc<Mutex<Ensemble>>,
}

impl Servers {
    pub(super) fn start() -> Result<Self, ClusterError> {
        let options = ServerOptions::default().tick(TICK);
        let started = block_in_place(|| Ensemble::start_with(N_SERVERS, &options));
        let ensemble = started.map_err(failed("start the ensemble"))?;
        Ok(Self { ensemble: Arc::new(Mutex::new(ensemble)) })
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.ensemble.lock().servers().iter().map(Server::address).collect()
    }

    pub(super) fn connect_string(&self) -> String {
        self.ensemble.lock().connect_string()
    }

    pub(super) fn logs(&self) -> Vec<LogFolder> {
        self.ensemble
            .lock()
            .servers()
            .iter()
            .map(|server| LogFolder::new(server.transaction_folder()))
            .collect()
    }

    /// Copies all transaction logs to `folder`, with one folder for each server. Returns the number
    /// of servers.
    pub(super) fn keep_logs(&self, folder: &Path) -> std::io::Result<usize> {
        for (id, server) in (1..).zip(self.ensemble.lock().servers()) {
            let to = folder.join(format!("zk-{id}"));
            std::fs::create_dir_all(&to)?;
            std::fs::copy(server.log_path(), to.join("server.log"))?;
            let entries = match std::fs::read_dir(server.transaction_folder()) {
                // The server was killed before it created the folder, so that it has committed
                // nothing.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with("log.") {
                    std::fs::copy(entry.path(), to.join(entry.file_name()))?;
                }
            }
        }
        Ok(N_SERVERS)
    }

    /// Kills the leader, waits for another leader, and starts the server again.
    pub(super) fn kill_leader(&mut self) -> Result<(), ClusterError> {
        block_in_place(|| {
            let mut ensemble = self.ensemble.lock();
            let leader = ensemble.wait_for_leader(ELECTION_LIMIT)?;
            ensemble.server_mut(leader).kill()?;
            ensemble.wait_for_leader(ELECTION_LIMIT)?;
            ensemble.launch_missing()
        })
        .map_err(failed("kill the leader"))
    }

    /// Stops the leader and returns its index.
    pub(super) fn pause_leader(&self) -> Result<usize, ClusterError> {
        block_in_place(|| {
            let ensemble = self.ensemble.lock();
            let leader = ensemble.wait_for_leader(ELECTION_LIMIT)?;
            ensemble.servers()[leader].pause()?;
            Ok(leader)
        })
        .map_err(failed("stop the leader"))
    }

    /// Lets a follower lag, and returns its index.
    pub(super) fn start_lag(
        &self,
        stopped: Duration,
    ) -> Result<(usize, LaggingServer), ClusterError> {
        let leader = block_in_place(|| self.ensemble.lock().wait_for_leader(ELECTION_LIMIT));
        let leader = leader.map_err(failed("let a server lag"))?;
        let follower = (leader + 1) % N_SERVERS;
        Ok((follower, LaggingServer::begin(Arc::clone(&self.ensemble), follower, stopped)))
    }

    pub(super) fn resume(&self, server: usize) -> Result<(), ClusterError> {
        self.ensemble.lock().servers()[server].resume().map_err(failed("continue a server"))
    }

    pub(super) fn kill_all(&mut self) -> Result<(), ClusterError> {
        block_in_place(|| self.ensemble.lock().kill_all()).map_err(failed("kill all servers"))
    }

    /// Starts the servers that do not run, and waits until all serve and one leads.
    pub(super) fn start_missing(&mut self) -> Result<(), ClusterError> {
        block_in_place(|| {
            let mut ensemble = self.ensemble.lock();
            ensemble.launch_missing()?;
            ensemble.wait_for_leader(ELECTION_LIMIT).map(drop)
        })
        .map_err(failed("start the servers"))
    }
}

fn failed(act: &'static str) -> impl FnOnce(zookeeper_fixture::Error) -> ClusterError {
    move |error| harness(act, error)
}
