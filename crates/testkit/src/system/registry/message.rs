//! Messages between a process and the registry, and the events of the simulation queue.

use std::time::SystemTime;

use reg_center::{Change, Node, NodePath, Result, Scope, SessionId, Txn, TxnOutcome};

use super::injection::ActionAfterWrite;

/// Identity of a process's registry client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientId(pub(super) u32);

/// Number of a client's connection. Messages of an older connection are ignored.
pub(super) type Conn = u64;

/// A scheduled event.
#[derive(Debug)]
pub(super) enum Event {
    /// A message reaches the registry.
    Arrive(ClientId, Conn, Up),
    /// An event at a client. It is held back while the process is paused, and dropped when it is
    /// dead.
    Client(ClientId, Conn, ClientEvent),
    /// A resumed process reads the held events.
    Drain(ClientId),
    /// A client may give up its session. The event covers all connections of one outage.
    GiveUp(ClientId),
    /// A session may have expired.
    Expire(SessionId),
    /// The registry is up again.
    Restore,
}

/// Message from a process to the registry.
#[derive(Debug)]
pub(super) enum Up {
    Connect(ConnectRequest),
    Heartbeat { sent: u64 },
    Watch { feed: u64, scope: Scope },
    Call { number: u64, request: Request, after: Vec<ActionAfterWrite> },
}

/// Request to open a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectRequest {
    /// Session to resume; without one, the registry opens a new session.
    pub(super) resume: Option<SessionId>,
    /// Session that the client has given up, to be ended first.
    pub(super) end: Option<SessionId>,
    pub(super) sent: u64,
}

/// Request of a call.
#[derive(Debug)]
pub(super) enum Request {
    Read(NodePath),
    Children(NodePath),
    Commit(Txn),
    Sync,
    Time(NodePath),
    Close,
}

impl Request {
    /// Returns the name of the call for error messages.
    pub(super) fn call(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Children(_) => "list children",
            Self::Commit(_) => "commit",
            Self::Sync => "sync",
            Self::Time(_) => "ask for the time",
            Self::Close => "close",
        }
    }

    pub(super) fn is_write(&self) -> bool {
        matches!(self, Self::Commit(_) | Self::Time(_))
    }

    /// Returns true if an answer proves that the session lives. Followers answer reads, so reads
    /// prove nothing.
    pub(super) fn proves_session(&self) -> bool {
        matches!(self, Self::Commit(_) | Self::Sync | Self::Time(_))
    }
}

/// Answer to a call.
#[derive(Debug)]
pub(super) enum Answer {
    Node(Option<Node>),
    Names(Option<Vec<String>>),
    Outcome(TxnOutcome),
    Time(SystemTime),
    Done,
}

/// Event at a client.
#[derive(Debug)]
pub(super) enum ClientEvent {
    /// A message from the registry arrives on the connection.
    Receive(Down),
    /// The client finds the connection broken.
    Broken,
    /// The client tries to connect.
    Attempt,
    /// The client sends a heartbeat.
    Heartbeat,
    /// The client checks when it last received a message.
    Watchdog,
    /// The client sends a call that was held back.
    Send { number: u64, request: Request, after: Vec<ActionAfterWrite> },
}

/// Message from the registry to a process.
#[derive(Debug)]
pub(super) enum Down {
    Welcome {
        session: SessionId,
        sent: u64,
        is_new: bool,
    },
    /// The session to resume has ended.
    Expired,
    HeartbeatAck {
        sent: u64,
    },
    Answer {
        number: u64,
        /// The registry's clock at the time of the answer.
        time: SystemTime,
        answer: Result<Answer>,
    },
    Changes {
        feed: u64,
        changes: Vec<Change>,
    },
    /// The registry closes the connection.
    Closed,
}
