//! A cluster of etcd servers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use etcd_fixture::{Cluster, Error, deletion_revision, revoke_lease};
use parking_lot::Mutex;
use reg_center::{NodePath, Revision};
use testkit::harness::ClusterError;
use tokio::task::block_in_place;

use super::servers::{FixtureError, FixtureResult, Members, N_SERVERS, Servers};
use super::{NAMESPACE, harness};
use crate::writelog::{Deletions, LookupError};

/// The cluster. The methods block a thread of the runtime, which must have other threads.
#[derive(Clone, Debug)]
pub(super) struct EtcdServers {
    cluster: Arc<Mutex<Cluster>>,
}

impl EtcdServers {
    pub(super) fn start() -> Result<Self, ClusterError> {
        let started = block_in_place(|| Cluster::start(N_SERVERS));
        let cluster = started.map_err(|error| harness("start the cluster", error))?;
        Ok(Self { cluster: Arc::new(Mutex::new(cluster)) })
    }

    pub(super) fn servers(&self) -> Servers {
        Servers::new(Arc::clone(&self.cluster) as Arc<Mutex<dyn Members>>)
    }

    /// Ends a session by its lease. Its ephemeral nodes are gone when this returns.
    pub(super) fn expire(&self, session: i64) -> Result<(), ClusterError> {
        let ended = block_in_place(|| self.ask(|server| revoke_lease(server, session)));
        ended.map_err(|error| harness("end a session", error))
    }

    /// Copies the logs of the servers to `folder`, with one folder for each server.
    pub(super) fn keep_logs(&self, folder: &Path) -> std::io::Result<()> {
        for (id, server) in (1..).zip(self.cluster.lock().servers()) {
            let to = folder.join(format!("etcd-{id}"));
            std::fs::create_dir_all(&to)?;
            std::fs::copy(server.log_path(), to.join("server.log"))?;
        }
        Ok(())
    }

    /// Sends a request to one server after the other until one answers. Returns the error of the
    /// last server if none does.
    fn ask<T>(&self, request: impl Fn(SocketAddr) -> Result<T, Error>) -> FixtureResult<T> {
        let mut last = FixtureError::from("there is no server");
        // A stopped server answers late, and others may need the lock to continue it.
        let addresses = self.cluster.lock().addresses();
        for server in addresses {
            match request(server) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }
}

#[async_trait]
impl Deletions for EtcdServers {
    async fn deletion(
        &self,
        path: &NodePath,
        created: Revision,
    ) -> Result<Option<Revision>, LookupError> {
        let key = format!("{NAMESPACE}{path}");
        let find = |server| deletion_revision(server, &key, created.0);
        Ok(block_in_place(|| self.ask(find))?.map(Revision))
    }
}

impl Members for Cluster {
    fn addresses(&self) -> Vec<SocketAddr> {
        Cluster::addresses(self)
    }

    fn wait_for_leader(&self, limit: Duration) -> FixtureResult<usize> {
        Ok(Cluster::wait_for_leader(self, limit)?)
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
        Ok(Cluster::kill_all(self)?)
    }

    fn launch_missing(&mut self) -> FixtureResult {
        Ok(Cluster::launch_missing(self)?)
    }
}
