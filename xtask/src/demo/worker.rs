//! Worker processes and their output, in the order of arrival.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::DemoError;
use super::protocol::Event;
use crate::Error;
use crate::steps::line;

const LOG_TAIL_LINES: usize = 30;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Output of the worker with this index.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) worker: usize,
    pub(super) output: Output,
}

/// A part of a worker's standard output.
#[derive(Debug)]
pub(super) enum Output {
    /// A complete line.
    Line(String),
    /// The end, because the process has closed it or has ended.
    Ended,
}

/// A worker process. Dropping it kills and reaps it.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) name: String,
    child: Child,
    log: PathBuf,
}

impl Worker {
    /// Starts `command` as the worker `name` with this index.
    ///
    /// Its standard output is sent to `messages`, and its log is written to a file in `folder`.
    pub(super) fn start(
        index: usize,
        name: String,
        mut command: Command,
        folder: &Path,
        messages: Sender<Message>,
    ) -> Result<Worker, Error> {
        let log = folder.join(format!("{name}.log"));
        let log_file = File::create(&log).map_err(Error::file("create", &log))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log_file);
        let line = line(&command);
        println!("$ {line}");
        let mut child = command.spawn().map_err(|source| Error::Start { line, source })?;
        let output = child.stdout.take().expect("the output is piped");
        thread::spawn(move || forward(index, output, &messages));
        Ok(Worker { name, child, log })
    }

    /// Kills the process at once, without a shutdown.
    pub(super) fn kill(&mut self) -> Result<(), Error> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed
            .map(drop)
            .map_err(|source| Error::Start { line: format!("kill -9 {}", self.name), source })
    }

    /// Sends SIGTERM to the process.
    pub(super) fn terminate(&self) -> Result<(), Error> {
        let sent = kill_process(Pid::from_child(&self.child), Signal::TERM);
        sent.map_err(|error| Error::Start {
            line: format!("kill -TERM {}", self.name),
            source: error.into(),
        })
    }

    /// Waits until the process has ended and requires exit code 0.
    pub(super) fn wait_for_success(&mut self, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.exit_status()? {
                break status;
            }
            if Instant::now() >= deadline {
                return Err(self.never_ended(limit).into());
            }
            thread::sleep(POLL_INTERVAL);
        };
        if !status.success() {
            let (worker, log_tail) = (self.name.clone(), self.log_tail());
            return Err(DemoError::WorkerFailed { worker, status, log_tail }.into());
        }
        Ok(())
    }

    /// Returns the error for a process that ended by itself.
    pub(super) fn ended_by_itself(&mut self) -> Result<DemoError, Error> {
        let status =
            self.child.wait().map_err(|source| Error::Start { line: self.name.clone(), source })?;
        Ok(DemoError::WorkerEnded { worker: self.name.clone(), status, log_tail: self.log_tail() })
    }

    /// Parses a line of this worker.
    pub(super) fn parse(&self, line: &str) -> Result<Event, DemoError> {
        Event::parse(line).map_err(|reason| DemoError::Protocol {
            worker: self.name.clone(),
            line: line.to_owned(),
            reason,
        })
    }

    fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(|source| Error::Start { line: self.name.clone(), source })
    }

    fn never_ended(&self, after: Duration) -> DemoError {
        DemoError::Deadline {
            awaited: format!("{} to end after SIGTERM", self.name),
            after,
            found: format!("the end of its log:\n{}", self.log_tail()),
        }
    }

    fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only for a process that has already ended and been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Forwards complete lines. The incomplete last line of a killed process is dropped.
fn forward(worker: usize, output: ChildStdout, messages: &Sender<Message>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|n_bytes| n_bytes > 0) {
        if line.last() == Some(&b'\n') {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            // The receiver is dropped at the end of the round.
            let _ = messages.send(Message { worker, output: Output::Line(text) });
        }
        line.clear();
    }
    let _ = messages.send(Message { worker, output: Output::Ended });
}
