//! One etcd server in a process of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use server_fixture::{ServerProcess, unprivileged};

use crate::options::{CLIENT_PORT, METRICS_PORT};
use crate::users::{self, User};
use crate::{Error, Installation, ServerOptions, SharedError, http};

/// Longest wait after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// An etcd server in its own process, with its own loopback address and its own data.
///
/// The address stays the same for the life of the value, through any number of
/// [restarts](Server::restart), and so do the data. Dropping the value kills the server and removes
/// the data. If this process is killed, the kernel kills the server too (with util-linux's
/// `setpriv`). If this process runs as root, the server runs as an unprivileged user. A server may
/// be kept in a `static` and shared by all tests of a program.
///
/// All methods block the calling thread.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), etcd_fixture::Error> {
/// let mut server = etcd_fixture::Server::start()?;
/// println!("etcd://{}/jobs", server.address());
/// server.kill()?;
/// server.restart()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    process: ServerProcess,
    installation: Installation,
    options: ServerOptions,
    /// All servers of its cluster, itself included.
    members: Vec<Ipv4Addr>,
}

impl Server {
    /// Starts a server with the default options, and waits until it serves.
    ///
    /// # Errors
    /// Those of [`Installation::ensure`]; [`SharedError::NotReady`] and [`SharedError::Exited`],
    /// both with the end of the server's log; and those of the operating system.
    pub fn start() -> Result<Server, Error> {
        Server::start_with(&ServerOptions::default())
    }

    /// Starts a server with `options`, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(options: &ServerOptions) -> Result<Server, Error> {
        let mut server = Server::prepare(&Installation::ensure()?, options)?;
        server.configure(&[server.ip()])?;
        server.launch()?;
        server.wait_until_serving()?;
        Ok(server)
    }

    /// Reserves the address and the folder, without starting a process.
    pub(crate) fn prepare(
        installation: &Installation,
        options: &ServerOptions,
    ) -> Result<Server, Error> {
        Ok(Server {
            process: ServerProcess::reserve(CLIENT_PORT)?,
            installation: installation.clone(),
            options: options.clone(),
            members: Vec::new(),
        })
    }

    /// Writes the server's files as a member of a cluster.
    pub(crate) fn configure(&mut self, members: &[Ipv4Addr]) -> Result<(), Error> {
        members.clone_into(&mut self.members);
        self.options.write_files(self.ip(), self.process.folder())
    }

    /// Starts the process without waiting until it serves.
    pub(crate) fn launch(&mut self) -> Result<(), Error> {
        let mut command = unprivileged(&self.installation.program)?;
        command
            .args(self.options.flags(self.ip(), self.process.folder(), &self.members))
            // Each flag is also an environment variable, which would override nothing but confuse.
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        Ok(self.process.launch(command)?)
    }

    /// Waits until the server has a leader and serves clients.
    pub(crate) fn wait_until_serving(&mut self) -> Result<(), Error> {
        let (limit, metrics) = (self.options.start_limit(), self.metrics_address());
        let is_serving = |_: &ServerProcess| {
            http::get(metrics, "/health").is_ok_and(|health| health.contains("\"true\""))
        };
        Ok(self.process.wait_until("serving", limit, is_serving)?)
    }

    /// Returns the server's address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Returns the version of the server's program, such as `3.4.23`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.installation.version()
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.process.log_path()
    }

    /// Returns whether the server claims to be the leader of its cluster.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] from a server that is not running or is paused.
    pub fn is_leader(&self) -> Result<bool, Error> {
        let metrics = http::get(self.metrics_address(), "/metrics")?;
        Ok(metrics.lines().any(|line| line == "etcd_server_is_leader 1"))
    }

    /// Creates users and switches authentication on. The server needs a plain port for this.
    ///
    /// The user `root` is created with the password `root`, because the server demands one.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] and [`Error::Rejected`].
    pub fn enable_users(&self, users: &[User]) -> Result<(), Error> {
        let requests = users::requests(users);
        requests.iter().try_for_each(|(path, json)| {
            http::post(self.address(), &format!("/v3/auth/{path}"), json).map(drop)
        })
    }

    /// Sends SIGTERM to the server and waits up to 20 s for its end. The server may be paused.
    ///
    /// # Errors
    /// [`SharedError::NotRunning`], and [`SharedError::NotStopped`] for a server that was killed
    /// after 20 s.
    pub fn stop(&mut self) -> Result<(), Error> {
        Ok(self.process.terminate(STOP_LIMIT)?)
    }

    /// Kills the server (SIGKILL) and waits for its end. The server may be paused.
    ///
    /// # Errors
    /// [`SharedError::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        Ok(self.process.kill()?)
    }

    /// Removes the data of a stopped server, so that it starts as a new cluster.
    ///
    /// # Errors
    /// [`SharedError::File`].
    pub fn forget_data(&mut self) -> Result<(), Error> {
        let data = self.process.folder().join("data");
        fs::remove_dir_all(&data).map_err(SharedError::file("remove", &data))?;
        let members = self.members.clone();
        self.configure(&members)
    }

    /// Stops the server if it runs, starts it on the same address and data, and waits until it
    /// serves.
    ///
    /// A member of a cluster serves only if a majority of the cluster runs.
    ///
    /// # Errors
    /// As [`Server::start`] and [`Server::stop`].
    pub fn restart(&mut self) -> Result<(), Error> {
        if self.is_launched() {
            self.stop()?;
        }
        self.launch()?;
        self.wait_until_serving()
    }

    /// Stops all threads of the server (SIGSTOP), and returns when they have stopped.
    ///
    /// The kernel still accepts connections, which get no answer.
    ///
    /// # Errors
    /// [`SharedError::NotRunning`], and [`SharedError::Signal`] if the process ended by itself.
    pub fn pause(&self) -> Result<(), Error> {
        Ok(self.process.pause()?)
    }

    /// Resumes a paused server (SIGCONT). Without effect on a server that is not paused.
    ///
    /// # Errors
    /// As [`Server::pause`].
    pub fn resume(&self) -> Result<(), Error> {
        Ok(self.process.resume()?)
    }

    /// Returns whether the server has a process, serving or not.
    pub(crate) fn is_launched(&self) -> bool {
        self.process.is_launched()
    }

    pub(crate) fn ip(&self) -> Ipv4Addr {
        self.process.ip()
    }

    fn metrics_address(&self) -> SocketAddr {
        (self.ip(), METRICS_PORT).into()
    }
}
