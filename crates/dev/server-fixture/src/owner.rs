//! Checks that a server ends with the process that owns it, for the tests of the fixtures.

use std::io::{self, BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Process;

/// Longest wait for the end of a program or of its server.
const LIMIT: Duration = Duration::from_secs(60);

/// Checks that the server of a program ends when the program is killed. The program starts a server
/// and prints its address, alone or in a URL.
///
/// # Panics
/// If the server accepts connections for longer than 60 s, or if the program cannot be started.
pub fn ends_when_its_owner_is_killed(program: &str) {
    let owner = Owner::start(program).expect("the program starts a server");
    let address = owner.address();
    TcpStream::connect(address).expect("the server listens");
    owner.kill();
    assert!(stops_listening(address), "{address}");
}

/// Checks that SIGTERM and SIGINT each stop the server of a program, then the program. Without a
/// terminal, as in the background of a script, the end of the standard input has no effect.
///
/// # Panics
/// If the program or its server runs for longer than 60 s, or if the program cannot be started.
pub fn ends_before_its_owner(program: &str) {
    for end in [Owner::terminate, Owner::interrupt] {
        let mut owner = Owner::start(program).expect("the program starts a server");
        let address = owner.address();
        assert!(owner.is_running().expect("its state can be read"));
        TcpStream::connect(address).expect("the server listens");
        assert!(end(owner).expect("it ends").success());
        let listens = TcpStream::connect(address).is_ok();
        assert!(!listens, "{address}: the server ends before its owner");
    }
}

/// A program that starts a server and prints its address. Dropping it kills it.
#[derive(Debug)]
struct Owner {
    process: Process,
    line: String,
    // Open as long as the program, which could not write to a closed output.
    output: BufReader<ChildStdout>,
}

impl Owner {
    /// Starts a program, and waits for its first line. It is an `UnexpectedEof` if the program ends
    /// without one.
    fn start(program: &str) -> io::Result<Owner> {
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

    /// Returns the address in the first line.
    fn address(&self) -> SocketAddr {
        let parts = self.line.trim_end().split(['@', '/']);
        parts.filter_map(|part| part.parse().ok()).next().expect("the line has an address")
    }

    fn is_running(&mut self) -> io::Result<bool> {
        Ok(self.process.exit_status()?.is_none())
    }

    /// Kills the program (SIGKILL), and waits for its end.
    fn kill(self) {
        drop(self);
    }

    fn terminate(self) -> io::Result<ExitStatus> {
        self.end(Process::terminate)
    }

    fn interrupt(self) -> io::Result<ExitStatus> {
        self.end(Process::interrupt)
    }

    /// Sends a signal to the program, and waits for its end. It is a `TimedOut` if it runs on.
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
        assert_eq!(owner.line, "y\n");
        assert!(owner.is_running().unwrap());
        let status = owner.terminate().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    }
}
