//! One etcd server in a process of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use server_fixture::{Folder, LoopbackAddress, POLL_INTERVAL, Process};

use crate::options::{CLIENT_PORT, METRICS_PORT, UNPRIVILEGED};
use crate::users::{self, User};
use crate::{Error, Installation, ServerOptions, http};

/// Longest wait after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// Number of lines of the log that an error quotes.
const LOG_TAIL_LINES: usize = 30;

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
    // Fields are dropped in this order: the process before its folder and its address.
    process: Option<Process>,
    folder: Folder,
    address: LoopbackAddress,
    installation: Installation,
    options: ServerOptions,
    /// All servers of its cluster, itself included.
    members: Vec<Ipv4Addr>,
}

impl Server {
    /// Starts a server with the default options, and waits until it serves.
    ///
    /// # Errors
    /// Those of [`Installation::ensure`]; [`Error::NotReady`] and [`Error::Exited`], both with the
    /// end of the server's log; and those of the operating system.
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
        let address = LoopbackAddress::reserve()?;
        Ok(Server {
            process: None,
            folder: Folder::create(&address)?,
            address,
            installation: installation.clone(),
            options: options.clone(),
            members: Vec::new(),
        })
    }

    /// Writes the server's files as a member of a cluster.
    pub(crate) fn configure(&mut self, members: &[Ipv4Addr]) -> Result<(), Error> {
        members.clone_into(&mut self.members);
        self.options.write_files(self.ip(), self.folder.path())
    }

    /// Starts the process without waiting until it serves.
    pub(crate) fn launch(&mut self) -> Result<(), Error> {
        let command = self.command()?;
        let program = format!("{command:?}");
        let process = Process::spawn(command).map_err(|source| Error::Spawn { program, source })?;
        self.process = Some(process);
        Ok(())
    }

    fn command(&self) -> Result<Command, Error> {
        let log_path = self.log_path();
        let open_log = || fs::OpenOptions::new().create(true).append(true).open(&log_path);
        let mut words = Vec::new();
        // `setpriv` executes the server, so that the process id stays the same.
        if self.installation.dies_with_parent {
            words.extend(["setpriv".to_owned(), "--pdeathsig=KILL".to_owned()]);
            if rustix::process::geteuid().is_root() {
                words.push(format!("--reuid={UNPRIVILEGED}"));
                words.push(format!("--regid={UNPRIVILEGED}"));
                words.push("--clear-groups".to_owned());
            }
        }
        words.push(self.installation.program.display().to_string());
        words.extend(self.options.flags(self.ip(), self.folder.path(), &self.members));
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            // Each flag is also an environment variable, which would override nothing but confuse.
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(open_log().map_err(Error::file("open", &log_path))?)
            .stderr(open_log().map_err(Error::file("open", &log_path))?);
        Ok(command)
    }

    /// Waits until the server has a leader and serves clients.
    pub(crate) fn wait_until_serving(&mut self) -> Result<(), Error> {
        let limit = self.options.start_limit();
        let deadline = Instant::now() + limit;
        loop {
            let health = http::get(self.metrics_address(), "/health");
            if health.is_ok_and(|health| health.contains("\"true\"")) {
                return Ok(());
            }
            self.fail_if_exited()?;
            if Instant::now() >= deadline {
                return Err(Error::NotReady {
                    address: self.address(),
                    after: limit,
                    log_tail: self.log_tail(),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn fail_if_exited(&mut self) -> Result<(), Error> {
        let address = self.address();
        let process = self.process.as_mut().ok_or(Error::NotRunning { address })?;
        let status =
            process.exit_status().map_err(signal_error("read the exit status of", address))?;
        match status {
            None => Ok(()),
            Some(status) => Err(Error::Exited { address, status, log_tail: self.log_tail() }),
        }
    }

    /// Returns the server's address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (self.ip(), CLIENT_PORT).into()
    }

    /// Returns the version of the server's program, such as `3.4.23`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.installation.version()
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder.path().join("server.log")
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
    /// [`Error::NotRunning`], and [`Error::NotStopped`] for a server that was killed after 20 s.
    pub fn stop(&mut self) -> Result<(), Error> {
        let address = self.address();
        let mut process = self.process.take().ok_or(Error::NotRunning { address })?;
        match process.terminate(STOP_LIMIT).map_err(signal_error("stop", address))? {
            true => Ok(()),
            false => Err(Error::NotStopped { address, after: STOP_LIMIT }),
        }
    }

    /// Kills the server (SIGKILL) and waits for its end. The server may be paused.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        let address = self.address();
        drop(self.process.take().ok_or(Error::NotRunning { address })?);
        Ok(())
    }

    /// Removes the data of a stopped server, so that it starts as a new cluster.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn forget_data(&mut self) -> Result<(), Error> {
        let data = self.folder.path().join("data");
        fs::remove_dir_all(&data).map_err(Error::file("remove", &data))?;
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
        if self.process.is_some() {
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
    /// [`Error::NotRunning`], and [`Error::Signal`] if the process ended by itself.
    pub fn pause(&self) -> Result<(), Error> {
        self.running()?.pause().map_err(signal_error("pause", self.address()))
    }

    /// Resumes a paused server (SIGCONT). Without effect on a server that is not paused.
    ///
    /// # Errors
    /// As [`Server::pause`].
    pub fn resume(&self) -> Result<(), Error> {
        self.running()?.resume().map_err(signal_error("resume", self.address()))
    }

    /// Returns whether the server has a process, serving or not.
    pub(crate) fn is_launched(&self) -> bool {
        self.process.is_some()
    }

    pub(crate) fn ip(&self) -> Ipv4Addr {
        self.address.ip()
    }

    fn metrics_address(&self) -> SocketAddr {
        (self.ip(), METRICS_PORT).into()
    }

    fn running(&self) -> Result<&Process, Error> {
        self.process.as_ref().ok_or(Error::NotRunning { address: self.address() })
    }

    fn log_tail(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

fn signal_error(action: &'static str, address: SocketAddr) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Signal { action, address, source }
}
