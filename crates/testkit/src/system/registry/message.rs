//! What travels between a process and the registry, and what happens at its time.

use std::time::SystemTime;

use reg_center::{Change, Node, NodePath, Result, Scope, SessionId, Txn, TxnOutcome};

use super::injection::Follows;

/// One process's end of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClientId(pub(super) u32);

/// Numbers the connections of a client: what belongs to an older one is not listened to.
pub(super) type Conn = u64;

/// Something that happens at its time.
#[derive(Debug)]
pub(super) enum Event {
    /// A message reaches the registry.
    Arrive(ClientId, Conn, Up),
    /// Something concerns a client: held back while its process is paused, gone when it is dead.
    Client(ClientId, Conn, AtClient),
    /// A process that was paused has come to read what had arrived.
    Drain(ClientId),
    /// A client may give its session up: all connections of one outage together.
    GiveUp(ClientId),
    /// A session may have come to its end.
    Expire(SessionId),
    /// The registry is up again.
    Restore,
}

/// From a process to the registry.
#[derive(Debug)]
pub(super) enum Up {
    Connect(Greeting),
    Beat { sent: u64 },
    Watch { feed: u64, scope: Scope },
    Call { number: u64, request: Request, after: Vec<Follows> },
}

/// How a connection begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Greeting {
    /// The session to go on with; else a new one.
    pub(super) resume: Option<SessionId>,
    /// A session that was given up and shall end first.
    pub(super) end: Option<SessionId>,
    pub(super) sent: u64,
}

/// What a call asks for.
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
    /// Returns a word for errors.
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

    /// Reads are answered by followers, which prove nothing about the session.
    pub(super) fn proves_session(&self) -> bool {
        matches!(self, Self::Commit(_) | Self::Sync | Self::Time(_))
    }
}

/// What a call is told.
#[derive(Debug)]
pub(super) enum Answer {
    Node(Option<Node>),
    Names(Option<Vec<String>>),
    Outcome(TxnOutcome),
    Time(SystemTime),
    Done,
}

/// What happens at a client.
#[derive(Debug)]
pub(super) enum AtClient {
    /// The registry says something on the connection.
    Hear(Down),
    /// The connection is found broken.
    Broken,
    /// It is time to try to connect.
    Attempt,
    /// It is time for a heartbeat.
    Beat,
    /// It is time to see whether the registry was heard of lately.
    Watchdog,
    /// A call that was held back is sent.
    Send { number: u64, request: Request, after: Vec<Follows> },
}

/// From the registry to a process.
#[derive(Debug)]
pub(super) enum Down {
    Welcome {
        session: SessionId,
        sent: u64,
        is_new: bool,
    },
    /// The session to go on with is over.
    Expired,
    BeatAck {
        sent: u64,
    },
    Answer {
        number: u64,
        /// The registry's clock when it answered.
        time: SystemTime,
        answer: Result<Answer>,
    },
    Changes {
        feed: u64,
        changes: Vec<Change>,
    },
    /// The registry ends the connection.
    Closed,
}
