//! One worker process: its orders, its events, its end.

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::log::{Entry, Log};
use super::{Failure, PATIENCE};
use crate::protocol::{Action, Fact, JobPlan, Order, Registry, WorkerEvent};

/// Number of lines of a worker's log that an error quotes.
const LOG_TAIL_LINES: usize = 25;

/// Implementation that a worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The released Java ElasticJob.
    Java,
    /// This project.
    Rust,
}

/// A worker process.
#[derive(Debug)]
pub(crate) struct Worker {
    name: Arc<str>,
    pub(crate) kind: Kind,
    pub(crate) ip: String,
    pid: Pid,
    input: Mutex<ChildStdin>,
    next_order: AtomicU64,
    log: Log,
    log_path: PathBuf,
    /// Exit status, set by the reader of its output.
    ended: Arc<Mutex<Option<ExitStatus>>>,
}

/// Parameters of a new worker.
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// The address of its host.
    pub(crate) ip: Ipv4Addr,
    /// Command of the program with its arguments. [`Worker::start`] sets the standard streams.
    pub(crate) command: Command,
    pub(crate) registry: Registry,
    pub(crate) folder: &'a Path,
    pub(crate) log: &'a Log,
}

impl Worker {
    /// Starts a process and sends it the registry's address, without waiting until it is ready.
    pub(crate) fn start(start: Start<'_>) -> Result<Self, Failure> {
        let Start { name, kind, ip, mut command, registry, folder, log } = start;
        let log_path = folder.join(format!("{name}.log"));
        let action = format!("start {name}");
        let own_log = fs::File::create(&log_path).map_err(Failure::system(action.clone()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(own_log);
        let mut child = command.spawn().map_err(Failure::system(action.clone()))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let worker = Self {
            name: name.into(),
            kind,
            ip: ip.to_string(),
            pid: pid.expect("a process id is a positive number of 32 bits"),
            input: Mutex::new(child.stdin.take().expect("the input is piped")),
            next_order: AtomicU64::new(1),
            log: log.clone(),
            log_path,
            ended: Arc::default(),
        };
        let (who, log, ended) = (Arc::clone(&worker.name), log.clone(), Arc::clone(&worker.ended));
        thread::spawn(move || read_output(&mut child, &who, &log, &ended));
        worker.write(&registry)?;
        Ok(worker)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    fn write(&self, line: &impl serde::Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string(line).map_err(Failure::unreadable)?;
        text.push('\n');
        self.input.lock().write_all(text.as_bytes()).map_err(|_| self.failed())
    }

    /// Returns an error with the exit status and the end of the worker's log.
    fn failed(&self) -> Failure {
        let status = self.ended.lock().map_or("no exit status yet".to_owned(), |s| s.to_string());
        Failure::Ended { worker: self.name.to_string(), status, log: self.log_tail() }
    }

    fn log_tail(&self) -> String {
        let text = fs::read_to_string(&self.log_path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.lock().is_some()
    }

    /// Waits for an event of this worker.
    async fn wait_for_event<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&WorkerEvent) -> Option<T>,
    ) -> Result<T, Failure> {
        let expected = format!("{what} from {}", self.name);
        let event = self.log.wait(PATIENCE, expected, |entries| {
            let mine = entries.iter().filter(|entry| entry.who == self.name);
            if let Some(value) = mine.rev().find_map(|entry| look(&entry.fact.event)) {
                return Ok(Some(value));
            }
            match self.has_ended() {
                true => Ok(None),
                false => Err("no such event".to_owned()),
            }
        });
        event.await?.ok_or_else(|| self.failed())
    }

    pub(crate) async fn ready(&self) -> Result<(), Failure> {
        self.wait_for_event("readiness", |event| matches!(event, WorkerEvent::Ready).then_some(()))
            .await
    }

    /// Sends an order and waits for the answer.
    pub(crate) async fn order(&self, action: Action) -> Result<Value, Failure> {
        let order = self.next_order.fetch_add(1, Ordering::Relaxed);
        let text = format!("{action:?}");
        self.write(&Order { order, action })?;
        let what = format!("an answer to {text}");
        let answer = self.wait_for_event(&what, |event| match event {
            WorkerEvent::Answer { order: n, value, error } if *n == order => {
                Some((value.clone(), error.clone()))
            }
            WorkerEvent::Answer { .. }
            | WorkerEvent::Begin(_)
            | WorkerEvent::End(_)
            | WorkerEvent::Ready
            | WorkerEvent::Complete { .. }
            | WorkerEvent::Event { .. }
            | WorkerEvent::Error { .. } => None,
        });
        match answer.await? {
            (value, None) => Ok(value),
            (_, Some(error)) => {
                Err(Failure::Refused { worker: self.name.to_string(), order: text, error })
            }
        }
    }

    /// Orders the worker to take part in a job, and returns the id of the instance.
    pub(crate) async fn schedule(&self, job: &JobPlan) -> Result<String, Failure> {
        let answer = self.order(Action::Schedule { job: job.clone() }).await?;
        answer.as_str().map(str::to_owned).ok_or_else(|| {
            Failure::unreadable("the answer to `schedule` is not the text of an instance id")
        })
    }

    /// Sets the duration of later runs, and the items whose runs do not end.
    pub(crate) async fn work(&self, job: &str, usual_ms: u64, hold: &[u32]) -> Result<(), Failure> {
        let hold = hold.to_vec();
        self.order(Action::Work { job: job.to_owned(), usual_ms, hold }).await.map(drop)
    }

    /// Requests a run of all items, as an application does.
    pub(crate) async fn trigger(&self, job: &str) -> Result<(), Failure> {
        self.order(Action::Trigger { job: job.to_owned() }).await.map(drop)
    }

    /// Calls the Java lifecycle API.
    pub(crate) async fn call(
        &self,
        call: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        self.order(Action::Call { call: call.to_owned(), arguments }).await
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let sent = kill_process(self.pid, signal).map_err(Into::into);
        sent.map_err(Failure::system(format!("signal {}", self.name)))
    }

    /// Kills the process by SIGKILL and waits for its end.
    pub(crate) async fn kill(&self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        self.end().await.map(drop)
    }

    /// Orders the worker to shut down, and waits for its end.
    pub(crate) async fn leave(&self) -> Result<(), Failure> {
        self.order(Action::Leave).await?;
        match self.end().await? {
            status if status.success() => Ok(()),
            _ => Err(self.failed()),
        }
    }

    async fn end(&self) -> Result<ExitStatus, Failure> {
        let expected = format!("the end of {}", self.name);
        let ended =
            |_: &[Entry]| self.ended.lock().ok_or_else(|| "the process still runs".to_owned());
        self.log.wait(PATIENCE, expected, ended).await
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.has_ended() {
            // The process may have ended in between.
            let _ = self.signal(Signal::KILL);
        }
    }
}

/// Adds all events of a worker to the log until the worker has ended.
fn read_output(child: &mut Child, who: &Arc<str>, log: &Log, ended: &Mutex<Option<ExitStatus>>) {
    let output = child.stdout.take().expect("the output is piped");
    let mut output = BufReader::new(output);
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|length| length > 0) {
        let is_whole = line.ends_with('\n');
        let fact = serde_json::from_str(&line).or_else(|error| match is_whole {
            true => Ok(Fact {
                at: 0,
                event: WorkerEvent::Error { text: format!("wrote {line:?}: {error}") },
            }),
            // The worker was killed before it had written the whole line.
            false => Err(error),
        });
        if let Ok(fact) = fact {
            log.add(Entry { who: Arc::clone(who), fact });
        }
        line.clear();
    }
    // No other code waits for the process, so that an error would mean that it does not exist.
    let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(-1));
    *ended.lock() = Some(status);
    log.touch();
}
