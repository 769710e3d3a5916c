//! One child process: started so that it cannot outlive us, signalled, reaped.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// How often a condition of another process is looked at; nobody sends us a signal for those.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A running child process. Dropping it kills and reaps it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` on a thread that lives as long as this process.
    ///
    /// A child that asked for a signal at its parent's death gets it at the death of the *thread*
    /// that started it. Tests start servers on threads that end with the test, while a server may
    /// be shared by all of them.
    pub(crate) fn spawn(command: Command) -> io::Result<Process> {
        let (reply, answer) = mpsc::channel();
        launcher().send(Launch { command, reply }).map_err(io::Error::other)?;
        let child = answer.recv().map_err(io::Error::other)??;
        Ok(Process { child })
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Stops all threads of the process and returns when they stand still.
    pub(crate) fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        // NOWAIT leaves the state to be collected by whoever reaps the process.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid()), options)? {
            Some(state) if state.stopped() => Ok(()),
            Some(_) | None => Err(io::Error::other("the process has ended")),
        }
    }

    pub(crate) fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Returns how the process ended, or `None` while it runs.
    pub(crate) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the process to end; returns whether it did so within `limit`.
    pub(crate) fn terminate(&mut self, limit: Duration) -> io::Result<bool> {
        self.signal(Signal::TERM)?;
        // A paused process gets the request only when it goes on.
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
        // Both fail only for a process that has ended and been reaped, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
    fn a_program_that_does_not_exist_is_an_error_and_the_next_still_starts() {
        let error = Process::spawn(Command::new("/no/such/program")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(sleeper().exit_status().unwrap(), None);
    }

    #[test]
    fn a_paused_process_still_terminates() {
        let mut process = sleeper();
        process.pause().unwrap();
        assert!(process.terminate(Duration::from_secs(30)).unwrap());
        assert!(process.exit_status().unwrap().is_some());
    }

    #[test]
    fn pausing_a_dead_process_is_an_error() {
        let mut process = sleeper();
        process.child.kill().unwrap();
        let error = process.pause().unwrap_err();
        assert_eq!(error.to_string(), "the process has ended");
        assert!(process.exit_status().unwrap().is_some(), "it is still there to be reaped");
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let process = sleeper();
        let pid = process.pid();
        drop(process);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
