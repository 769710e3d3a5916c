//! Servers of a registry that elect a leader: kills, stops and starts them.

use std::error::Error;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::task::block_in_place;

use super::harness;
use super::lagging_server::LaggingServer;

/// Number of servers: the smallest number that can lose one.
pub(super) const N_SERVERS: usize = 3;
/// Limit of an election on a loaded machine.
const ELECTION_LIMIT: Duration = Duration::from_secs(60);

/// Error of a fixture.
pub(super) type FixtureError = Box<dyn Error + Send + Sync>;
pub(super) type FixtureResult<T = ()> = Result<T, FixtureError>;

/// The processes of [`N_SERVERS`] servers. All methods may block.
pub(super) trait Members: Debug + Send + 'static {
    fn addresses(&self) -> Vec<SocketAddr>;
    /// Returns the index of the leader, at the latest after `limit`.
    fn wait_for_leader(&self, limit: Duration) -> FixtureResult<usize>;
    fn kill(&mut self, server: usize) -> FixtureResult;
    fn pause(&self, server: usize) -> FixtureResult;
    fn resume(&self, server: usize) -> FixtureResult;
    fn kill_all(&mut self) -> FixtureResult;
    /// Starts the servers that do not run, and waits until all serve.
    fn launch_missing(&mut self) -> FixtureResult;
}

/// The servers. The methods block a thread of the runtime, which must have other threads.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    members: Arc<Mutex<dyn Members>>,
}

impl Servers {
    pub(super) fn new(members: Arc<Mutex<dyn Members>>) -> Self {
        Self { members }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.members.lock().addresses()
    }

    /// Kills the leader, waits for another leader, and starts the server again.
    pub(super) fn kill_leader(&self) -> Result<(), ClusterError> {
        block_in_place(|| {
            let mut members = self.members.lock();
            let leader = members.wait_for_leader(ELECTION_LIMIT)?;
            members.kill(leader)?;
            members.wait_for_leader(ELECTION_LIMIT)?;
            members.launch_missing()
        })
        .map_err(failed("kill the leader"))
    }

    /// Kills all servers, and starts them again after a time.
    pub(super) async fn restart_all(&self, time: Duration) -> Result<(), ClusterError> {
        self.kill_all()?;
        tokio::time::sleep(time).await;
        self.start_missing()
    }

    /// Stops the leader and returns its index.
    pub(super) fn pause_leader(&self) -> Result<usize, ClusterError> {
        block_in_place(|| {
            let members = self.members.lock();
            let leader = members.wait_for_leader(ELECTION_LIMIT)?;
            members.pause(leader)?;
            Ok(leader)
        })
        .map_err(failed("stop the leader"))
    }

    /// Lets a follower lag, and returns its index.
    pub(super) fn start_lag(
        &self,
        stopped: Duration,
    ) -> Result<(usize, LaggingServer), ClusterError> {
        let leader = block_in_place(|| self.members.lock().wait_for_leader(ELECTION_LIMIT));
        let leader = leader.map_err(failed("let a server lag"))?;
        let follower = (leader + 1) % N_SERVERS;
        Ok((follower, LaggingServer::begin(Arc::clone(&self.members), follower, stopped)))
    }

    pub(super) fn resume(&self, server: usize) -> Result<(), ClusterError> {
        self.members.lock().resume(server).map_err(failed("continue a server"))
    }

    pub(super) fn kill_all(&self) -> Result<(), ClusterError> {
        block_in_place(|| self.members.lock().kill_all()).map_err(failed("kill all servers"))
    }

    /// Starts the servers that do not run, and waits until all serve and one leads.
    pub(super) fn start_missing(&self) -> Result<(), ClusterError> {
        block_in_place(|| {
            let mut members = self.members.lock();
            members.launch_missing()?;
            members.wait_for_leader(ELECTION_LIMIT).map(drop)
        })
        .map_err(failed("start the servers"))
    }
}

fn failed(act: &'static str) -> impl FnOnce(FixtureError) -> ClusterError {
    move |error| harness(act, error)
}
