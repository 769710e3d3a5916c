//! One ZooKeeper server in a process of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server_fixture::{CLIENT_PORT, ServerProcess};

use crate::options::data_folder;
use crate::secure::SECURE_PORT;
use crate::{Error, Installation, ServerOptions, SharedError, four_letter};

/// Longest wait after SIGTERM. A server usually ends after a third of a second and a tick.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// A ZooKeeper server in its own process, with its own loopback address and its own data.
///
/// The address stays the same for the life of the value, through any number of
/// [restarts](Server::restart), and so do the data. Dropping the value kills the server and removes
/// the data. If this process is killed, the kernel kills the server too (on Linux with util-linux's
/// `setpriv`). A server may be kept in a `static` and shared by all tests of a binary.
///
/// All methods block the calling thread, for a second at most unless they say otherwise.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), zookeeper_fixture::Error> {
/// let mut server = zookeeper_fixture::Server::start()?;
/// println!("zk://{}", server.connect_string());
/// server.kill()?;
/// server.restart()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server {
    process: ServerProcess,
    installation: Installation,
    options: ServerOptions,
    /// All members of its ensemble, empty for a standalone server.
    peers: Vec<Ipv4Addr>,
    /// Number of answered four-letter commands since the start of the process. The server counts
    /// them as requests.
    words_answered: AtomicU64,
}

impl Server {
    /// Starts a standalone server with the default options, and waits until it serves.
    ///
    /// Takes about 0.7 s on an idle machine.
    ///
    /// # Errors
    /// Those of [`Installation::ensure`]; [`SharedError::NotReady`] and [`SharedError::Exited`],
    /// both with the end of the server's log; and those of the operating system.
    pub fn start() -> Result<Server, Error> {
        Server::start_with(&ServerOptions::default())
    }

