//! An ensemble of ZooKeeper servers, and their transaction logs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::task::block_in_place;
use zookeeper_fixture::{Ensemble, Server, ServerOptions};

use super::harness;
use super::servers::{FixtureResult, Members, N_SERVERS, Servers};
use crate::txnlog::LogFolder;

/// Tick of the servers. Sessions end on a tick and last at least two ticks.
///
/// With short ticks, elections end before sessions expire.
const TICK: Duration = Duration::from_millis(100);

/// The ensemble.
#[derive(Debug)]
pub(super) struct ZookeeperServers {
    ensemble: Arc<Mutex<Ensemble>>,
}

impl ZookeeperServers {
    pub(super) fn start() -> Result<Self, ClusterError> {
        let options = ServerOptions::default().tick(TICK);
        let started = block_in_place(|| Ensemble::start_with(N_SERVERS, &options));
        let ensemble = started.map_err(|error| harness("start the ensemble", error))?;
        Ok(Self { ensemble: Arc::new(Mutex::new(ensemble)) })
    }

    pub(super) fn servers(&self) -> Servers {
        Servers::new(Arc::clone(&self.ensemble) as Arc<Mutex<dyn Members>>)
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
}

impl Members for Ensemble {
    fn addresses(&self) -> Vec<SocketAddr> {
        self.servers().iter().map(Server::address).collect()
    }

    fn wait_for_leader(&self, limit: Duration) -> FixtureResult<usize> {
        Ok(Ensemble::wait_for_leader(self, limit)?)
    }

    fn kill(&mut self, server: usize) -> FixtureResult {
        Ok(self.server_mut(server).kill()?)
    }

    fn pause(&self, server: usize) -> FixtureResult {
        Ok(self.servers()[server].pause()?)
    }

    fn resume(&self, server: usize) -> FixtureResult {
        Ok(self.servers()[server].resume()?)
    }

    fn kill_all(&mut self) -> FixtureResult {
        Ok(Ensemble::kill_all(self)?)
    }

    fn launch_missing(&mut self) -> FixtureResult {
        Ok(Ensemble::launch_missing(self)?)
    }
}
