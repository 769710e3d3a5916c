//! Commands: everything that a coordinator can ask of its driver. The set is closed.
//!
//! The driver executes commands in the order in which it gets them.

use std::fmt;
use std::sync::Arc;

use reg_center::{NodePath, Scope, Txn, Version};
use sharding::{InstanceId, ShardingItem};

use crate::Duty;
use crate::{
    CancelRequest, FencingToken, FireRange, FireTime, JobConfig, JobEvent, OnceStage,
    RequestParameter, RunSource, Slot, Ticket,
};

/// A run that the driver shall start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartItem {
    /// The item.
    pub item: ShardingItem,
    /// Number of the slot that the run takes; 0 unless the job has `overlap = parallel n`.
    pub slot: u32,
    /// Token that fences the effects of the run. [`FencingToken::UNFENCED`] if the job is not
    /// monitored: users see this token as the number 0 in the context of a run and in its records.
    pub token: FencingToken,
    /// Scheduled fire time, or the time of the request.
    pub fire: FireTime,
    /// Source of the run.
    pub source: RunSource,
    /// Fires that the run stands for, if more than its own.
    pub merged: Option<FireRange>,
    /// Parameter of the manual request that started the run.
    pub request_parameter: Option<RequestParameter>,
    /// Past fire that the run is for, if it belongs to a backfill.
    pub past_fire: Option<FireTime>,
    /// Instance that claimed the run.
    pub holder: InstanceId,
    /// Configuration of the run, the same from its start to its end.
    pub config: Arc<JobConfig>,
    /// Registry version of that configuration.
    pub config_version: Version,
}

impl StartItem {
    /// Returns the slot that the run takes.
    #[must_use]
    pub fn slot(&self) -> Slot {
        Slot { item: self.item, number: self.slot }
    }
}

/// A run that the driver shall cancel, because its record has a request for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelItem {
    /// The item.
    pub item: ShardingItem,
    /// Number of the slot of the run.
    pub slot: u32,
    /// Token of the run.
    pub token: FencingToken,
    /// The request, with its author and its reason.
    pub request: Arc<CancelRequest>,
}

/// Reason why runs are cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptReason {
    /// The lease ended: the session may be over.
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

/// An action that the driver shall execute.
///
/// | command | action of the driver |
/// |---|---|
/// | `Commit` | reads `confirm_absent`, commits `txn` if all are absent, answers with `Replied` |
/// | `Start` | runs the items, each answered with `ItemFinished` |
/// | `Interrupt` | drops the futures of all runs; each is still answered with `ItemFinished` |
/// | `Cancel` | asks one run to end, and drops its future after a grace |
/// | `CallOnce` | calls the once-per-cluster callback, answered with `OnceReturned` |
/// | `Schedule` | fires by this configuration from now on |
/// | `Emit` | passes the event to the subscribers of job events |
/// | `Follow` | opens a new feed with this scope and drops the former one |
/// | `Read` | reads all nodes of this scope, apart from the feed, and answers with `Read` |
/// | `LeaveRequested` | begins a graceful shutdown of the job: an operator removed the instance |
/// | `Left` | ends: the instance has left |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Commits a transaction.
    Commit {
        /// Number that the reply repeats.
        ticket: Ticket,
        /// Duty that decided the transaction.
        duty: Duty,
        /// Reason, for logs.
        reason: String,
        /// The transaction, bound to the session.
        txn: Txn,
        /// Nodes that must be absent, read one by one in this order before the commit. They are
        /// never created again, so that one read each suffices.
        confirm_absent: Vec<NodePath>,
    },
    /// Runs items.
    Start(Vec<StartItem>),
    /// Asks one run to end, and drops its future after a grace. It is still answered with
    /// `ItemFinished`.
    Cancel(CancelItem),
    /// Calls a once-per-cluster callback.
    CallOnce {
        /// Stage of the callback.
        stage: OnceStage,
        /// Fire that the call is for.
        fire: FireTime,
        /// Token that fences the effects of the call.
        token: FencingToken,
    },
    /// Cancels all runs of the job: their futures are dropped at the next await.
    Interrupt(InterruptReason),
    /// Fires by this configuration from now on.
    Schedule(Arc<JobConfig>),
    /// Passes an event to the subscribers.
    Emit(JobEvent),
    /// Opens a new feed.
    Follow(Scope),
    /// Reads all nodes of a scope anew. A read that fails needs no answer.
    Read(Scope),
    /// Begins a graceful shutdown.
    LeaveRequested,
    /// Ends the driver.
    Left,
}

impl Command {
    /// Returns the name of the command for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Commit { .. } => "commit",
            Self::Start(_) => "start",
            Self::Cancel(_) => "cancel",
            Self::CallOnce { .. } => "call once",
            Self::Interrupt(_) => "interrupt",
            Self::Schedule(_) => "schedule",
            Self::Emit(_) => "emit",
            Self::Follow(_) => "follow",
            Self::Read(_) => "read",
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
                items.iter().try_for_each(|run| write!(f, " {}#{}", run.slot(), run.token))
            }
            Self::Cancel(CancelItem { item, slot, token, request }) => {
                let slot = Slot { item: *item, number: *slot };
                write!(f, "cancel {slot}#{token} for {}: {}", request.by(), request.why())
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
            Self::Read(scope) => {
                write!(f, "read {} parts of {}", scope.parts().len(), scope.root())
            }
            Self::LeaveRequested | Self::Left => f.write_str(self.name()),
        }
    }
}
