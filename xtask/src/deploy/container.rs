//! A process in an unpacked image: as the first process of a container, or as a probe of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::image::Image;
use crate::Error;
use crate::steps::line;

/// Time for each step, longer than any needs.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// Number of lines of the output that are kept until they are awaited.
const MAX_LINES: usize = 1000;

/// The first process of a container, with namespaces of its own except for the network.
pub(super) struct Container {
    line: String,
    child: Child,
    lines: Receiver<String>,
}

impl Container {
    pub(super) fn start(image: &Image, arguments: &[&str]) -> Result<Self, Error> {
        let mut command = in_image(image, &["--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(arguments).env("EJOB_REGISTRY", "sqlite:/data/registry.db");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let line = line(&command);
        println!("$ {line}");
        let child = command.spawn();
        let mut child = child.map_err(|source| Error::Start { line: line.clone(), source })?;
        let output = child.stdout.take().expect("the output is a pipe");
        let (sender, lines) = mpsc::sync_channel(MAX_LINES);
        thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|l| sender.send(l))
        });
        Ok(Self { line, child, lines })
    }

    /// Waits for a line of the output that begins with a text, and returns its rest.
    pub(super) fn line_that(&self, start: &str) -> Result<String, Error> {
        loop {
            let missing = |error| Error::Deploy(format!("no line `{start}…`: {error}"));
            let line = self.lines.recv_timeout(LIMIT).map_err(missing)?;
            println!("{line}");
            if let Some(rest) = line.strip_prefix(start) {
                return Ok(rest.to_owned());
            }
        }
    }

    /// Sends SIGTERM to the first process of the container, as its runtime does.
    pub(super) fn terminate(&self) -> Result<(), Error> {
        let outer = self.child.id();
        let path = format!("/proc/{outer}/task/{outer}/children");
        let children = fs::read_to_string(&path).map_err(Error::file("read", Path::new(&path)))?;
        let first = children.trim().parse().ok().and_then(Pid::from_raw);
        let first = first.ok_or_else(|| Error::Deploy(format!("no process: {children}")))?;
        kill_process(first, Signal::TERM)
            .map_err(|error| Error::Deploy(format!("cannot stop process {first:?}: {error}")))
    }

    /// Waits for the end of the output, which only the processes of the container hold open.
    pub(super) fn expect_exit(mut self, code: i32) -> Result<(), Error> {
        match self.lines.recv_timeout(LIMIT) {
            Err(RecvTimeoutError::Disconnected) => {}
            other => return Err(Error::Deploy(format!("`{}` goes on: {other:?}", self.line))),
        }
        let line = self.line.clone();
        match self.child.wait().map_err(|source| Error::Start { line: line.clone(), source })? {
            status if status.code() == Some(code) => Ok(()),
            status => Err(Error::Command { line, status }),
        }
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // Both have no effect after the end of the process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that runs the entry point of an image as its user, in these namespaces.
pub(super) fn in_image(image: &Image, namespaces: &[&str]) -> Command {
    let (user, group) = image.user.split_once(':').unwrap_or((&image.user, &image.user));
    let mut command = Command::new("/usr/bin/unshare");
    command.args(namespaces).arg(format!("--root={}", image.root.display()));
    command.args(["--setuid", user, "--setgid", group]).args(&image.entry_point).env_clear();
    command
}
