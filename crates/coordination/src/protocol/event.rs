//! Events: everything that can happen to a coordinator. The set is closed.

use std::fmt;

use reg_center::{Change, Conflict, Node, Revision, SessionId};
use sharding::{InstanceId, ShardingItem};

use crate::{
    FailureReason, FencingToken, FireTime, OnceStage, Outcome, RequestParameter, Slot, WaitingRuns,
};

/// Number of a commit of a coordinator. The reply repeats it, so that the reply finds its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It happened, at this revision if the registry reports one.
    Committed(Option<Revision>),
    /// It did not happen: a guard did not hold.
    Conflict(Conflict),
    /// It did not happen: the view was stale, and the holder that had to be gone exists.
    HolderAlive,
    /// Unknown outcome: it may have happened. The view will show.
    Unknown,
    /// It did not happen and can be retried: no connection, or the registry rejected it.
    NotExecuted,
    /// It did not happen and never will: it exceeds the registry's limit.
    TooLarge,
}

/// An event of a coordinator.
///
/// | event | meaning |
/// |---|---|
/// | `Connected` | the registry answers; a new session comes with a new incarnation |
/// | `Suspended` | the connection is lost; the session may live on |
/// | `LeaseExpired` | the session may be over: runs are cancelled, without waiting for `Lost` |
/// | `Lost` | the session is over |
/// | `Registry` | the feed of the job's subtree has changes |
/// | `Read` | the nodes of the job were read, apart from the feed |
/// | `Fire` | a scheduled fire time has come |
/// | `OnceReturned` | a once-per-cluster callback has returned |
/// | `TriggerRequested` | an operator requests a run of all items of the job now |
/// | `Replied` | a commit has an outcome |
/// | `ItemFinished` | the code of an item has ended |
/// | `Waits` | the runs that wait for a place in this process have changed |
/// | `Paused`, `Resumed` | this process must start no runs of the job, or may start them again |
/// | `Drain` | the instance leaves: it starts nothing and goes when nothing runs |
/// | `Wake` | no event came until [`next_wake`](crate::Coordinator::next_wake) |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The registry answers in this session. `incarnation` must be new if the session is new.
    Connected {
        /// The session.
        session: SessionId,
        /// Instance id for the session, used if the session is new.
        incarnation: InstanceId,
    },
    /// The connection is lost. The ephemeral nodes of the session may still exist.
    Suspended,
    /// The session can no longer be relied upon.
    LeaseExpired,
    /// The session is over, and all of its ephemeral nodes are gone.
    Lost,
    /// The feed has changes. All changes that are available go into one event, so that one decision
    /// sees whole transactions.
    Registry(Vec<Change>),
    /// The nodes of a scope, as [`Command::Read`](crate::Command::Read) asked for them.
    Read(Vec<Node>),
    /// A scheduled fire time has come.
    Fire {
        /// The scheduled fire time, which identifies the fire.
        at: FireTime,
        /// Next fire in the schedule, if it is known. Gaps are found by it.
        next: Option<FireTime>,
        /// Earlier fires for the catch-up, since
        /// [`catch_up_since`](crate::Coordinator::catch_up_since), ascending, as many as the job's
        /// policy allows.
        missed: Vec<FireTime>,
    },
    /// An operator requests a run of all items now.
    TriggerRequested {
        /// Parameter of the runs, if there is one.
        parameter: Option<RequestParameter>,
    },
    /// A once-per-cluster callback has returned, with or without an error.
    OnceReturned {
        /// Stage of the callback.
        stage: OnceStage,
        /// Token of the call.
        token: FencingToken,
    },
    /// A commit has an outcome.
    Replied {
        /// Number of the commit.
        ticket: Ticket,
        /// Outcome of the commit.
        reply: Reply,
    },
    /// The code of an item has ended.
    ItemFinished {
        /// The item.
        item: ShardingItem,
        /// Number of the slot of the run.
        slot: u32,
        /// Token of the run.
        token: FencingToken,
        /// Outcome of the run; [`Outcome::Interrupted`] or [`Outcome::Cancelled`] if it was cut
        /// short. The record decides which of the two it is.
        outcome: Outcome,
        /// Reason of a failure, for the item's record.
        reason: Option<FailureReason>,
    },
    /// The runs of the job that wait for a place in this process, to be stored for operators.
    Waits(Option<WaitingRuns>),
    /// This process must start no runs of the job.
    Paused,
    /// This process may start runs of the job again.
    Resumed,
    /// The instance leaves.
    Drain,
    /// The time of the next wake has come.
    Wake,
}

