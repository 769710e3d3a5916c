//! Format of a history: one record per fact, one line of JSON per record.
//!
//! Each process writes its own file. The fault injector and the registry's log have one file each.
//! A [`History`](crate::history) merges them.
//!
//! Times called `mt` are nanoseconds on one monotonic clock that all processes of a run share.
//! In a simulation this clock is virtual.
//! Times called `wt` are milliseconds since 1970 UTC by the wall clock of the process that wrote
//! the record.
//! A test may set that clock wrong on purpose.
//!
//! If the outcome of an operation is unknown, its record says so: unknown is an outcome, not a
//! failure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the format that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// The parameter of a run with the maximum number of runs at the same time in each process.
pub const MAX_CONCURRENCY: &str = "max_concurrency";

/// One fact, with its source and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Source of the record: a process `a`, `b` …, the fault injector `nemesis`, or the `registry`
    /// for its own log.
    pub p: String,
    /// Number of the process start, from 0. It counts starts of the program, not sessions.
    #[serde(default)]
    pub inc: u32,
    /// Number of the record within one start of one process, from 0 without gaps.
    pub seq: u64,
    /// Time in nanoseconds on the shared monotonic clock.
    pub mt: u64,
    /// Time in milliseconds since 1970 UTC by the wall clock of the process.
    pub wt: i64,
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
}

