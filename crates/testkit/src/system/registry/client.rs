//! A process's end: its session as it believes it to be, its calls under way, its feeds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use reg_center::feed::FeedSender;
use reg_center::{Error, Result, Revision, Scope, SessionHub, SessionId};
use tokio::sync::oneshot;

use super::injection::Injection;
use super::message::{Answer, Conn, Event, Request};
use crate::system::process::Gate;

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It tries to connect.
    Connecting,
    /// The registry answers.
    Up,
    /// It was closed; if its session could be ended is told by `true`.
    Closed(bool),
}

/// What a process's registry client knows. It lives in the process: while that is paused it does nothing.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) owner: String,
    pub(super) gate: Arc<Gate>,
    pub(super) hub: Arc<SessionHub>,
    pub(super) phase: Phase,
    /// The present connection, or attempt at one.
    pub(super) conn: Conn,
    pub(super) session: Option<SessionId>,
    /// A session that was given up and shall be ended by the next connection.
    pub(super) unsettled: Option<SessionId>,
    /// When the registry was last heard of.
    pub(super) heard: u64,
    /// Until when the session certainly lives.
    pub(super) lease: Option<u64>,
    /// When it gives the session up that it cannot reach.
    pub(super) outage_ends: Option<u64>,
    pub(super) closing: bool,
    /// The registry's time in the last reply to a write, when that was sent, and when the reply came.
    pub(super) time: Option<(SystemTime, u64, u64)>,
    pub(super) next_number: u64,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) feeds: BTreeMap<u64, ClientFeed>,
    /// What has come while the process was paused.
    pub(super) held: VecDeque<Event>,
    /// It is on its way back from a pause and has not read what had come.
    pub(super) draining: bool,
    pub(super) injections: Vec<Injection>,
    /// The oldest state that its reads may show: the registry's side keeps this.
    pub(super) floor: Revision,
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) is_write: bool,
    pub(super) proves_session: bool,
    pub(super) is_close: bool,
    pub(super) sent: u64,
    pub(super) reply: oneshot::Sender<Result<Answer>>,
}

/// A feed under way.
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
            unsettled: None,
            heard: 0,
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

    /// Returns why a call cannot be made now, if it cannot.
    pub(super) fn refuses(&self, call: &'static str) -> Option<Error> {
        match self.phase {
            Phase::Closed(_) => Some(Error::Closed),
            Phase::Up | Phase::Connecting if self.closing => Some(Error::Closed),
            Phase::Connecting => Some(Error::Unavailable { call }),
            Phase::Up => None,
        }
    }

    /// Takes note of a call and returns its number.
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

    /// Answers all calls: nobody knows what became of writes.
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
            // Who has stopped waiting does not want to know.
            let _ = call.reply.send(Err(error));
        }
    }

    /// Extends the lease by an answer to what was sent then.
    pub(super) fn prove(&mut self, sent: u64, timeout: u64) {
        if self.session.is_some() && !self.closing {
            self.lease = self.lease.max(Some(sent + timeout * 2 / 3));
        }
    }
}
