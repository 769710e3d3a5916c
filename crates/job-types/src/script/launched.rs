//! A script that a launcher started: the worker's side of the channel to the launcher.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::group::id_of;
use super::launcher::Report;

/// Time limit for the launcher's report of the start. A program that is no launcher never reports.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for the end of a launcher after the order to kill the run.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// A launcher and its run. If this is dropped or the worker dies, the channel closes, and the
/// launcher kills the run.
#[derive(Debug)]
pub(super) struct Launched {
    child: Child,
    /// `None` after the order to kill.
    channel: Option<Lines<BufReader<UnixStream>>>,
    /// The process group of the script, once it is known.
    group: Option<Pid>,
}

impl Launched {
    pub(super) fn start(mut command: Command) -> io::Result<Self> {
        let (channel, of_launcher) = net::UnixStream::pair()?;
        channel.set_nonblocking(true)?;
        let channel = BufReader::new(UnixStream::from_std(channel)?).lines();
        // Its own process group keeps Ctrl-C at a terminal from the launcher.
        let command = command.process_group(0).stdin(Stdio::from(OwnedFd::from(of_launcher)));
        Ok(Self { child: command.spawn()?, channel: Some(channel), group: None })
    }

    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    pub(super) async fn started(&mut self) -> io::Result<()> {
        let late = |_| no_launcher(&format!("nothing within {START_LIMIT:?}"));
        timeout(START_LIMIT, self.reported_start()).await.map_err(late)?
    }

    async fn reported_start(&mut self) -> io::Result<()> {
        loop {
            match self.report().await? {
                Some(Report::Process(id)) => self.group = Pid::from_raw(id),
                Some(Report::Started) => return Ok(()),
                Some(Report::Failed(code)) => return Err(io::Error::from_raw_os_error(code)),
                Some(Report::Ended(_)) => return Err(no_launcher("an end without a start")),
                // The script may run although the launcher was killed before it has reported that.
                // `wait` then finds no launcher, and kills the script.
                None if self.group.is_some() => return Ok(()),
                None => return Err(no_launcher("nothing")),
            }
        }
    }

    /// Waits for the report of the end. If the launcher is gone, the script is killed, and the
    /// result is an error.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Ok(Some(Report::Ended(status))) = self.report().await {
            return Ok(ExitStatus::from_raw(status));
        }
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        Err(io::Error::other("the launcher was killed, and the script with it"))
    }

    /// Asks the launcher to end the run, and orders it to kill the run after the grace.
    pub(super) async fn end(&mut self, grace: Duration) {
        if let Ok(launcher) = id_of(&self.child) {
            let _ = kill_process(launcher, Signal::TERM);
        }
        if timeout(grace, self.child.wait()).await.is_err() {
            self.channel = None;
            // The launcher takes longer only if the system cannot kill a process.
            let _ = timeout(KILL_LIMIT, self.child.wait()).await;
        }
    }

    /// Returns the next report; `None` if the launcher is gone. It is cancel safe.
    async fn report(&mut self) -> io::Result<Option<Report>> {
        let Some(channel) = &mut self.channel else { return Ok(None) };
        let line = channel.next_line().await?;
        line.map(|line| Report::parse(&line).ok_or_else(|| no_launcher(&line))).transpose()
    }
}

fn no_launcher(found: &str) -> io::Error {
    io::Error::other(format!(
        "its launcher reported {found}; valid is a program that calls ScriptLauncher::serve"
    ))
}