    /// Starts a standalone server with `options`, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(options: &ServerOptions) -> Result<Server, Error> {
        Server::start_installed(&Installation::ensure()?, options)
    }

    /// Starts the server of a given installation, and waits until it serves.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_installed(
        installation: &Installation,
        options: &ServerOptions,
    ) -> Result<Server, Error> {
        let mut server = Server::prepare(installation, options)?;
        server.configure(&[])?;
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
            peers: Vec::new(),
            words_answered: AtomicU64::new(0),
        })
    }

    /// Writes the server's configuration as a member of `peers`, which are empty for a standalone
    /// server.
    pub(crate) fn configure(&mut self, peers: &[Ipv4Addr]) -> Result<(), Error> {
        peers.clone_into(&mut self.peers);
        let folder = self.process.folder();
        self.options.write_files(self.ip(), folder)?;
        if let Some(id) = (1..).zip(peers).find_map(|(id, peer)| (*peer == self.ip()).then_some(id))
        {
            let my_id = data_folder(folder).join("myid");
            fs::write(&my_id, format!("{id}\n")).map_err(SharedError::file("write", &my_id))?;
        }
        let text = self.options.zoo_cfg(self.ip(), folder, peers);
        Ok(fs::write(self.zoo_cfg(), text).map_err(SharedError::file("write", &self.zoo_cfg()))?)
    }

    /// Starts the process without waiting until it serves.
    pub(crate) fn launch(&mut self) -> Result<(), Error> {
        self.process.launch(self.command())?;
        self.words_answered.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn command(&self) -> Command {
        let java = &self.installation.java;
        // `setpriv` executes Java, so that the process id stays the same.
        let mut command = server_fixture::dying_with_parent().map_or_else(
            || Command::new(java),
            |mut command| {
                command.arg(java);
                command
            },
        );
        command
            .args(self.options.jvm_arguments(self.process.folder()))
            .arg("-cp")
            .arg(&self.installation.class_path)
            .arg("org.apache.zookeeper.server.quorum.QuorumPeerMain")
            .arg(self.zoo_cfg());
        command
    }

    /// Waits until the server serves clients.
    pub(crate) fn wait_until_serving(&mut self) -> Result<(), Error> {
        let (limit, address) = (self.options.start_limit(), self.address());
        // Not counted in `words_answered`, because a starting server answers before it counts.
        let is_serving = |_: &ServerProcess| {
            four_letter::ask(address, "srvr")
                .is_ok_and(|answer| four_letter::mode(&answer).is_some())
        };
        Ok(self.process.wait_until("serving", limit, is_serving)?)
    }

    /// Returns the server's address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// Returns the server's connect string for ZooKeeper clients: `127.9.8.7:2181`.
    #[must_use]
    pub fn connect_string(&self) -> String {
        self.address().to_string()
    }

    /// Returns the server's connect string for TLS, or `None` without [TLS](ServerOptions::tls).
    #[must_use]
    pub fn secure_connect_string(&self) -> Option<String> {
        self.options.speaks_tls().then(|| format!("{}:{SECURE_PORT}", self.ip()))
    }

    /// Returns the path of the server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.process.log_path()
    }

    /// Returns the folder of the server's transaction logs and snapshots. It is removed with the
    /// server.
    #[must_use]
    pub fn transaction_folder(&self) -> PathBuf {
        data_folder(self.process.folder()).join("version-2")
    }

    /// Returns `standalone`, `leader` or `follower`, or `None` from a server that runs but has no
    /// quorum.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] from a server that is not running or is paused.
    pub fn mode(&self) -> Result<Option<String>, Error> {
        let answer = self.four_letter("srvr")?;
        Ok(four_letter::mode(&answer).map(str::to_owned))
    }

    /// Sends one of ZooKeeper's four-letter commands (`srvr`, `mntr`, `cons`, `wchc`, `dump` …) and
    /// returns the answer. All of them are allowed on these servers.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] if the server cannot be reached or does not answer within 2 s.
    pub fn four_letter(&self, word: &str) -> Result<String, Error> {
        let answer = four_letter::ask(self.address(), word)?;
        self.words_answered.fetch_add(1, Ordering::Relaxed);
        Ok(answer)
    }

    /// Returns the number of requests that this server has received since its last start.
    ///
    /// The server counts packets: one per request, transaction, ping, or opening or closing of a
    /// session. Four-letter commands sent through this value are subtracted, so that the difference
    /// of two counts is exactly the number of requests of clients. A single count includes the few
    /// commands that waited for the server to serve.
    ///
    /// # Errors
    /// As [`Server::four_letter`], and [`Error::UnexpectedAnswer`] from a server without a quorum.
    pub fn request_count(&self) -> Result<u64, Error> {
        let received = self.metric("zk_packets_received")?;
        Ok(received.saturating_sub(self.words_answered.load(Ordering::Relaxed)))
    }

    /// Returns the number of packets that the server has sent since its last start: answers and
    /// watch events.
    ///
    /// # Errors
    /// As [`Server::request_count`].
    pub fn sent_count(&self) -> Result<u64, Error> {
        self.metric("zk_packets_sent")
    }

    fn metric(&self, metric: &'static str) -> Result<u64, Error> {
        let answer = self.four_letter("mntr")?;
        let value = four_letter::metric(&answer, metric).and_then(|value| value.parse().ok());
        value.ok_or_else(|| Error::UnexpectedAnswer {
            address: self.address(),
            word: "mntr".to_owned(),
            expected: metric,
            answer,
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

    /// Sets the options that apply from the next [restart](Server::restart) on.
    ///
    /// Keys and certificates are created again.
    ///
    /// # Errors
    /// [`SharedError::File`].
    pub fn reconfigure(&mut self, options: &ServerOptions) -> Result<(), Error> {
        self.options = options.clone();
        let peers = std::mem::take(&mut self.peers);
        self.configure(&peers)
    }

    /// Stops the server if it runs, starts it on the same address and data, and waits until it
    /// serves.
    ///
    /// A member of an ensemble serves only if a majority of the ensemble runs.
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

    fn zoo_cfg(&self) -> PathBuf {
        self.process.folder().join("zoo.cfg")
    }
}
