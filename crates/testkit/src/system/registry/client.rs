//! The client's side: its view of its session, its pending calls, and its feeds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use reg_center::feed::FeedSender;
use reg_center::{Error, Result, Revision, Scope, SessionHub, SessionId};
use tokio::sync::oneshot;

use super::injection::Injection;
use super::message::{Answer, Conn, Event, Request};
use crate::system::process::Gate;

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Trying to connect.
    Connecting,
    /// Connected to the registry.
    Up,
    /// Closed. The value is true if the registry has acknowledged the end of the session.
    Closed(bool),
}

/// State of a process's registry client. It stops together with its process.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) owner: String,
    pub(super) gate: Arc<Gate>,
    pub(super) hub: Arc<SessionHub>,
    pub(super) phase: Phase,
    /// Number of the present connection, or of the present attempt.
    pub(super) conn: Conn,
    pub(super) session: Option<SessionId>,
    /// A session that the client has given up. The next connection ends it.
    pub(super) abandoned_session: Option<SessionId>,
    /// Time of the last message from the registry.
    pub(super) last_received: u64,
    /// Until this time the session surely lives.
    pub(super) lease: Option<u64>,
    /// Time at which the client gives up a session that it cannot reach.
    pub(super) outage_ends: Option<u64>,
    pub(super) closing: bool,
    /// The registry's time in the last reply to a write, and when the request was sent and the
    /// reply received.
    pub(super) time: Option<(SystemTime, u64, u64)>,
    pub(super) next_number: u64,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) feeds: BTreeMap<u64, ClientFeed>,
    /// Events that arrived while the process was paused.
    pub(super) held: VecDeque<Event>,
    /// True after a resume, until the client has read the held events.
    pub(super) draining: bool,
    pub(super) injections: Vec<Injection>,
    /// Oldest revision that its reads may show. The registry's side maintains it.
    pub(super) floor: Revision,
}

/// A pending call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) is_write: bool,
    pub(super) proves_session: bool,
    pub(super) is_close: bool,
    pub(super) sent: u64,
    pub(super) reply: oneshot::Sender<Result<Answer>>,
}

/// An open feed.
#[derive(Debug)]
pub(super) struct ClientFeed {
    pub(super) scope: Scope,
    pub(super) sender: FeedSender,
}

impl Client {
    pub(super) fn new(owner: String, gate: Arc<Gate>) -> Self {
        Self {
            owner,
            gate,
            hub: Arc::new(SessionHub::new()),
            phase: Phase::Connecting,
            conn: 0,
            session: None,
            abandoned_session: None,
            last_received: 0,
            lease: None,
            outage_ends: None,
            closing: false,
            time: None,
            next_number: 0,
            calls: BTreeMap::new(),
            feeds: BTreeMap::new(),
            held: VecDeque::new(),
            draining: false,
            injections: Vec::new(),
            floor: Revision(0),
        }
    }

    /// Returns the error of a call that cannot be made in this state.
    pub(super) fn call_error(&self, call: &'static str) -> Option<Error> {
        match self.phase {
            Phase::Closed(_) => Some(Error::Closed),
            Phase::Up | Phase::Connecting if self.closing => Some(Error::Closed),
            Phase::Connecting => Some(Error::Unavailable { call }),
            Phase::Up => None,
        }
    }

    /// Registers a call and returns its number.
    pub(super) fn begin(
        &mut self,
        request: &Request,
        now: u64,
        reply: oneshot::Sender<Result<Answer>>,
    ) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let call = Call {
            name: request.call(),
            is_write: request.is_write(),
            proves_session: request.proves_session(),
            is_close: matches!(request, Request::Close),
            sent: now,
            reply,
        };
        self.calls.insert(number, call);
        number
    }

    /// Fails all pending calls. The outcome of a write is unknown.
    pub(super) fn fail_calls(&mut self) {
        for call in std::mem::take(&mut self.calls).into_values() {
            let name = call.name;
            let error = if call.is_write {
                Error::Unknown {
                    call: name,
                    cause: "the connection broke before the reply".to_owned(),
                }
            } else if self.closing && !call.is_close {
                Error::Closed
            } else {
                Error::Unavailable { call: name }
            };
            // The caller may have stopped waiting for the answer.
            let _ = call.reply.send(Err(error));
        }
    }

    /// Extends the lease because the registry has answered a request sent at this time.
    pub(super) fn extend_lease(&mut self, sent: u64, timeout: u64) {
        if self.session.is_some() && !self.closing {
            self.lease = self.lease.max(Some(sent + timeout * 2 / 3));
        }
    }
}
