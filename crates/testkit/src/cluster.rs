//! What a scenario can do to a cluster, simulated or real.

use std::time::Duration;

use async_trait::async_trait;
use checker::history::Record;
use lite::JobConfig;

/// A cluster that scenarios act on. Processes are named `a`, `b` …; the job under test is the one of the scenario.
///
/// The simulated cluster runs in virtual time; the real one runs worker processes against a three-node ensemble. A
/// scenario never sleeps to assert: it waits for a predicate over the history, and the checker decides about timing.
#[async_trait]
pub trait Cluster: Send {
    /// The period of the job's schedule in this backend: 10 s simulated, 2 s real. Scenarios measure in it.
    fn period(&self) -> Duration;

    /// The timeout of sessions in this backend.
    fn session_timeout(&self) -> Duration;

    /// The schedule that fires once a period, as a Quartz expression.
    fn cron(&self) -> String;

    /// Makes the job known with this configuration before the first process starts. Once per cluster.
    async fn create_job(&mut self, config: JobConfig) -> Result<(), ClusterError>;

    /// Starts a process, or starts a new life of one that has ended.
    async fn spawn(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError>;

    /// SIGKILL: no destructor runs, the session stays until it expires.
    async fn kill(&mut self, name: &str) -> Result<(), ClusterError>;

    /// SIGSTOP.
    async fn pause(&mut self, name: &str) -> Result<(), ClusterError>;

    /// SIGCONT.
    async fn resume(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Begins a graceful shutdown with a deadline long enough to drain; does not wait for its end.
    async fn close(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Changes what the connection between a process and the registry does.
    async fn link(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError>;

    /// Ends the session of a process on the registry's side.
    async fn expire(&mut self, name: &str) -> Result<(), ClusterError>;

    /// Shifts the wall clock of a process by so many milliseconds from the true time; 0 heals.
    async fn skew(&mut self, name: &str, ms: i64) -> Result<(), ClusterError>;

    /// Arranges that something happens to a process at a point of its registry writes. Armed before it is reached.
    async fn inject(&mut self, name: &str, at: Point, action: Action) -> Result<(), ClusterError>;

    /// Does something to the registry.
    async fn registry(&mut self, event: RegEvent) -> Result<(), ClusterError>;

    /// Acts as an operator.
    async fn admin(&mut self, op: AdminOp) -> Result<(), ClusterError>;

    /// Waits until the predicate holds over all records so far, in the order in which they became known; an error
    /// names `what` when it does not within `max`, counted in periods.
    async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: &(dyn for<'a> Fn(&'a [Record]) -> bool + Sync),
    ) -> Result<(), ClusterError>;

    /// Lets this much time pass, for scenarios that are about durations. Never an assertion.
    async fn elapse(&mut self, time: Duration);

    /// Heals every fault that is still installed and notes [`Healed`](checker::history::Fact::Healed).
    async fn heal(&mut self) -> Result<(), ClusterError>;

    /// Ends all processes and returns everything that was recorded, registry log included, ready for the checker.
    async fn finish(self: Box<Self>) -> Result<Vec<Record>, ClusterError>;
}

/// How a process is started.
#[derive(Clone, Debug, PartialEq)]
pub struct InstOpts {
    /// The IP that the process uses; processes of one host share it.
    pub server: String,
    /// What the job's code does.
    pub work: Work,
    /// A fixed life name instead of a random one: two starts of a container with the same pid.
    pub life: Option<String>,
}

/// What the code of an item does: it announces itself to the resource, works, writes its effect, ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// How long it works, in periods.
    pub periods: f64,
    /// Items with another duration.
    pub slow: Vec<(u32, f64)>,
    /// Items that return an error.
    pub fail: Vec<u32>,
    /// Items that panic.
    pub panic: Vec<u32>,
    /// Items that never end unless they are cancelled.
    pub hang: Vec<u32>,
    /// Items whose code cannot be cancelled, because it blocks a thread: it writes its effect whatever becomes of the run,
    /// and neither fails nor panics. In a simulation, which has no threads, it is a task of its own.
    pub block: Vec<u32>,
}

/// What the connection of a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMode {
    /// Everything gets through.
    Pass,
    /// Requests are lost; what the registry sends still arrives.
    DropRequests,
    /// Requests arrive; replies and notifications are lost.
    DropReplies,
    /// Nothing gets through.
    Black,
    /// The connection is reset, and can be made again.
    Reset,
    /// Everything takes this much longer, each way.
    Delay(Duration),
}

/// A place in the sequence of registry writes of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which writes count: those of a duty by its name (`claim`, `release`, `resharding`, `sweep`, `takeover`,
    /// `misfire`, `membership`, `election` …), or all with `None`.
    pub duty: Option<String>,
    /// The how-manieth of them from now on, from 0.
    pub nth: u32,
    /// Before the write is sent, or after it was executed and before its reply is seen.
    pub when: When,
}

/// Before or after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before it is sent.
    Before,
    /// After it was executed, before the process sees the reply.
    After,
}

/// What happens at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The process is killed.
    Kill,
    /// The process is stopped; [`Cluster::resume`] lets it go on.
    Pause,
    /// The session ends on the registry's side.
    Expire,
    /// `Before`: the request is lost. `After`: its reply is. Either way the outcome is unknown to the process.
    Lose,
    /// The write waits this long.
    Delay(Duration),
}

/// What happens to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegEvent {
    /// The leading server is killed and started again; sessions survive. The embedded registry does not answer for a
    /// moment.
    KillLeader,
    /// The leading server is stopped for this long.
    StopLeader(Duration),
    /// All servers are down for this long; sessions and their nodes are still there afterwards, until they expire.
    RestartAll(Duration),
    /// What processes see lags behind by this much; zero heals.
    Lag(Duration),
}

/// What operators do.
#[derive(Clone, Debug, PartialEq)]
pub enum AdminOp {
    /// Replaces the stored configuration.
    Configure(Box<JobConfig>),
    /// Replaces the stored configuration by this text.
    Poison(String),
    /// Disables a server, or enables it again.
    Server {
        /// Which IP.
        ip: String,
        /// Whether it is disabled.
        disabled: bool,
    },
    /// Disables an item, or enables it again.
    Item {
        /// Which item.
        item: u32,
        /// Whether it is disabled.
        disabled: bool,
    },
    /// Pauses runs on a server, or lets them go on.
    Pause {
        /// Which IP.
        ip: String,
        /// Whether it is paused.
        paused: bool,
    },
    /// Asks for a run now, of all items.
    Trigger,
    /// Takes the instance node of a process away, as the console of ElasticJob does to shut it down.
    RemoveInstance(String),
    /// Takes the leader node away.
    RemoveLeader,
}

/// A cluster that could not do what was asked: the harness failed, not the product.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A predicate did not come to hold.
    #[error("waited {max_periods} periods in vain for {what}")]
    Timeout {
        /// For what.
        what: String,
        /// How long, in periods.
        max_periods: u32,
    },
    /// There is no process of this name, or it is not in the state that the act needs.
    #[error("{act}: {name} {reason}")]
    Process {
        /// Which act.
        act: &'static str,
        /// Which process.
        name: String,
        /// Why it cannot be.
        reason: String,
    },
    /// Something outside failed.
    #[error("{act} failed")]
    Harness {
        /// Which act.
        act: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}
