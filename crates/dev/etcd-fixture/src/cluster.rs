//! Several servers that elect a leader.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::POLL_INTERVAL;

use crate::{Error, Installation, Server, ServerOptions};

const POSSIBLE_SIZES: RangeInclusive<usize> = 2..=9;

/// Several etcd servers with a quorum, each with its own loopback address.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), etcd_fixture::Error> {
/// use std::time::Duration;
/// use etcd_fixture::Cluster;
///
/// let mut cluster = Cluster::start(3)?;
/// let leader = cluster.wait_for_leader(Duration::from_secs(30))?;
/// cluster.server_mut(leader).kill()?;
/// let next = cluster.wait_for_leader(Duration::from_secs(30))?;
/// assert_ne!(leader, next);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Cluster {
    servers: Vec<Server>,
}

impl Cluster {
    /// Starts `n_servers` servers, 2 to 9, with the default options, and waits until all serve.
    ///
    /// # Errors
    /// As [`Server::start`], and [`Error::ClusterSize`].
    pub fn start(n_servers: usize) -> Result<Cluster, Error> {
        if !POSSIBLE_SIZES.contains(&n_servers) {
            return Err(Error::ClusterSize { n_servers });
        }
        let installation = Installation::ensure()?;
        let options = ServerOptions::default();
        let mut servers = (0..n_servers)
            .map(|_| Server::prepare(&installation, &options))
            .collect::<Result<Vec<Server>, Error>>()?;
        let members: Vec<Ipv4Addr> = servers.iter().map(Server::ip).collect();
        for server in &mut servers {
            server.configure(&members)?;
        }
        let mut cluster = Cluster { servers };
        cluster.launch_missing()?;
        Ok(cluster)
    }

    /// Kills all servers that run. The registry is then gone, without notice to clients.
    ///
    /// # Errors
    /// As [`Server::kill`].
    pub fn kill_all(&mut self) -> Result<(), Error> {
        self.servers.iter_mut().filter(|server| server.is_launched()).try_for_each(Server::kill)
    }

    /// Starts all servers that do not run, on their addresses and data, and waits until all serve.
    ///
    /// Servers are started together, because one server alone has no quorum and would never serve.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn launch_missing(&mut self) -> Result<(), Error> {
        for server in self.servers.iter_mut().filter(|server| !server.is_launched()) {
            server.launch()?;
        }
        self.servers.iter_mut().try_for_each(Server::wait_until_serving)
    }

    /// Returns the addresses of all servers for clients.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(Server::address).collect()
    }

    /// Returns the servers.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the server at `index` of [`Cluster::servers`], to stop, kill or restart it.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn server_mut(&mut self, index: usize) -> &mut Server {
        &mut self.servers[index]
    }

    /// Waits until exactly one of the servers claims to be the leader, and returns its index.
    ///
    /// A paused server does not answer, and each request to it takes 5 s.
    ///
    /// # Errors
    /// [`Error::NoLeader`] after `limit`.
    pub fn wait_for_leader(&self, limit: Duration) -> Result<usize, Error> {
        let deadline = Instant::now() + limit;
        loop {
            let leaders: Vec<_> = self.servers.iter().map(claims).collect();
            let claiming = leaders.iter().filter(|claims| **claims == Some(true)).count();
            if let Some(leader) = leaders.iter().position(|claims| *claims == Some(true))
                && claiming == 1
            {
                return Ok(leader);
            }
            if Instant::now() >= deadline {
                return Err(Error::NoLeader { after: limit, leaders });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

fn claims(server: &Server) -> Option<bool> {
    if !server.is_launched() {
        return None;
    }
    server.is_leader().ok()
}
