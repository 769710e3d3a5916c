//! One worker process: what it is told, what it says, how it ends.

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
use crate::protocol::{Act, Fact, JobPlan, Order, Registry, Said};

/// How much of a worker's own log an error quotes.
const LOG_TAIL_LINES: usize = 25;

/// What a worker is made of.
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
    /// How it ended, once the reader of its output has found out.
    ended: Arc<Mutex<Option<ExitStatus>>>,
}

/// What is needed to start a worker.
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    /// The address of its host.
    pub(crate) ip: Ipv4Addr,
    /// Runs the program with the arguments that it needs; standard streams are set here.
    pub(crate) command: Command,
    pub(crate) registry: Registry,
    pub(crate) folder: &'a Path,
    pub(crate) log: &'a Log,
}

impl Worker {
    /// Starts a process and says where the registry is. It is not ready yet.
    pub(crate) fn start(start: Start<'_>) -> Result<Self, Failure> {
        let Start { name, kind, ip, mut command, registry, folder, log } = start;
        let log_path = folder.join(format!("{name}.log"));
        let act = format!("start {name}");
        let own_log = fs::File::create(&log_path).map_err(Failure::system(act.clone()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(own_log);
        let mut child = command.spawn().map_err(Failure::system(act.clone()))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let worker = Self {
            name: name.into(),
            kind,
            ip: ip.to_string(),
            pid: pid.expect("a process id is a positive number of 32 bits"),
            input: Mutex::new(child.stdin.take().expect("its input was asked for")),
            next_order: AtomicU64::new(1),
            log: log.clone(),
            log_path,
            ended: Arc::default(),
        };
        let (who, log, ended) = (Arc::clone(&worker.name), log.clone(), Arc::clone(&worker.ended));
        thread::spawn(move || listen(&mut child, &who, &log, &ended));
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

    /// Words how the process ended.
    fn failed(&self) -> Failure {
        let status = self.ended.lock().map_or("no status yet".to_owned(), |s| s.to_string());
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

    /// Waits for something that only this worker says.
    async fn hear<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Said) -> Option<T>,
    ) -> Result<T, Failure> {
        let expected = format!("{what} from {}", self.name);
        let heard = self.log.wait(PATIENCE, expected, |entries| {
            let mine = entries.iter().filter(|entry| entry.who == self.name);
            if let Some(value) = mine.rev().find_map(|entry| look(&entry.fact.ev)) {
                return Ok(Some(value));
            }
            match self.has_ended() {
                true => Ok(None),
                false => Err("nothing".to_owned()),
            }
        });
        heard.await?.ok_or_else(|| self.failed())
    }

    pub(crate) async fn ready(&self) -> Result<(), Failure> {
        self.hear("readiness", |said| matches!(said, Said::Ready).then_some(())).await
    }

    /// Gives an order and waits for the answer.
    pub(crate) async fn tell(&self, act: Act) -> Result<Value, Failure> {
        let order = self.next_order.fetch_add(1, Ordering::Relaxed);
        let text = format!("{act:?}");
        self.write(&Order { order, act })?;
        let what = format!("an answer to {text}");
        let answer = self.hear(&what, |said| match said {
            Said::Answer { order: n, value, error } if *n == order => {
                Some((value.clone(), error.clone()))
            }
            Said::Answer { .. }
            | Said::Begin(_)
            | Said::End(_)
            | Said::Ready
            | Said::Complete { .. }
            | Said::Event { .. }
            | Said::Error { .. } => None,
        });
        match answer.await? {
            (value, None) => Ok(value),
            (_, Some(error)) => {
                Err(Failure::Refused { worker: self.name.to_string(), order: text, error })
            }
        }
    }

    /// Lets the worker take part in a job and returns the id of the instance.
    pub(crate) async fn schedule(&self, job: &JobPlan) -> Result<String, Failure> {
        let answer = self.tell(Act::Schedule { job: job.clone() }).await?;
        answer.as_str().map(str::to_owned).ok_or_else(|| Failure::unreadable("an id is a text"))
    }

    pub(crate) async fn work(&self, job: &str, usual_ms: u64, hold: &[u32]) -> Result<(), Failure> {
        let hold = hold.to_vec();
        self.tell(Act::Work { job: job.to_owned(), usual_ms, hold }).await.map(drop)
    }

    /// Asks for a run of all items as an application can.
    pub(crate) async fn trigger(&self, job: &str) -> Result<(), Failure> {
        self.tell(Act::Trigger { job: job.to_owned() }).await.map(drop)
    }

    /// Calls the Java lifecycle API.
    pub(crate) async fn call(
        &self,
        call: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        self.tell(Act::Call { call: call.to_owned(), arguments }).await
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let sent = kill_process(self.pid, signal).map_err(Into::into);
        sent.map_err(Failure::system(format!("signal {}", self.name)))
    }

    /// Kills it by SIGKILL and waits for its end.
    pub(crate) async fn kill(&self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        self.end().await.map(drop)
    }

    /// Lets it leave in order, and waits for its end.
    pub(crate) async fn leave(&self) -> Result<(), Failure> {
        self.tell(Act::Leave).await?;
        match self.end().await? {
            status if status.success() => Ok(()),
            _ => Err(self.failed()),
        }
    }

    async fn end(&self) -> Result<ExitStatus, Failure> {
        let expected = format!("the end of {}", self.name);
        let ended = |_: &[Entry]| self.ended.lock().ok_or_else(|| "it goes on".to_owned());
        self.log.wait(PATIENCE, expected, ended).await
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.has_ended() {
            // It may have ended just now.
            let _ = self.signal(Signal::KILL);
        }
    }
}

/// Hears everything that a worker says until it has ended.
fn listen(child: &mut Child, who: &Arc<str>, log: &Log, ended: &Mutex<Option<ExitStatus>>) {
    let output = child.stdout.take().expect("its output was asked for");
    let mut output = BufReader::new(output);
    let mut line = String::new();
    while output.read_line(&mut line).is_ok_and(|length| length > 0) {
        let is_whole = line.ends_with('\n');
        let fact = serde_json::from_str(&line).or_else(|error| match is_whole {
            true => Ok(Fact { at: 0, ev: Said::Error { text: format!("said {line:?}: {error}") } }),
            // It was killed before it had said all of it.
            false => Err(error),
        });
        if let Ok(fact) = fact {
            log.add(Entry { who: Arc::clone(who), fact });
        }
        line.clear();
    }
    // It is waited for here alone; an error would mean that there is no such process.
    let status = child.wait().unwrap_or_else(|_| ExitStatus::from_raw(-1));
    *ended.lock() = Some(status);
    log.touch();
}
