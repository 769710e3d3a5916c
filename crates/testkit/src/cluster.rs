//! Actions that a scenario performs on a cluster, simulated or real.

use std::time::Duration;

use async_trait::async_trait;
use checker::history::Record;
use coordination::{
    Backfill, BackfillCancel, BackfillLog, CancelRequest, FireTime, GroupLimits, GroupName, Layout,
    OperatorStep, UnknownFields, decode_backfills, decode_ledger,
};
use lite::{JobConfig, ShardingItem};
use reg_center::{Node, Txn, Version};

/// A cluster that scenarios act on. Its processes are named `a`, `b` …; they all run one job.
///
/// The simulated cluster runs in virtual time. The real one runs worker processes against an
/// ensemble of three ZooKeeper servers. A scenario never sleeps to assert: it waits for a predicate
/// over the history, and the checker judges the timing.
#[async_trait]
pub trait Cluster: Send {
    /// Returns the period of the job's schedule: 10 s simulated, 2 s real. Scenarios measure in
    /// periods.
    fn period(&self) -> Duration;

    /// Returns the session timeout of this backend.
    fn session_timeout(&self) -> Duration;

    /// Returns the schedule that fires once a period, as a Quartz expression.
    fn cron(&self) -> String;

    /// Stores the configuration of the job. Call it once per cluster, before the first process
    /// starts.
    async fn create_job(&mut self, config: JobConfig) -> Result<(), ClusterError>;

    /// Starts a process, or starts a process again that has ended.
    async fn spawn(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError>;

    /// Sends SIGKILL: no destructor runs, and the session stays until it expires.
    async fn kill(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Sends SIGSTOP.
    async fn pause(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Sends SIGCONT.
    async fn resume(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Begins a graceful shutdown with a deadline long enough to drain. Does not wait for its end.
    async fn close(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Changes the behaviour of the connection between a process and the registry.
    async fn link(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError>;

    /// Ends the session of a process on the registry's side.
    async fn expire(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Sets the difference between the wall clock of a process and the true time, in milliseconds;
    /// 0 heals.
    async fn skew(&mut self, name: &str, ms: i64) -> Result<(), ClusterError>;

    /// Arms an action that hits a process at a given point of its future registry writes.
    async fn inject(&mut self, name: &str, at: Point, action: Action) -> Result<(), ClusterError>;

    /// Applies an event to the registry.
    async fn registry(&mut self, event: RegEvent) -> Result<(), ClusterError>;

    /// Performs an operator action.
    async fn admin(&mut self, op: AdminOp) -> Result<(), ClusterError>;

    /// Waits until the predicate holds over all records so far, in the order in which they became
    /// known.
    ///
    /// # Errors
    /// [`ClusterError::Timeout`] with `what`, if the predicate does not hold within `max_periods`.
    async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: &(dyn for<'a> Fn(&'a [Record]) -> bool + Sync),
    ) -> Result<(), ClusterError>;

    /// Lets time pass, for scenarios that depend on durations. It asserts nothing.
    async fn elapse(&mut self, time: Duration);

    /// Heals every fault that is still in force and records
    /// [`Healed`](checker::history::Fact::Healed).
    async fn heal(&mut self) -> Result<(), ClusterError>;

    /// Ends all processes and returns the complete history, including the registry's log, for the
    /// checker.
    async fn finish(self: Box<Self>) -> Result<Vec<Record>, ClusterError>;
}

/// Options for the start of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct InstOpts {
    /// IP address that the process uses; processes of one host share it.
    pub server: String,
    /// Behaviour of the job's code.
    pub work: Work,
    /// Fixed instance name instead of a random one, as for two starts of a container with the same
    /// pid.
    pub life: Option<String>,
    /// Zone of the process, for the placement of items.
    pub zone: Option<String>,
}

impl InstOpts {
    /// Creates the options of a process with a random instance name and without a zone.
    #[must_use]
    pub fn new(server: &str, work: Work) -> Self {
        Self { server: server.to_owned(), work, life: None, zone: None }
    }
}

/// Behaviour of an item's code: it announces itself to the external resource, works, writes its
/// effect and ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Duration of the work, in periods.
    pub periods: f64,
    /// Items with a duration of their own, in periods.
    pub slow: Vec<(u32, f64)>,
    /// Items that return an error.
    pub fail: Vec<u32>,
    /// Items that panic.
    pub panic: Vec<u32>,
    /// Items that never end unless they are cancelled.
    pub hang: Vec<u32>,
    /// Items whose code cannot be cancelled, because it blocks a thread. It writes its effect even
    /// if the run was cancelled, and it neither fails nor panics. A simulation has no threads:
    /// there, the code is a task of its own.
    pub block: Vec<u32>,
}

/// Behaviour of the connection between a process and the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMode {
    /// Forward everything.
    Pass,
    /// Drop requests; messages from the registry still arrive.
    DropRequests,
    /// Deliver requests; drop replies and notifications.
    DropReplies,
    /// Drop everything in both directions.
    Black,
    /// Reset the connection once; the process can connect again.
    Reset,
    /// Delay every message by this time, in each direction.
    Delay(Duration),
}

/// A point in the sequence of registry writes of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Name of the duty whose writes count (`claim`, `release`, `resharding`, `sweep`, `takeover`,
    /// `misfire`, `membership`, `election` …); `None` counts all writes.
    pub duty: Option<String>,
    /// Number of matching writes to skip before the action happens.
    pub nth: u32,
    /// Side of the write: before it is sent, or after its execution and before the reply is seen.
    pub when: When,
}

/// Side of a write at which an action happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the process sends the write.
    Before,
    /// After the registry has executed the write, before the process sees the reply.
    After,
}

