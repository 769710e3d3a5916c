//! Evidence of a run: the input of the judge, stored as one JSON file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// All facts of a run. Times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The seed that the plan was drawn from.
    pub seed: u64,
    /// The first instant whose fires are judged.
    pub first_ms: i64,
    /// The last instant whose fires are judged.
    pub last_ms: i64,
    /// The jobs with the history of their configurations.
    pub jobs: Vec<JobFacts>,
    /// The lines that the scripts wrote.
    pub lines: Vec<Line>,
    /// The fires in the histories of all workers.
    pub rows: Vec<FireRow>,
    /// The events in the histories of all workers.
    pub events: Vec<EventRow>,
    /// The faults that took place.
    pub faults: Vec<Fault>,
    /// Broken promises that the harness itself observed, such as a panic of a worker.
    pub incidents: Vec<String>,
}

/// A job and the configurations that it had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobFacts {
    /// The name of the job.
    pub name: String,
    /// True if the job is monitored. Fires of a job without monitoring are counted, not judged.
    pub monitored: bool,
    /// True if failover is on: another instance takes over the runs of a lost one.
    pub failover: bool,
    /// The configurations in the order in which they took effect; at least one.
    pub configs: Vec<ConfigSpan>,
}

/// A configuration. It is certainly in force from `settled_ms` until the next one's `from_ms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigSpan {
    /// The earliest instant at which it can have taken effect: the start of the command.
    pub from_ms: i64,
    /// The instant from which on it was in force at every instance.
    pub settled_ms: i64,
    /// The cron expression, in UTC.
    pub cron: String,
    /// The number of items.
    pub total: u32,
}

/// Begin or end of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The script has started.
    Begin,
    /// The script is about to end by itself.
    End,
}

/// A line that a script wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Begin or end.
    pub phase: Phase,
    /// The time by the script's clock.
    pub at_ms: i64,
    /// The process id of the script.
    pub pid: u32,
    /// The name of the job.
    pub job: String,
    /// The item.
    pub item: u32,
    /// The scheduled fire time.
    pub fire_ms: i64,
    /// The fencing token; 0 without monitoring.
    pub token: u64,
    /// `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`.
    pub source: String,
    /// The instance that started the script.
    pub instance: String,
}

/// A fire of an item in the history of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FireRow {
    /// The server IP of the worker whose history has the row.
    pub worker: String,
    /// The name of the job.
    pub job: String,
    /// The item.
    pub item: u32,
    /// The scheduled fire time.
    pub fire_ms: i64,
    /// The outcome, a word of `job_history::FireOutcome`.
    pub outcome: String,
    /// The reason why the fire did not run, or the failure of its run.
    pub reason: Option<String>,
    /// The source of its last run: `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`.
    pub source: Option<String>,
    /// The token of its last run.
    pub token: Option<u64>,
    /// The instance of its last run.
    pub instance: Option<String>,
    /// The start of its last run, by the clock of that instance.
    #[serde(default)]
    pub began_ms: Option<i64>,
    /// The exclusive end of a gap that begins with this fire.
    pub gap_until_ms: Option<i64>,
}

/// An event in the history of one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// The server IP of the worker whose history has the row.
    pub worker: String,
    /// The time by the clock of the instance.
    pub at_ms: i64,
    /// The name of the job.
    pub job: String,
    /// The instance that wrote it.
    pub instance: Option<String>,
    /// The kind, such as `missed`.
    pub kind: String,
    /// The item; `None` if the event concerns all items of the instance.
    pub item: Option<u32>,
    /// The scheduled fire time, if the event concerns a fire.
    pub fire_ms: Option<i64>,
    /// The event as a sentence.
    pub text: String,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// SIGKILL of a worker, until its next start.
    Kill,
    /// SIGSTOP of a worker, until SIGCONT.
    Stop,
    /// SIGTERM of a worker, until its next start.
    Terminate,
    /// The worker ended because the registry was unreachable at its start, until its next start.
    Ended,
    /// SIGKILL of one ZooKeeper server, until it serves again.
    ServerDown,
    /// SIGKILL of all ZooKeeper servers, until they serve again.
    Outage,
    /// A command of an operator, until its end.
    Command,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kill => "SIGKILL",
            Self::Stop => "SIGSTOP",
            Self::Terminate => "SIGTERM",
            Self::Ended => "worker ended",
            Self::ServerDown => "ZooKeeper server down",
            Self::Outage => "ZooKeeper outage",
            Self::Command => "command",
        })
    }
}

/// A fault with its begin and end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The server IP of the worker, the number of the ZooKeeper server, or the command line with
    /// its exit code.
    pub target: String,
    /// The begin.
    pub from_ms: i64,
    /// The end.
    pub until_ms: i64,
}
