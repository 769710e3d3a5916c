//! A process in a group of its own, which ends as a whole.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

/// How often it is looked whether a group is gone: nothing tells of the end of a process that is nobody's child here.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process and everything that it starts, unless that leaves the group. Dropping it kills the whole group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Group,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
        Ok(Self { child, group: Group { id, over: false } })
    }

    pub(super) fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.child.stdout.take().zip(self.child.stderr.take())
    }

    /// Waits for the end of the process itself.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the whole group: asks it to, and kills what is left after the grace.
    pub(super) async fn end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        let mut in_time = true;
        if self.child.id().is_some() {
            self.group.send(Signal::TERM);
            // The group does not vanish before its first process is waited for.
            in_time = timeout(grace, self.child.wait()).await.is_ok();
        }
        // Once more for those who are left: who is just being started by a shell with a trap hears nothing.
        self.group.send(Signal::TERM);
        while in_time && self.group.is_there() && Instant::now() < deadline {
            sleep(LOOK_AGAIN).await;
        }
        if self.group.is_there() {
            self.group.send(Signal::KILL);
        }
        // It was told already, or has been killed; what it says is of no interest any more.
        let _ = self.child.wait().await;
        self.group.over = true;
    }
}

/// A process group. Its id is that of its first process, which nobody else gets as long as one of the group is there.
#[derive(Debug)]
struct Group {
    id: Pid,
    over: bool,
}

impl Group {
    /// A group that is gone needs no signal.
    fn send(&self, signal: Signal) {
        let _ = kill_process_group(self.id, signal);
    }

    fn is_there(&self) -> bool {
        test_kill_process_group(self.id).is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.over {
            self.send(Signal::KILL);
        }
    }
}
