//! A script that the worker starts itself: a process group that ends as a whole.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

use super::liveness::is_group_alive;

/// Delays between two polls of a group: no event reports the end of a process that is not a child.
const FIRST_DELAY: Duration = Duration::from_millis(5);
const MAX_DELAY: Duration = Duration::from_millis(100);

/// The process group of a script: its process and all descendants that do not leave the group.
/// Dropping it kills the whole group.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    /// Id of the first process. The system does not reuse it while a process of the group exists.
    id: Pid,
    is_over: bool,
}

impl Group {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = id_of(&child)?;
        Ok(Self { child, id, is_over: false })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the end of the first process. It is cancel safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Sends `SIGTERM` to the group, and `SIGKILL` if a process of it is alive after the grace.
    pub(super) async fn end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        if self.child.id().is_some() {
            self.send(Signal::TERM);
            let _ = timeout_at(deadline, self.child.wait()).await;
        }
        if is_group_alive(self.id) {
            // A process that a shell with a trap was just starting may have missed the first
            // signal.
            self.send(Signal::TERM);
        }
        let mut delay = FIRST_DELAY;
        while is_group_alive(self.id) {
            let now = Instant::now();
            if now >= deadline {
                self.send(Signal::KILL);
                break;
            }
            sleep(delay.min(deadline - now)).await;
            delay = MAX_DELAY.min(delay * 2);
        }
        // Reaps the first process. Its status does not matter any more.
        let _ = self.child.wait().await;
        self.is_over = true;
    }

    /// Signals every process of the group. An error means that the group is gone.
    fn send(&self, signal: Signal) {
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_over {
            self.send(Signal::KILL);
        }
    }
}

/// Returns the id of a process that was not reaped yet.
pub(super) fn id_of(child: &Child) -> io::Result<Pid> {
    let id = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
    id.ok_or_else(|| io::Error::other("the process has no id"))
}
