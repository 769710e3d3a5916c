//! What happened, as data: one record per fact, one line of JSON per record.
//!
//! Each process writes its own file, whoever injects faults another, and the registry's log is a third kind; a
//! [`History`](crate::history) is all of them together. Times called `mt` are nanoseconds on one monotonic clock that
//! all processes of a run share (virtual in a simulation); `wt` is the wall clock of the process that wrote the record,
//! in milliseconds since 1970 UTC, and may be wrong on purpose.
//!
//! A record about an operation whose outcome nobody knows says so: `unknown` is an outcome, not a failure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the format that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// One fact, with who says so and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The process that says so: `a`, `b` …; `nemesis` for who injects faults, `registry` for the registry's own log.
    pub p: String,
    /// Which life of the process, from 0: it counts starts of the program, not sessions.
    #[serde(default)]
    pub inc: u32,
    /// Counts the records of one life of one process, from 0 and without gaps.
    pub seq: u64,
    /// Nanoseconds on the monotonic clock that the run shares.
    pub mt: u64,
    /// Milliseconds since 1970 UTC by the wall clock of the process.
    pub wt: i64,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ty", rename_all = "snake_case")]
pub enum Fact {
    /// The first record of `nemesis`: what kind of run this is.
    RunMeta {
        /// [`FORMAT`].
        v: u32,
        /// A name for the run.
        run: String,
        /// The seed that it can be repeated with, if there is one.
        seed: Option<u64>,
        /// `embedded` or `zookeeper`.
        backend: String,
        /// The timeout of sessions, in milliseconds.
        session_timeout_ms: u64,
        /// What the run must have reached to count, by the names of coverage rows, e.g. `failover: 1`.
        #[serde(default)]
        require: BTreeMap<String, u64>,
        /// Anything else, for people.
        #[serde(default)]
        params: BTreeMap<String, serde_json::Value>,
    },
    /// A process starts, takes part, begins to leave, has left, or ends.
    Process {
        /// Which of these.
        ev: ProcessEvent,
        /// The IP that operators know it by.
        server: String,
    },
    /// The process learns about its session. `instance` is the id of this life in the registry.
    Session {
        /// What it learns.
        ev: SessionEvent,
        /// Which session; the registry's log uses the same number.
        sid: i64,
        /// The instance id that it uses from now on, when connected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
    },
    /// A scheduled time came in this process.
    Fire {
        /// Which job.
        job: String,
        /// The scheduled time, milliseconds since 1970 UTC.
        fire: i64,
    },
    /// The product says that something happened: the name of the job event, and its text for people.
    Event {
        /// Which job.
        job: String,
        /// The kind, e.g. `claimed`, `settled`, `fenced`, `orphaned`, `resharded`, `became_leader`, `anomaly`.
        name: String,
        /// The event in words.
        text: String,
    },
    /// The product says that a fire is not run by this instance.
    Missed {
        /// Which job.
        job: String,
        /// Which item; `None` for all items of this instance.
        item: Option<u32>,
        /// Which fire.
        fire: i64,
        /// Why, in words.
        reason: String,
    },
    /// The product says that scheduled fires of an item were not run.
    Gap {
        /// Which job.
        job: String,
        /// The item.
        item: u32,
        /// The first of these fires.
        first: i64,
        /// The exclusive end.
        until: i64,
        /// Number of these fires, if the instance is certain that it missed all fires up to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
    /// The job's code begins or ends.
    Exec {
        /// Which of these.
        ev: ExecEvent,
        /// Which run.
        #[serde(flatten)]
        run: RunId,
        /// `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`.
        source: String,
        /// The version of the configuration that the code sees.
        cfg: u32,
        /// At the end: `ok`, `error`, `panic` or `cancelled`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// A run has told the outside resource that it begins, before it read or did anything. Only the resource writes
    /// these.
    Announced {
        /// Which run.
        #[serde(flatten)]
        run: RunId,
        /// Whether the resource lets it begin: it refuses tokens smaller than one that it has seen.
        accepted: bool,
        /// The resource's own order, from 0, over all its records.
        rseq: u64,
    },
    /// The outside resource was written to. Only the resource writes these.
    Effect {
        /// By which run.
        #[serde(flatten)]
        run: RunId,
        /// Whether the resource took it: it refuses tokens smaller than one that it has seen.
        accepted: bool,
        /// The resource's own order, from 0, over all its records.
        rseq: u64,
    },
    /// A callback that may happen once per cluster, fire and stage.
    Once {
        /// Which job.
        job: String,
        /// For which fire.
        fire: i64,
        /// `started` or `completed`.
        stage: String,
        /// Under which token.
        token: u64,
    },
    /// A fault, or the end of one. Every `begin` has an outcome.
    Nemesis {
        /// Whether the fault begins or ends; `point` for one without duration.
        ev: NemesisEvent,
        /// What kind, e.g. `crash`, `pause`, `partition`, `expire`, `lose_reply`, `registry_down`, `skew`.
        kind: String,
        /// Against whom: a process, or `registry`.
        target: String,
        /// What came of it.
        outcome: FaultOutcome,
        /// Details, for people; parameters such as `ms=30000`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// An operator did something: what, and what came of it.
    Operator {
        /// What, e.g. `config total=9`, `disable server 10.0.0.2`, `trigger`.
        what: String,
        /// What came of it.
        outcome: FaultOutcome,
    },
    /// The last fault is healed: promises about progress count from here.
    Healed,
    /// The history ends here in good order.
    End,
    /// A session was opened at the registry, for which process.
    SessionOpened {
        /// Which session.
        sid: i64,
        /// Whose; empty for the operator's and the harness's own.
        owner: String,
    },
    /// The registry committed a transaction. Only the registry's log has these, in the order of `zxid`.
    Reg {
        /// The registry's revision.
        zxid: i64,
        /// In which session.
        sid: i64,
        /// What was changed and checked, in order.
        ops: Vec<RegOp>,
    },
    /// The registry ended a session: closed by its owner, or expired.
    SessClose {
        /// The registry's revision; several sessions never share one.
        zxid: i64,
        /// Which session.
        sid: i64,
        /// The ephemeral nodes that went with it.
        ephemerals: Vec<String>,
    },
    /// What the registry keeps for a session while nothing is wrong, for whoever compares it with what it kept before.
    Held {
        /// Which session.
        sid: i64,
        /// How many watches, or feeds made of them, it is to be told changes through.
        feeds: u64,
    },
    /// The harness itself failed: the run is not acceptable, whatever else it shows.
    HarnessFailure {
        /// Where.
        at: String,
        /// What went wrong.
        error: String,
    },
}

/// A run of an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId {
    /// Which job.
    pub job: String,
    /// Which item.
    pub item: u32,
    /// Which fire, by its scheduled time.
    pub fire: i64,
    /// Under which fencing token; 0 without monitoring.
    pub token: u64,
}

/// What a process does in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEvent {
    /// The program has started.
    Start,
    /// Its job is registered with the scheduler.
    Ready,
    /// It was asked to leave in order.
    Drain,
    /// It has left in order; nothing runs.
    Left,
    /// It ends.
    Exit,
}

/// What a process learns about its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// It lives.
    Connected,
    /// The connection is gone.
    Suspended,
    /// It is over.
    Lost,
    /// The process has closed it.
    Closed,
}

/// Begin or end of the job's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// It begins.
    Start,
    /// It ends; a killed process writes none.
    End,
}

/// Begin or end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NemesisEvent {
    /// It begins.
    Begin,
    /// It ends.
    End,
    /// It happens at this moment and has no duration.
    Point,
}

/// What came of a fault or an operator's act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOutcome {
    /// It was done.
    Installed,
    /// It was not done, on purpose: there was nothing to hit.
    Skipped,
    /// Nobody knows.
    Indeterminate,
}

/// One operation of a committed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum RegOp {
    /// A node was created, at version 0.
    Create {
        /// Where, from the root of the namespace: `/report/ledger/0`.
        path: String,
        /// What it holds.
        data: String,
        /// Whether it goes with the session.
        ephemeral: bool,
    },
    /// A node's data was replaced.
    Set {
        /// Where.
        path: String,
        /// The version that it has now.
        ver: i32,
        /// What it holds now.
        data: String,
    },
    /// A node was deleted.
    Delete {
        /// Where.
        path: String,
    },
    /// A node was checked to exist, perhaps at a version.
    Check {
        /// Where.
        path: String,
        /// The version, if one was checked.
        ver: Option<i32>,
    },
}
