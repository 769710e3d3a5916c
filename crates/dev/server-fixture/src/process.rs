//! One child process, which is killed with this process: start, signals, end.

use std::io;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Interval at which conditions of another process are polled, because no signal reports them.
pub const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running child process. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` on a thread that lives as long as this process.
    ///
    /// A child with a parent-death signal gets it when the *thread* that started it ends. Tests
    /// start servers on threads that end with the test, while all tests may share a server.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn spawn(command: Command) -> io::Result<Process> {
        let (reply, answer) = mpsc::channel();
        launcher().send(Launch { command, reply }).map_err(io::Error::other)?;
        let child = answer.recv().map_err(io::Error::other)??;
        Ok(Process { child })
    }

    /// Returns the standard output of a process that was started with a pipe.
    pub(crate) fn take_output(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Stops all threads of the process (SIGSTOP), and returns when they have stopped.
    ///
    /// # Errors
    /// The operating system's error, also for a process that has ended.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        // NOWAIT keeps the state for the later reaping of the process.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options)? {
            Some(state) if state.stopped() => Ok(()),
            Some(_) | None => Err(io::Error::other("the process has ended")),
        }
    }

    /// Resumes a paused process (SIGCONT).
    ///
    /// # Errors
    /// The operating system's error, also for a process that was reaped.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Returns the exit status of the process, or `None` while it runs.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends SIGTERM to the process. Returns whether it ended within `limit`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn terminate(&mut self, limit: Duration) -> io::Result<bool> {
        self.end(Signal::TERM, limit)
    }

    /// Sends SIGINT to the process. Returns whether it ended within `limit`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn interrupt(&mut self, limit: Duration) -> io::Result<bool> {
        self.end(Signal::INT, limit)
    }

    fn end(&mut self, signal: Signal, limit: Duration) -> io::Result<bool> {
        self.signal(signal)?;
        // A paused process handles the signal only after it is resumed.
        self.resume()?;
        let deadline = Instant::now() + limit;
        while self.exit_status()?.is_none() {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(true)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has already ended and been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command line that starts a program which the kernel kills with this process.
///
/// The kernel does so by the parent-death signal that `setpriv` of util-linux sets. `None` if
/// `setpriv` is missing.
#[must_use]
pub fn dying_with_parent() -> Option<Command> {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let arguments = ["--pdeathsig", "KILL"];
    let works = *WORKS.get_or_init(|| {
        let mut probe = Command::new("setpriv");
        probe.args(arguments).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    let mut command = Command::new("setpriv");
    command.args(arguments);
    works.then_some(command)
}

struct Launch {
    command: Command,
    reply: mpsc::Sender<io::Result<Child>>,
}

fn launcher() -> &'static mpsc::Sender<Launch> {
    static LAUNCHER: OnceLock<mpsc::Sender<Launch>> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        let (sender, launches) = mpsc::channel::<Launch>();
        thread::spawn(move || {
            for Launch { mut command, reply } in launches {
                // The caller waits for the reply; if its thread is gone, the child has no owner.
                if let Err(mpsc::SendError(Ok(mut orphan))) = reply.send(command.spawn()) {
                    let _ = orphan.kill();
                    let _ = orphan.wait();
                }
            }
        });
        sender
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Process {
        let mut command = Command::new("sleep");
        command.arg("600");
        Process::spawn(command).unwrap()
    }

    #[test]
    fn missing_program_is_an_error_and_the_next_program_still_starts() {
        let error = Process::spawn(Command::new("/no/such/program")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(sleeper().exit_status().unwrap(), None);
    }

    #[test]
    fn paused_process_can_be_terminated() {
        let mut process = sleeper();
        process.pause().unwrap();
        assert!(process.terminate(Duration::from_secs(30)).unwrap());
        assert!(process.exit_status().unwrap().is_some());
    }

    #[test]
    fn pausing_an_ended_process_is_an_error() {
        let mut process = sleeper();
        process.child.kill().unwrap();
        let error = process.pause().unwrap_err();
        assert_eq!(error.to_string(), "the process has ended");
        assert!(process.exit_status().unwrap().is_some(), "the process can still be reaped");
    }

    #[test]
    fn dropped_process_is_killed_and_reaped() {
        let process = sleeper();
        let pid = process.pid();
        drop(process);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
