//! Process of a run, started by a launcher or by the worker itself.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout, Command};

use super::group::Group;
use super::launched::Launched;

/// A script and its descendants. Dropping it kills the whole process group.
#[derive(Debug)]
pub(super) enum Process {
    Group(Group),
    Launched(Launched),
}

impl Process {
    /// Takes the output streams of the script.
    pub(super) fn take_output(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        let child = match self {
            Self::Group(group) => group.child(),
            Self::Launched(launched) => launched.child(),
        };
        child.stdout.take().zip(child.stderr.take())
    }

    /// Waits until a launcher has started the script.
    pub(super) async fn started(&mut self) -> io::Result<()> {
        match self {
            Self::Group(_) => Ok(()),
            Self::Launched(launched) => launched.started().await,
        }
    }

    /// Waits for the end of the script itself, not of its descendants.
    ///
    /// # Cancel safety
    /// If the future is dropped, the method can be called again.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Group(group) => group.wait().await,
            Self::Launched(launched) => launched.wait().await,
        }
    }

    /// Ends all live processes of the run: `SIGTERM`, and `SIGKILL` after the grace.
    pub(super) async fn end(&mut self, grace: Duration) {
        match self {
            Self::Group(group) => group.end(grace).await,
            Self::Launched(launched) => launched.end(grace).await,
        }
    }
}

impl Process {
    /// Starts a program in its own process group.
    pub(super) fn start(command: Command) -> io::Result<Self> {
        Group::start(command).map(Self::Group)
    }

    /// Starts a launcher with the script as its arguments.
    pub(super) fn launch(command: Command) -> io::Result<Self> {
        Launched::start(command).map(Self::Launched)
    }
}
