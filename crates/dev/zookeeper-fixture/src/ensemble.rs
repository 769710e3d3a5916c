//! Several servers that elect a leader.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::POLL_INTERVAL;

use crate::{Error, Installation, Server, ServerOptions};

const POSSIBLE_SIZES: RangeInclusive<usize> = 2..=9;

/// Several ZooKeeper servers with a quorum, each with its own loopback address.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), zookeeper_fixture::Error> {
/// use std::time::Duration;
/// use zookeeper_fixture::Ensemble;
///
/// let mut ensemble = Ensemble::start(3)?;
/// let leader = ensemble.wait_for_leader(Duration::from_secs(30))?;
/// ensemble.server_mut(leader).kill()?;
/// let next = ensemble.wait_for_leader(Duration::from_secs(30))?;
/// assert_ne!(leader, next);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Ensemble {
    servers: Vec<Server>,
}

impl Ensemble {
    /// Starts `n_servers` servers, 2 to 9, with the default options, and waits until all serve.
    ///
    /// Three servers take about two seconds.
    ///
    /// # Errors
    /// As [`Server::start`], and [`Error::EnsembleSize`].
    pub fn start(n_servers: usize) -> Result<Ensemble, Error> {
        Ensemble::start_with(n_servers, &ServerOptions::default())
    }

    /// Starts `n_servers` servers, 2 to 9, with `options`, and waits until all serve.
    ///
    /// # Errors
    /// As [`Ensemble::start`].
    pub fn start_with(n_servers: usize, options: &ServerOptions) -> Result<Ensemble, Error> {
        if !POSSIBLE_SIZES.contains(&n_servers) {
            return Err(Error::EnsembleSize { n_servers });
        }
        let installation = Installation::ensure()?;
        let mut servers = (0..n_servers)
            .map(|_| Server::prepare(&installation, options))
            .collect::<Result<Vec<Server>, Error>>()?;
        let peers: Vec<Ipv4Addr> = servers.iter().map(Server::ip).collect();
        for server in &mut servers {
            server.configure(&peers)?;
        }
        let mut ensemble = Ensemble { servers };
        ensemble.launch_missing()?;
        Ok(ensemble)
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
    /// As [`Ensemble::start`].
    pub fn launch_missing(&mut self) -> Result<(), Error> {
        for server in self.servers.iter_mut().filter(|server| !server.is_launched()) {
            server.launch()?;
        }
        for server in &mut self.servers {
            server.wait_until_serving()?;
        }
        Ok(())
    }

    /// Returns the connect string of all servers: `127.9.8.1:2181,127.9.8.2:2181`.
    #[must_use]
    pub fn connect_string(&self) -> String {
        self.servers.iter().map(Server::connect_string).collect::<Vec<_>>().join(",")
    }

    /// Returns the servers, in the order of their ids.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the server at `index` of [`Ensemble::servers`], to stop, kill or restart it.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn server_mut(&mut self, index: usize) -> &mut Server {
        &mut self.servers[index]
    }

    /// Waits until one of the servers reports that it is the leader, and returns its index.
    ///
    /// A paused server does not answer, and each request to it takes 2 s.
    ///
    /// # Errors
    /// [`Error::NoLeader`] after `limit`.
    pub fn wait_for_leader(&self, limit: Duration) -> Result<usize, Error> {
        let deadline = Instant::now() + limit;
        loop {
            let modes = self.modes();
            if let Some(leader) = modes.iter().position(|mode| mode.as_deref() == Some("leader")) {
                return Ok(leader);
            }
            if Instant::now() >= deadline {
                return Err(Error::NoLeader { after: limit, modes });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the reported mode of each server, or `None` for servers that do not serve.
    fn modes(&self) -> Vec<Option<String>> {
        let ask = |server: &Server| server.mode().ok().flatten();
        self.servers
            .iter()
            .map(|server| server.is_launched().then(|| ask(server)).flatten())
            .collect()
    }
}
