//! The process of one server, with its address, its folder and its log.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::{Error, Folder, LoopbackAddress, Process};

/// Number of lines of the log that an error quotes.
const LOG_TAIL_LINES: usize = 30;

/// A server's process on an exclusive address, with a folder of its own.
///
/// Address and folder stay the same through any number of launches. Dropping the value kills the
/// process and removes the folder.
#[derive(Debug)]
pub struct ServerProcess {
    // Fields are dropped in this order: the process before its folder and its address.
    process: Option<Process>,
    folder: Folder,
    address: LoopbackAddress,
    port: u16,
}

impl ServerProcess {
    /// Reserves an address and creates its folder, without starting a process. Clients will connect
    /// to `port`.
    ///
    /// # Errors
    /// [`Error::NoAddress`] and [`Error::File`].
    pub fn reserve(port: u16) -> Result<Self, Error> {
        let address = LoopbackAddress::reserve()?;
        Ok(Self { process: None, folder: Folder::create(&address)?, address, port })
    }

    /// Returns the address without a port.
    #[must_use]
    pub fn ip(&self) -> Ipv4Addr {
        self.address.ip()
    }

    /// Returns the address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (self.ip(), self.port).into()
    }

    /// Returns the folder, which is the working directory of the process.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the log, to which each launch appends.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.folder().join("server.log")
    }

    /// Returns true if there is a process, serving or not.
    #[must_use]
    pub fn is_launched(&self) -> bool {
        self.process.is_some()
    }

    /// Starts the process, without input and with its output in the log.
    ///
    /// # Errors
    /// [`Error::File`] for the log, and [`Error::Spawn`].
    pub fn launch(&mut self, mut command: Command) -> Result<(), Error> {
        let log = self.log_path();
        let open = || {
            let opened = fs::OpenOptions::new().create(true).append(true).open(&log);
            opened.map_err(Error::file("open", &log))
        };
        command.current_dir(self.folder()).stdin(Stdio::null()).stdout(open()?).stderr(open()?);
        let program = format!("{command:?}");
        let process = Process::spawn(command).map_err(|source| Error::Spawn { program, source })?;
        self.process = Some(process);
        Ok(())
    }

    /// Fails if the process has ended by itself.
    ///
    /// # Errors
    /// [`Error::Exited`] with the end of the log, and [`Error::NotRunning`].
    pub fn fail_if_exited(&mut self) -> Result<(), Error> {
        let address = self.address();
        let process = self.process.as_mut().ok_or(Error::NotRunning { address })?;
        let status = process.exit_status().map_err(signal("read the exit status of", address))?;
        match status {
            None => Ok(()),
            Some(status) => Err(Error::Exited { address, status, log_tail: self.log_tail() }),
        }
    }

    /// Returns the error for a state that was not reached in time, with the end of the log.
    #[must_use]
    pub fn not_ready(&self, awaited: &'static str, after: Duration) -> Error {
        Error::NotReady { address: self.address(), awaited, after, log_tail: self.log_tail() }
    }

    /// Sends SIGTERM to the process and waits up to `limit` for its end. It may be paused.
    ///
    /// # Errors
    /// [`Error::NotRunning`], and [`Error::NotStopped`] for a process that was killed after
    /// `limit`.
    pub fn terminate(&mut self, limit: Duration) -> Result<(), Error> {
        self.end("SIGTERM", limit, Process::terminate)
    }

    /// Sends SIGINT to the process and waits up to `limit` for its end. It may be paused.
    ///
    /// # Errors
    /// As [`terminate`](Self::terminate).
    pub fn interrupt(&mut self, limit: Duration) -> Result<(), Error> {
        self.end("SIGINT", limit, Process::interrupt)
    }

    fn end(
        &mut self,
        by: &'static str,
        limit: Duration,
        end: impl FnOnce(&mut Process, Duration) -> io::Result<bool>,
    ) -> Result<(), Error> {
        let address = self.address();
        let mut process = self.process.take().ok_or(Error::NotRunning { address })?;
        match end(&mut process, limit).map_err(signal("stop", address))? {
            true => Ok(()),
            false => Err(Error::NotStopped { address, by, after: limit }),
        }
    }

    /// Kills the process (SIGKILL) and waits for its end. It may be paused.
    ///
    /// # Errors
    /// [`Error::NotRunning`].
    pub fn kill(&mut self) -> Result<(), Error> {
        let address = self.address();
        drop(self.process.take().ok_or(Error::NotRunning { address })?);
        Ok(())
    }

    /// Stops all threads of the process (SIGSTOP), and returns when they have stopped.
    ///
    /// The kernel still accepts connections, which get no answer.
    ///
    /// # Errors
    /// [`Error::NotRunning`], and [`Error::Signal`] if the process ended by itself.
    pub fn pause(&self) -> Result<(), Error> {
        self.running()?.pause().map_err(signal("pause", self.address()))
    }

    /// Resumes a paused process (SIGCONT). Without effect on a process that is not paused.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), Error> {
        self.running()?.resume().map_err(signal("resume", self.address()))
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

fn signal(action: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Signal { action, address, source }
}
