//! The process of one server, with its address, its folder and its log.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Authority, Error, Folder, LoopbackAddress, POLL_INTERVAL, Process, write_private};

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
        let program = line(&command);
        let process = Process::spawn(command).map_err(|source| Error::Spawn { program, source })?;
        self.process = Some(process);
        Ok(())
    }

    /// Writes a certificate for the server's address as `server.crt` in the folder, and its key as
    /// `server.key`.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn write_certificate(&self, authority: &Authority, name: &str) -> Result<(), Error> {
        let identity = authority.issue(name, [self.ip().to_string()]);
        write_private(&self.folder().join("server.crt"), identity.certificate_pem())?;
        write_private(&self.folder().join("server.key"), identity.key_pem())
    }

    /// Runs a program that prepares or queries the server in the folder, and returns its output.
    /// `name` is the name of the program, for errors.
    ///
    /// # Errors
    /// [`Error::Spawn`], and [`Error::Program`] with the output.
    pub fn run(&self, name: &str, mut command: Command) -> Result<String, Error> {
        // The current folder of this process may be closed to the server's user.
        command.current_dir(self.folder()).stdin(Stdio::null());
        let output = command.output();
        let output = output.map_err(|source| Error::Spawn { program: line(&command), source })?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(text.trim_end().to_owned());
        }
        let output_text = format!("{}{text}", String::from_utf8_lossy(&output.stderr));
        Err(Error::Program {
            program: name.to_owned(),
            status: output.status,
            output: output_text.trim_end().to_owned(),
        })
    }

    /// Waits until `holds` returns true. `awaited` is the state that it tests, such as `serving`.
    ///
    /// # Errors
    /// [`Error::Exited`] if the process ends before, and [`Error::NotReady`] after `limit`; both
    /// with the end of the log.
    pub fn wait_until(
        &mut self,
        awaited: &'static str,
        limit: Duration,
        mut holds: impl FnMut(&Self) -> bool,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        while !holds(self) {
            self.fail_if_exited()?;
            if Instant::now() >= deadline {
                return Err(self.not_ready(awaited, limit));
            }
            thread::sleep(POLL_INTERVAL);
        }
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

/// Returns the program and its arguments, without the environment, which may have a password.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn signal(action: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Signal { action, address, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ServerProcess {
        ServerProcess::reserve(crate::CLIENT_PORT).unwrap()
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("PASSWORD", "s3cret");
        command
    }

    #[test]
    fn program_runs_in_the_folder_and_its_failure_has_both_streams() {
        let server = server();
        let folder = server.run("pwd", Command::new("pwd")).unwrap();
        assert_eq!(Path::new(&folder), server.folder());
        let error = server.run("setup", shell("echo out; echo err >&2; exit 3")).unwrap_err();
        let message = error.to_string();
        assert_eq!(message, "`setup` ended with exit status: 3: err\nout");
    }

    #[test]
    fn program_that_cannot_start_is_named_without_its_environment() {
        let mut command = Command::new("/no/such/psql");
        command.args(["--command", "SELECT 1"]).env("PASSWORD", "s3cret");
        let error = server().run("psql", command).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("`/no/such/psql --command SELECT 1`"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn wait_ends_with_the_state_with_the_process_or_at_its_limit() {
        let (mut server, minute) = (server(), Duration::from_secs(60));
        server.launch(shell("exec sleep 600")).unwrap();
        let mut n_probes = 0;
        let third = |_: &ServerProcess| {
            n_probes += 1;
            n_probes == 3
        };
        server.wait_until("ready", minute, third).unwrap();
        let error = server.wait_until("ready", Duration::ZERO, |_| false).unwrap_err();
        assert!(matches!(error, Error::NotReady { awaited: "ready", .. }), "{error:?}");
        server.kill().unwrap();
        server.launch(shell("echo broken; exit 1")).unwrap();
        let error = server.wait_until("ready", minute, |_| false).unwrap_err();
        assert!(matches!(&error, Error::Exited { log_tail, .. } if log_tail == "broken"));
    }
}