/// Action at a [`Point`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Kill the process.
    Kill,
    /// Stop the process; [`Cluster::resume`] continues it.
    Pause,
    /// End the session on the registry's side.
    Expire,
    /// Lose the request (`Before`) or its reply (`After`). The process does not learn the outcome.
    Lose,
    /// Delay the write, or its reply, by this time.
    Delay(Duration),
}

/// Event that concerns the registry as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegEvent {
    /// Kill the leading server and start it again; sessions survive. The registry in memory stops
    /// answering for a moment.
    KillLeader,
    /// Stop the leading server for this time.
    StopLeader(Duration),
    /// Take all servers down for this time. Sessions and their nodes survive, and sessions expire
    /// afterwards unless their processes return.
    RestartAll(Duration),
    /// Let the views of all processes lag by this time; zero heals.
    Lag(Duration),
}

/// Operator action.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminOp {
    /// Replace the stored configuration.
    Configure(Box<JobConfig>),
    /// Replace the stored configuration by this text, which need not be valid.
    Poison(String),
    /// Disable a server, or enable it again.
    Server {
        /// IP address of the server.
        ip: String,
        /// True disables, false enables.
        disabled: bool,
    },
    /// Disable an item, or enable it again.
    Item {
        /// Number of the item, from 0.
        item: u32,
        /// True disables, false enables.
        disabled: bool,
    },
    /// Pause a server, or resume it. Instances of a paused server keep their items and start
    /// nothing.
    Pause {
        /// IP address of the server.
        ip: String,
        /// True pauses, false resumes.
        paused: bool,
    },
    /// Request a run of all items now.
    Trigger,
    /// Request the cancellation of the unfinished run that an item's record shows.
    Cancel {
        /// Number of the item, from 0.
        item: u32,
    },
    /// Request a backfill of the last seconds, unless one has not ended.
    Backfill {
        /// Number of past fires, one a second.
        fires: usize,
        /// Number of items, from the first on.
        items: u32,
        /// Number of fires that may be in progress at once.
        concurrency: usize,
    },
    /// Request the cancellation of the backfill that has not ended.
    CancelBackfill,
    /// Store the limits of a group of jobs.
    Group {
        /// Name of the group.
        group: GroupName,
        /// New limits.
        limits: GroupLimits,
    },
    /// Delete the instance node of a process, as the console of ElasticJob does to shut it down.
    RemoveInstance(String),
    /// Delete the leader node.
    RemoveLeader,
}

