//! Everything that can happen to a coordinator: a closed set.

use std::fmt;
use std::time::Duration;

use reg_center::{Change, Conflict, Revision, SessionId};
use sharding::{InstanceId, ShardingItem};

use crate::{FailureReason, FencingToken, FireTime, OnceStage, Outcome, RequestParameter};

/// Now, by both clocks. The shell reads them once per event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// What people wrote down: milliseconds since 1970 UTC, as this process believes.
    pub wall_ms: i64,
    /// The registry's time, as near to `wall_ms` as it can be; `None` if the registry has no clock, or it is not known yet.
    pub registry_ms: Option<i64>,
    /// For how long: time since an arbitrary start, never going back.
    pub mono: Duration,
}

/// Numbers the commits of a coordinator, so that a reply finds its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It happened, at this revision if the registry tells.
    Committed(Option<Revision>),
    /// It did not happen: an expectation did not hold.
    Conflict(Conflict),
    /// It did not happen, because the holder that had to be gone is there. The view was behind.
    HolderAlive,
    /// It may have happened; the view will show.
    Unknown,
    /// It did not happen and can be tried again: no connection, or the registry refused.
    NotExecuted,
    /// It did not happen and never will: it is over the registry's limit.
    TooLarge,
}

/// Something that happened.
///
/// | event | meaning |
/// |---|---|
/// | `Connected` | the session lives; with a new session comes a new incarnation |
/// | `Suspended` | the connection is gone, the session perhaps not |
/// | `LeaseExpired` | the session may be over: stop what runs, without waiting for `Lost` |
/// | `Lost` | the session is over |
/// | `Registry` | the feed of the job's subtree has changes |
/// | `Fire` | a scheduled time has come |
/// | `OnceReturned` | a once-per-cluster callback has returned |
/// | `TriggerRequested` | an operator wants all items of the job to run now |
/// | `Replied` | a commit has an outcome |
/// | `ItemFinished` | the code of an item has ended |
/// | `Paused`, `Resumed` | this process shall not start, or start again, runs of the job |
/// | `Drain` | leave: start nothing, hand over, go when nothing runs |
/// | `Wake` | nothing happened for as long as [`next_wake`](crate::Coordinator::next_wake) said |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The registry answers in this session; `incarnation` must be new if the session is.
    Connected {
        /// Which session.
        session: SessionId,
        /// The id of this life, used if the session is a new one.
        incarnation: InstanceId,
    },
    /// The connection is gone; what the session owns may still be there.
    Suspended,
    /// The session can no longer be relied upon.
    LeaseExpired,
    /// The session is over and everything that it owned is gone.
    Lost,
    /// The feed has changes; everything that is there goes into one event, so that one decision sees whole transactions.
    Registry(Vec<Change>),
    /// A scheduled time has come.
    Fire {
        /// The scheduled time, which identifies the fire.
        at: FireTime,
        /// What the schedule has after it, if that is known: gaps are found by it.
        next: Option<FireTime>,
        /// For a job that catches up: the fires before it, since
        /// [`catch_up_since`](crate::Coordinator::catch_up_since), as many as its policy allows, in ascending order.
        missed: Vec<FireTime>,
    },
    /// The job shall run now, all its items.
    TriggerRequested {
        /// What the runs are told, if anything.
        parameter: Option<RequestParameter>,
    },
    /// A once-per-cluster callback has returned, whatever it returned.
    OnceReturned {
        /// Which callback.
        stage: OnceStage,
        /// Which call of it.
        token: FencingToken,
    },
    /// A commit has an outcome.
    Replied {
        /// Which commit.
        ticket: Ticket,
        /// What became of it.
        reply: Reply,
    },
    /// The code of an item has ended.
    ItemFinished {
        /// Which item.
        item: ShardingItem,
        /// Which run of it.
        token: FencingToken,
        /// How; [`Outcome::Interrupted`] if it was cancelled.
        outcome: Outcome,
        /// Why it did not succeed, for the item's record.
        reason: Option<FailureReason>,
    },
    /// No runs shall start here.
    Paused,
    /// Runs may start here again.
    Resumed,
    /// The instance shall leave.
    Drain,
    /// Time has passed.
    Wake,
}

impl Event {
    /// Returns a word for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Connected { .. } => "connected",
            Self::Suspended => "suspended",
            Self::LeaseExpired => "lease expired",
            Self::Lost => "lost",
            Self::Registry(_) => "registry",
            Self::Fire { .. } => "fire",
            Self::TriggerRequested { .. } => "trigger requested",
            Self::OnceReturned { .. } => "once returned",
            Self::Replied { .. } => "replied",
            Self::ItemFinished { .. } => "item finished",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Drain => "drain",
            Self::Wake => "wake",
        }
    }
}

/// The name of the node that holds the configuration of a job.
const CONFIG: &str = "config";

/// A change on one line, for logs.
struct Sketch<'a>(&'a Change);

impl fmt::Display for Sketch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Whoever has written the configuration may have written passwords into it, as users of Java do.
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
            Self::ItemFinished { item, token, outcome, .. } => {
                write!(f, "item {item} (token {token}) {outcome}")
            }
            Self::Registry(changes) => {
                let mut changes = changes.iter();
                changes.try_for_each(|change| write!(f, "{}; ", Sketch(change)))
            }
            Self::Suspended
            | Self::LeaseExpired
            | Self::Lost
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
    fn what_a_configuration_holds_is_not_in_the_log() {
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
