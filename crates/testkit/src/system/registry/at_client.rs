//! What a registry client does: it keeps itself in a session, and hands answers and changes on.

use reg_center::{SessionChange, SessionId, TxnOutcome};

use super::client::Phase;
use super::injection::Follows;
use super::message::{Answer, AtClient, ClientId, Conn, Down, Event, Greeting, Request, Up};
use super::net::Net;
use crate::cluster::Action;

/// Heartbeats in one session timeout.
const BEATS_IN_A_TIMEOUT: u64 = 6;
/// The longest pause between two attempts to connect, in milliseconds.
const LONGEST_PAUSE: u64 = 200;

impl Net {
    pub(super) fn at_client(&mut self, id: ClientId, what: AtClient) {
        match what {
            AtClient::Hear(message) => self.hear(id, message),
            AtClient::Broken => self.break_connection(id),
            AtClient::Attempt => self.attempt(id),
            AtClient::Beat => self.beat(id),
            AtClient::Watchdog => self.watch_over(id),
            AtClient::Send { number, request, after } => {
                self.put_on_wire(id, number, request, after)
            }
        }
    }

    fn timeout(&self) -> u64 {
        self.server.timeout
    }

    /// Tries to connect, and again if nothing comes of it.
    fn attempt(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.phase != Phase::Connecting {
            return;
        }
        client.conn += 1;
        let greeting = Greeting { resume: client.session, end: client.unsettled, sent: now };
        self.send_up(id, Up::Connect(greeting));
        let pause = self.rng.u64(0..=LONGEST_PAUSE);
        self.client_later(id, now + timeout / 4 + pause, AtClient::Attempt);
    }

    fn hear(&mut self, id: ClientId, message: Down) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.heard = now;
        match message {
            Down::Welcome { session, sent, is_new } => self.welcome(id, session, sent, is_new),
            Down::Expired => self.expired(id),
            Down::BeatAck { sent } => client.prove(sent, timeout),
            Down::Answer { number, time, answer } => {
                let Some(call) = client.calls.remove(&number) else { return };
                if call.proves_session && answer.is_ok() {
                    client.prove(call.sent, timeout);
                }
                if let Ok(Answer::Outcome(TxnOutcome::Committed(_))) = answer {
                    client.time = Some((time, call.sent, now));
                }
                if call.is_close {
                    self.closed(id, true);
                }
                // Who has stopped waiting does not want to know.
                let _ = call.reply.send(answer);
            }
            Down::Changes { feed, changes } => {
                let Some(listener) = client.feeds.get(&feed) else { return };
                let open = changes.into_iter().all(|change| listener.sender.send(change));
                if !open {
                    client.feeds.remove(&feed);
                }
            }
            Down::Closed => self.break_connection(id),
        }
    }

    fn welcome(&mut self, id: ClientId, session: SessionId, sent: u64, is_new: bool) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.phase != Phase::Connecting {
            return;
        }
        (client.phase, client.session, client.unsettled) = (Phase::Up, Some(session), None);
        client.outage_ends = None;
        if is_new {
            client.lease = None;
            client.prove(sent, timeout);
        }
        let hub = client.hub.clone();
        let feeds: Vec<_> = client.feeds.iter().map(|(n, feed)| (*n, feed.scope.clone())).collect();
        for (feed, scope) in feeds {
            self.send_up(id, Up::Watch { feed, scope });
        }
        self.client_later(id, now, AtClient::Beat);
        self.client_later(id, now + patience(timeout), AtClient::Watchdog);
        let timeout = std::time::Duration::from_millis(timeout);
        hub.publish(SessionChange::Connected { session, timeout });
    }

    /// The session to go on with is over: the next attempt is for a new one.
    fn expired(&mut self, id: ClientId) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.lease = None;
        client.conn += 1;
        if let Some(session) = client.session.take() {
            client.hub.publish(SessionChange::Lost { session });
        }
        self.client_later(id, now, AtClient::Attempt);
    }

    fn beat(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        if self.clients.get(&id).is_some_and(|client| client.phase == Phase::Up) {
            self.send_up(id, Up::Beat { sent: now });
            self.client_later(id, now + timeout / BEATS_IN_A_TIMEOUT, AtClient::Beat);
        }
    }

    /// A registry that was silent for two thirds of the timeout is gone.
    fn watch_over(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get(&id).filter(|client| client.phase == Phase::Up) else {
            return;
        };
        let due = client.heard + patience(timeout);
        if due <= now {
            self.break_connection(id);
        } else {
            self.client_later(id, due, AtClient::Watchdog);
        }
    }

    /// The connection is gone, the session perhaps not.
    pub(super) fn break_connection(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.phase == Phase::Up)
        else {
            return;
        };
        client.phase = Phase::Connecting;
        client.conn += 1;
        client.fail_calls();
        if client.closing {
            return self.closed(id, false);
        }
        if let Some(session) = client.session {
            client.hub.publish(SessionChange::Suspended { session });
        }
        // The client's own guess comes two fifths of a timeout after the end that it expects.
        let heard = client.heard;
        let pause = self.rng.u64(1..=LONGEST_PAUSE);
        self.client_later(id, now + pause, AtClient::Attempt);
        self.give_up_at(id, (heard + timeout * 7 / 5).max(now + 1));
    }

    /// The attempts of one outage have different connections; this belongs to all of them.
    fn give_up_at(&mut self, id: ClientId, at: u64) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.outage_ends = Some(at);
            self.schedule(at, Event::GiveUp(id));
        }
    }

    pub(super) fn give_up(&mut self, id: ClientId) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.phase != Phase::Connecting || client.outage_ends.is_none_or(|at| at > now) {
            return;
        }
        client.outage_ends = None;
        client.lease = None;
        if let Some(session) = client.session.take() {
            client.unsettled = Some(session);
            client.conn += 1;
            client.hub.publish(SessionChange::Lost { session });
            self.client_later(id, now, AtClient::Attempt);
        }
    }

    pub(super) fn closed(&mut self, id: ClientId, told: bool) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.phase = Phase::Closed(told);
        client.conn += 1;
        client.lease = None;
        client.feeds.clear();
        client.fail_calls();
        client.hub.publish(SessionChange::Closed);
    }

    /// Sends a call, unless the network swallows it.
    pub(super) fn put_on_wire(
        &mut self,
        id: ClientId,
        number: u64,
        request: Request,
        after: Vec<Follows>,
    ) {
        if self.loses(id) {
            self.note_loss(id, "lose_request");
            return self.break_connection(id);
        }
        self.send_up(id, Up::Call { number, request, after });
    }

    /// Sends the answer to a call, unless the network swallows it or something was to happen at this point.
    pub(super) fn reply(&mut self, id: ClientId, conn: Conn, reply: Down, after: &[Follows]) {
        let mut later = 0;
        let mut lost = self.loses(id);
        if lost {
            self.note_loss(id, "lose_reply");
        }
        for follows in after {
            if !self.strike_after(id, follows) {
                continue;
            }
            match follows.action {
                Action::Lose => lost = true,
                Action::Delay(time) => later = u64::try_from(time.as_millis()).unwrap_or(0),
                Action::Kill | Action::Pause | Action::Expire => {}
            }
        }
        if lost {
            let now = self.now();
            self.schedule(now, Event::Client(id, conn, AtClient::Broken));
        } else {
            self.send_down_later(id, conn, reply, later);
        }
    }
}

/// How long a client waits for a sign of the registry.
fn patience(timeout: u64) -> u64 {
    timeout * 2 / 3
}