/// A fact of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ty", rename_all = "snake_case")]
pub enum Fact {
    /// Description of the run; the first record of `nemesis`.
    RunMeta {
        /// Version of the format, see [`FORMAT`].
        v: u32,
        /// Name of the run.
        run: String,
        /// Seed that repeats the run, if there is one.
        seed: Option<u64>,
        /// Registry of the run: `embedded` or `zookeeper`.
        backend: String,
        /// Session timeout, in milliseconds.
        session_timeout_ms: u64,
        /// Minimum counts of coverage rows by name, e.g. `failover: 1`. With less coverage the run
        /// does not count.
        #[serde(default)]
        require: BTreeMap<String, u64>,
        /// Further parameters, for people; the checker reads [`MAX_CONCURRENCY`].
        #[serde(default)]
        params: BTreeMap<String, serde_json::Value>,
    },
    /// A process starts, takes part, begins to leave, has left, or exits.
    Process {
        /// Kind of event.
        ev: ProcessEvent,
        /// IP address by which operators know the process.
        server: String,
    },
    /// The process learns about its session.
    Session {
        /// Kind of event.
        ev: SessionEvent,
        /// Session id; the registry's log uses the same number.
        sid: i64,
        /// Instance id that the process uses from now on; present if connected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
    },
    /// A scheduled fire time came in this process.
    Fire {
        /// Job name.
        job: String,
        /// Scheduled fire time in milliseconds since 1970 UTC.
        fire: i64,
    },
    /// The product emitted a job event.
    Event {
        /// Job name.
        job: String,
        /// Name of the event, e.g. `claimed`, `settled`, `fenced`, `orphaned`, `resharded`,
        /// `became_leader`, `anomaly`.
        name: String,
        /// Text of the event.
        text: String,
    },
    /// The product reported that this instance does not run a fire.
    Missed {
        /// Job name.
        job: String,
        /// Item; `None` for all items of this instance.
        item: Option<u32>,
        /// Scheduled fire time.
        fire: i64,
        /// Reason, as text.
        reason: String,
    },
    /// The product reported that scheduled fires of an item were not run.
    Gap {
        /// Job name.
        job: String,
        /// Item.
        item: u32,
        /// First of these fires.
        first: i64,
        /// Exclusive end of these fires.
        until: i64,
        /// Number of these fires, if the instance is certain that it missed all fires up to the
        /// end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
    /// The job's code begins or ends a run.
    Exec {
        /// Begin or end.
        ev: ExecEvent,
        /// The run.
        #[serde(flatten)]
        run: RunId,
        /// Source of the run: `NORMAL`, `MISFIRE`, `FAILOVER`, `MANUAL` or `BACKFILL`.
        source: String,
        /// Version of the configuration that the code sees.
        cfg: u32,
        /// Result at the end: `ok`, `error`, `panic` or `cancelled`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    /// A run announced itself to the external resource, before it read or wrote anything.
    ///
    /// Only the resource writes these records.
    Announced {
        /// The run.
        #[serde(flatten)]
        run: RunId,
        /// True if the resource lets the run begin. It rejects a token smaller than one that it has
        /// seen.
        accepted: bool,
        /// Number of the record in the resource's own order, from 0.
        rseq: u64,
    },
    /// A run wrote to the external resource. Only the resource writes these records.
    Effect {
        /// The run.
        #[serde(flatten)]
        run: RunId,
        /// True if the resource accepted the write. It rejects a token smaller than one that it has
        /// seen.
        accepted: bool,
        /// Number of the record in the resource's own order, from 0.
        rseq: u64,
    },
    /// A once-per-cluster callback was called, at most once per fire and stage.
    Once {
        /// Job name.
        job: String,
        /// Scheduled fire time.
        fire: i64,
        /// Stage: `started` or `completed`.
        stage: String,
        /// Fencing token.
        token: u64,
    },
    /// A fault begins or ends. Each `begin` has an outcome.
    Nemesis {
        /// Begin or end; `point` for a fault without duration.
        ev: NemesisEvent,
        /// Kind of fault, e.g. `crash`, `pause`, `partition`, `expire`, `lose_reply`,
        /// `registry_down`, `skew`.
        kind: String,
        /// Target of the fault: a process, or `registry`.
        target: String,
        /// Outcome of the injection.
        outcome: FaultOutcome,
        /// Details for people, and parameters such as `ms=30000`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// An operator action.
    Operator {
        /// The action, e.g. `config total=9`, `disable server 10.0.0.2`, `trigger`.
        what: String,
        /// Outcome of the action.
        outcome: FaultOutcome,
    },
    /// The last fault is healed: liveness promises are judged from here.
    Healed,
    /// The history is complete.
    End,
    /// The registry opened a session.
    SessionOpened {
        /// Session id.
        sid: i64,
        /// Process that owns the session; empty for sessions of operators and of the harness.
        owner: String,
    },
    /// The registry committed a transaction. Only the registry's log has these records, in the
    /// order of `zxid`.
    Reg {
        /// Revision of the registry.
        zxid: i64,
        /// Session that wrote.
        sid: i64,
        /// Changes and checks, in order.
        ops: Vec<RegOp>,
    },
    /// The registry ended a session: its owner closed it, or it expired.
    SessClose {
        /// Revision of the registry; two sessions never share one.
        zxid: i64,
        /// Session id.
        sid: i64,
        /// Paths of the ephemeral nodes that were removed with the session.
        ephemerals: Vec<String>,
    },
    /// Number of feeds that the registry holds for a session while no fault is active.
    ///
    /// The checker compares it with earlier counts, to find leaks.
    Held {
        /// Session id.
        sid: i64,
        /// Number of watches, or of feeds made of watches.
        feeds: u64,
    },
    /// The harness itself failed: the run does not count, whatever else it shows.
    HarnessFailure {
        /// Place of the failure.
        at: String,
        /// Error text.
        error: String,
    },
}

/// Identity of a run of an item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId {
    /// Job name.
    pub job: String,
    /// Item.
    pub item: u32,
    /// Number of the slot of the item; 0 unless runs of the item may run at the same time.
    #[serde(default, skip_serializing_if = "is_first_slot")]
    pub slot: u32,
    /// Scheduled fire time.
    pub fire: i64,
    /// Fencing token; 0 without monitoring.
    pub token: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_first_slot(slot: &u32) -> bool {
    *slot == 0
}

/// Kind of a process event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEvent {
    /// The program has started.
    Start,
    /// The job of the process is registered with the scheduler.
    Ready,
    /// The process was asked to leave in order.
    Drain,
    /// The process has left in order; no run is active.
    Left,
    /// The process exits.
    Exit,
}

/// Kind of a session event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session is connected.
    Connected,
    /// The connection is lost; the session may still exist.
    Suspended,
    /// The session has ended.
    Lost,
    /// The process has closed its session.
    Closed,
}

/// Begin or end of a run of the job's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecEvent {
    /// The code begins.
    Start,
    /// The code ends. A killed process writes no such record.
    End,
}

/// Begin or end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NemesisEvent {
    /// The fault begins.
    Begin,
    /// The fault ends.
    End,
    /// The fault happens at this moment and has no duration.
    Point,
}

/// Outcome of a fault injection or of an operator action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOutcome {
    /// It took effect.
    Installed,
    /// It was skipped on purpose, because there was no target.
    Skipped,
    /// It is not known whether it took effect.
    Indeterminate,
}

/// One operation of a committed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum RegOp {
    /// A node was created, at version 0.
    Create {
        /// Path from the root of the namespace, e.g. `/report/ledger/0`.
        path: String,
        /// Data of the node.
        data: String,
        /// True if the node is removed with its session.
        ephemeral: bool,
    },
    /// A node's data was replaced.
    Set {
        /// Path of the node.
        path: String,
        /// New version of the node.
        ver: i32,
        /// New data of the node.
        data: String,
    },
    /// A node was deleted.
    Delete {
        /// Path of the node.
        path: String,
    },
    /// A node was checked to exist, optionally at a version.
    Check {
        /// Path of the node.
        path: String,
        /// The checked version, if any.
        ver: Option<i32>,
    },
}