impl Event {
    /// Returns the name of the event for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Connected { .. } => "connected",
            Self::Suspended => "suspended",
            Self::LeaseExpired => "lease expired",
            Self::Lost => "lost",
            Self::Registry(_) => "registry",
            Self::Read(_) => "read",
            Self::Fire { .. } => "fire",
            Self::TriggerRequested { .. } => "trigger requested",
            Self::OnceReturned { .. } => "once returned",
            Self::Replied { .. } => "replied",
            Self::ItemFinished { .. } => "item finished",
            Self::Waits(_) => "waits",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Drain => "drain",
            Self::Wake => "wake",
        }
    }
}

/// Name of the node that holds the configuration of a job.
const CONFIG: &str = "config";

/// Displays a change on one line, for logs.
struct Sketch<'a>(&'a Change);

impl fmt::Display for Sketch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Java users store passwords in the configuration, so that its data must not reach the
            // log.
            Change::Entry(node) | Change::Put(node) if node.path.name() == CONFIG => {
                write!(f, "{} {} has {} bytes", node.path, node.stat.version, node.data.len())
            }
            Change::Entry(node) | Change::Put(node) => {
                let data = String::from_utf8_lossy(&node.data);
                write!(f, "{} {} is {data:?}", node.path, node.stat.version)
            }
            Change::Gone { path, .. } => write!(f, "{path} is gone"),
            Change::Init => f.write_str("a snapshot begins"),
            Change::Ready => f.write_str("the snapshot is complete"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { session, incarnation } => {
                write!(f, "connected in session {session} as {incarnation}")
            }
            Self::Fire { at, missed, .. } if missed.is_empty() => write!(f, "fire {at}"),
            Self::Fire { at, missed, .. } => write!(f, "fire {at}, {} before it", missed.len()),
            Self::OnceReturned { stage, token } => {
                write!(f, "once {stage} returned, token {token}")
            }
            Self::Replied { ticket, reply } => write!(f, "commit {}: {reply:?}", ticket.0),
            Self::ItemFinished { item, slot, token, outcome, .. } => {
                let slot = Slot { item: *item, number: *slot };
                write!(f, "item {slot} (token {token}) {outcome}")
            }
            Self::Registry(changes) => {
                let mut changes = changes.iter();
                changes.try_for_each(|change| write!(f, "{}; ", Sketch(change)))
            }
            Self::Read(nodes) => write!(f, "read {} nodes", nodes.len()),
            Self::Waits(Some(waiting)) => write!(f, "{} runs wait for a place", waiting.count),
            Self::Suspended
            | Self::LeaseExpired
            | Self::Lost
            | Self::Waits(None)
            | Self::TriggerRequested { .. }
            | Self::Paused
            | Self::Resumed
            | Self::Drain
            | Self::Wake => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Node, NodePath, Stat, Version};

    use super::*;

    #[test]
    fn the_data_of_a_configuration_is_not_logged() {
        let put = |path, data: &'static str| {
            let path = NodePath::parse(path).unwrap();
            let (created, modified) = (Revision(1), Revision(1));
            let stat =
                Stat { version: Version(0), created, modified, modified_at: None, owner: None };
            Change::Put(Node { path, data: data.into(), stat })
        };
        let changes = vec![put("/job/config", "t0ps3cret"), put("/job/servers/10.0.0.1", "PAUSED")];
        let shown = Event::Registry(changes).to_string();
        let expected = "/job/config v0 has 9 bytes; /job/servers/10.0.0.1 v0 is \"PAUSED\"; ";
        assert_eq!(shown, expected);
    }
}
