//! Everything that a coordinator can ask its shell to do: a closed set, in the order of the answers.

use std::fmt;
use std::sync::Arc;

use reg_center::{NodePath, Scope, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::duty::Duty;
use crate::{
    FencingToken, FireRange, FireTime, JobConfig, JobEvent, OnceStage, RequestParameter, RunSource,
    Ticket,
};

/// A run that the shell shall start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartItem {
    /// Which item.
    pub item: ShardingItem,
    /// The token to fence its effects with; 0 if the job is not monitored.
    pub token: FencingToken,
    /// The fire that it is for.
    pub fire: FireTime,
    /// Why it runs.
    pub source: RunSource,
    /// Which fires it stands for, if more than its own.
    pub merged: Option<FireRange>,
    /// What the request that it answers tells it.
    pub request_parameter: Option<RequestParameter>,
    /// Who claimed it.
    pub holder: InstanceId,
    /// The configuration that the run sees, from its start to its end.
    pub config: Arc<JobConfig>,
    /// The registry version of that configuration.
    pub config_version: Version,
}

/// Why runs are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptReason {
    /// The session cannot be relied upon any more.
    LeaseExpired,
    /// The session is over.
    SessionLost,
}

impl fmt::Display for InterruptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseExpired => "the session can no longer be relied upon",
            Self::SessionLost => "the session is lost",
        })
    }
}

/// Something that the shell shall do.
///
/// | command | what the shell does |
/// |---|---|
/// | `Commit` | reads the nodes of `confirm_absent`; if all are absent commits `txn`; answers with `Replied` |
/// | `Start` | runs the items, each answered with `ItemFinished` |
/// | `Interrupt` | cancels the runs of all items; each is still answered with `ItemFinished` |
/// | `CallOnce` | calls the once-per-cluster callback, answered with `OnceReturned` |
/// | `Schedule` | fires by this configuration from now on |
/// | `Emit` | tells the subscribers of job events |
/// | `Follow` | begins the feed of the registry anew, with this scope, and drops what is left of the one before |
/// | `LeaveRequested` | an operator wants this instance to go: begins a graceful shutdown of the job |
/// | `Left` | the instance has left: ends the driver |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Commit a transaction.
    Commit {
        /// To be given back with the reply.
        ticket: Ticket,
        /// Which duty wants it.
        duty: Duty,
        /// Why, for people.
        reason: String,
        /// What to commit, bound to the session.
        txn: Txn,
        /// Nodes that must be seen absent before, in this order, by plain reads: they are never created again.
        confirm_absent: Vec<NodePath>,
    },
    /// Run items.
    Start(Vec<StartItem>),
    /// Call a once-per-cluster callback.
    CallOnce {
        /// Which one.
        stage: OnceStage,
        /// For which fire.
        fire: FireTime,
        /// The token to fence its effects with.
        token: FencingToken,
    },
    /// Cancel everything that runs.
    Interrupt(InterruptReason),
    /// Fire by this configuration from now on.
    Schedule(Arc<JobConfig>),
    /// Tell the subscribers.
    Emit(JobEvent),
    /// Begin the feed anew.
    Follow(Scope),
    /// Begin a graceful shutdown.
    LeaveRequested,
    /// Nothing is left to do here.
    Left,
}

impl Command {
    /// Returns a word for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Commit { .. } => "commit",
            Self::Start(_) => "start",
            Self::CallOnce { .. } => "call once",
            Self::Interrupt(_) => "interrupt",
            Self::Schedule(_) => "schedule",
            Self::Emit(_) => "emit",
            Self::Follow(_) => "follow",
            Self::LeaveRequested => "leave requested",
            Self::Left => "left",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit { duty, reason, txn, .. } => {
                write!(f, "{duty}: {reason} ({} operations)", txn.ops().len())
            }
            Self::Start(items) => {
                f.write_str("start")?;
                items.iter().try_for_each(|i| write!(f, " {}#{}", i.item, i.token))
            }
            Self::CallOnce { stage, fire, token } => {
                write!(f, "call once {stage} for {fire}, token {token}")
            }
            Self::Interrupt(reason) => write!(f, "interrupt: {reason}"),
            Self::Schedule(config) => {
                write!(f, "schedule {}", config.cron.as_deref().unwrap_or("on request only"))
            }
            Self::Emit(event) => write!(f, "emit {event}"),
            Self::Follow(scope) => {
                write!(f, "follow {} parts of {}", scope.parts().len(), scope.root())
            }
            Self::LeaveRequested | Self::Left => f.write_str(self.name()),
        }
    }
}