const MS_PER_SECOND: i64 = 1_000;

/// Reads the log of backfills; `None` if it is not readable.
fn backfill_log(node: Option<&Node>) -> Option<(Option<Version>, BackfillLog)> {
    let Some(node) = node else { return Some((None, BackfillLog::default())) };
    Some((Some(node.stat.version), decode_backfills(&node.data).ok()?))
}

impl AdminOp {
    /// Returns the write that requests the cancellation of an item's run; `None` if its record
    /// shows no unfinished run, or one with a request.
    ///
    /// `at_ms` is the operator's clock, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn cancel_txn(layout: &Layout, item: u32, record: &Node, at_ms: i64) -> Option<Txn> {
        let ledger = decode_ledger(&record.data).ok()?;
        let request = CancelRequest::new(ledger.token, "operator", "scenario", at_ms)?;
        let step = OperatorStep::RequestCancel {
            item: ShardingItem::new(item),
            ledger: Box::new(ledger.with_cancel_request(request)?),
            version: record.stat.version,
        };
        Some(layout.change(&[step]))
    }

    /// Returns the write that requests a backfill of the seconds before `at_ms`; `None` if the log
    /// is not readable, or a backfill has not ended.
    ///
    /// `at_ms` is the operator's clock, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn backfill_txn(
        layout: &Layout,
        log: Option<&Node>,
        (fires, items, concurrency): (usize, u32, usize),
        at_ms: i64,
    ) -> Option<Txn> {
        let (expect, mut log) = backfill_log(log)?;
        if log.open().is_some() {
            return None;
        }
        let n = i64::try_from(fires).ok()?;
        let until_ms = at_ms - at_ms.rem_euclid(MS_PER_SECOND);
        let from_ms = until_ms - n * MS_PER_SECOND;
        log.push(Backfill {
            id: format!("backfill-{at_ms}").into(),
            by: "operator".to_owned(),
            why: "scenario".to_owned(),
            at: FireTime::of_request(at_ms),
            from_ms,
            until_ms,
            fires: (0..n).map(|n| FireTime(from_ms + n * MS_PER_SECOND)).collect(),
            total: fires,
            items: (0..items).map(ShardingItem::new).collect(),
            concurrency,
            done: 0,
            cancel: None,
            ended_ms: None,
            unknown: UnknownFields::default(),
        });
        Some(layout.change(&[OperatorStep::SetBackfills { log, expect }]))
    }

    /// Returns the write that cancels the backfill that has not ended; `None` if there is none, or
    /// it is cancelled.
    #[must_use]
    pub fn cancel_backfill_txn(layout: &Layout, log: Option<&Node>, at_ms: i64) -> Option<Txn> {
        let (expect, log) = backfill_log(log)?;
        let open = log.open().filter(|open| open.is_in_progress())?;
        let (by, why) = ("operator".to_owned(), "scenario".to_owned());
        let cancel = Some(BackfillCancel { by, why, at_ms });
        let log = log.with(&Backfill { cancel, ..open.clone() });
        Some(layout.change(&[OperatorStep::SetBackfills { log, expect }]))
    }
}

/// Error of the cluster or of the test that drives it. The product under test did not fail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The predicate did not hold in time.
    #[error("{what}: not reached within {max_periods} periods")]
    Timeout {
        /// Name of the awaited condition.
        what: String,
        /// Limit, in periods.
        max_periods: u32,
    },
    /// There is no process of this name, or its state does not permit the call.
    #[error("{act}: {name} {reason}")]
    Process {
        /// Attempted call.
        act: &'static str,
        /// Name of the process.
        name: String,
        /// State that does not permit the call.
        reason: String,
    },
    /// A resource outside of the product failed, such as a process or a server.
    #[error("{act} failed")]
    Harness {
        /// Attempted call.
        act: String,
        /// Cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
