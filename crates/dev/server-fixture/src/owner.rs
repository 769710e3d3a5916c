//! A process that owns a server, for tests of the server's end.

use std::io::{self, BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Process;

/// Longest wait for the end of a program or of its server.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that starts a server and prints its address. Dropping it kills it.
#[derive(Debug)]
pub struct Owner {
    process: Process,
    line: String,
    // Open as long as the program, which could not write to a closed output.
    output: BufReader<ChildStdout>,
}

impl Owner {
    /// Starts a program, and waits for its first line.
    ///
    /// # Errors
    /// The operating system's error, and `UnexpectedEof` if the program ends without a line.
    pub fn start(program: &str) -> io::Result<Owner> {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Process::spawn(command)?;
        let output = process.take_output().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut owner = Owner { process, line: String::new(), output: BufReader::new(output) };
        match owner.output.read_line(&mut owner.line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(owner),
        }
    }

    /// Returns the first line of the program's output.
    #[must_use]
    pub fn line(&self) -> &str {
        self.line.trim_end()
    }

    /// Returns true if the program has not ended.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn is_running(&mut self) -> io::Result<bool> {
        Ok(self.process.exit_status()?.is_none())
    }

    /// Kills the program (SIGKILL), and waits for its end.
    pub fn kill(self) {
        drop(self);
    }

    /// Sends SIGTERM to the program, and waits up to 60 s for its end.
    ///
    /// # Errors
    /// The operating system's error, and `TimedOut`.
    pub fn terminate(self) -> io::Result<ExitStatus> {
        self.end(Process::terminate)
    }

    /// Sends SIGINT to the program, and waits up to 60 s for its end.
    ///
    /// # Errors
    /// The operating system's error, and `TimedOut`.
    pub fn interrupt(self) -> io::Result<ExitStatus> {
        self.end(Process::interrupt)
    }

    fn end(
        mut self,
        end: impl FnOnce(&mut Process, Duration) -> io::Result<bool>,
    ) -> io::Result<ExitStatus> {
        end(&mut self.process, LIMIT)?;
        self.process.exit_status()?.ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

/// Returns true as soon as no process accepts connections at an address; false after 60 s.
#[must_use]
pub fn stops_listening(address: SocketAddr) -> bool {
    let deadline = Instant::now() + LIMIT;
    while TcpStream::connect(address).is_ok() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::yield_now();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_without_a_line_is_an_error() {
        let error = Owner::start("true").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn program_runs_until_a_signal() {
        // `yes` prints until its pipe is full, and does not handle signals.
        let mut owner = Owner::start("yes").unwrap();
        assert_eq!(owner.line(), "y");
        assert!(owner.is_running().unwrap());
        let status = owner.terminate().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    }
}
