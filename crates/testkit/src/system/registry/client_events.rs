//! Events at a registry client: it maintains its session, and forwards answers and changes to the
//! process.

use reg_center::{SessionChange, SessionId, TxnOutcome};

use super::client::Phase;
use super::injection::ActionAfterWrite;
use super::message::{
    Answer, ClientEvent, ClientId, Conn, ConnectRequest, Down, Event, Request, Up,
};
use super::net::Net;
use crate::cluster::Action;

/// Number of heartbeats per session timeout.
const HEARTBEATS_PER_TIMEOUT: u64 = 6;
/// Maximum delay between two attempts to connect, in milliseconds.
const MAX_CONNECT_DELAY: u64 = 200;

impl Net {
    pub(super) fn handle_client_event(&mut self, id: ClientId, event: ClientEvent) {
        match event {
            ClientEvent::Receive(message) => self.receive(id, message),
            ClientEvent::Broken => self.break_connection(id),
            ClientEvent::Attempt => self.attempt(id),
            ClientEvent::Heartbeat => self.send_heartbeat(id),
            ClientEvent::Watchdog => self.check_silence(id),
            ClientEvent::Send { number, request, after } => {
                self.send_call(id, number, request, after)
            }
        }
    }

    fn timeout(&self) -> u64 {
        self.server.timeout
    }

    /// Tries to connect, and schedules the next attempt.
    fn attempt(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.phase != Phase::Connecting {
            return;
        }
        client.conn += 1;
        let request =
            ConnectRequest { resume: client.session, end: client.abandoned_session, sent: now };
        self.send_up(id, Up::Connect(request));
        let pause = self.rng.u64(0..=MAX_CONNECT_DELAY);
        self.client_later(id, now + timeout / 4 + pause, ClientEvent::Attempt);
    }

    fn receive(&mut self, id: ClientId, message: Down) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.last_received = now;
        match message {
            Down::Welcome { session, sent, is_new } => self.welcome(id, session, sent, is_new),
            Down::Expired => self.expired(id),
            Down::HeartbeatAck { sent } => client.extend_lease(sent, timeout),
            Down::Answer { number, time, answer } => {
                let Some(call) = client.calls.remove(&number) else { return };
                if call.proves_session && answer.is_ok() {
                    client.extend_lease(call.sent, timeout);
                }
                if let Ok(Answer::Outcome(TxnOutcome::Committed(_))) = answer {
                    client.time = Some((time, call.sent, now));
                }
                if call.is_close {
                    self.closed(id, true);
                }
                // The caller may have stopped waiting for the answer.
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
        (client.phase, client.session, client.abandoned_session) = (Phase::Up, Some(session), None);
        client.outage_ends = None;
        if is_new {
            client.lease = None;
            client.extend_lease(sent, timeout);
        }
        let hub = client.hub.clone();
        let feeds: Vec<_> = client.feeds.iter().map(|(n, feed)| (*n, feed.scope.clone())).collect();
        for (feed, scope) in feeds {
            self.send_up(id, Up::Watch { feed, scope });
        }
        self.client_later(id, now, ClientEvent::Heartbeat);
        self.client_later(id, now + silence_limit(timeout), ClientEvent::Watchdog);
        let timeout = std::time::Duration::from_millis(timeout);
        hub.publish(SessionChange::Connected { session, timeout });
    }

    /// Handles the refusal to resume a session: it is lost, and the next attempt asks for a new
    /// one.
    fn expired(&mut self, id: ClientId) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.lease = None;
        client.conn += 1;
        if let Some(session) = client.session.take() {
            client.hub.publish(SessionChange::Lost { session });
        }
        self.client_later(id, now, ClientEvent::Attempt);
    }

    fn send_heartbeat(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        if self.clients.get(&id).is_some_and(|client| client.phase == Phase::Up) {
            self.send_up(id, Up::Heartbeat { sent: now });
            self.client_later(id, now + timeout / HEARTBEATS_PER_TIMEOUT, ClientEvent::Heartbeat);
        }
    }

    /// Breaks the connection if the registry was silent for two thirds of the timeout.
    fn check_silence(&mut self, id: ClientId) {
        let (now, timeout) = (self.now(), self.timeout());
        let Some(client) = self.clients.get(&id).filter(|client| client.phase == Phase::Up) else {
            return;
        };
        let due = client.last_received + silence_limit(timeout);
        if due <= now {
            self.break_connection(id);
        } else {
            self.client_later(id, due, ClientEvent::Watchdog);
        }
    }

    /// Handles the loss of the connection. The session may still live.
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
        // The client gives up two fifths of a timeout after it expects the session to end.
        let last_received = client.last_received;
        let pause = self.rng.u64(1..=MAX_CONNECT_DELAY);
        self.client_later(id, now + pause, ClientEvent::Attempt);
        self.give_up_at(id, (last_received + timeout * 7 / 5).max(now + 1));
    }

    /// Schedules the end of an outage. Each attempt has its own connection number, so this event
    /// has none.
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
            client.abandoned_session = Some(session);
            client.conn += 1;
            client.hub.publish(SessionChange::Lost { session });
            self.client_later(id, now, ClientEvent::Attempt);
        }
    }

    pub(super) fn closed(&mut self, id: ClientId, acknowledged: bool) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.phase = Phase::Closed(acknowledged);
        client.conn += 1;
        client.lease = None;
        client.feeds.clear();
        client.fail_calls();
        client.hub.publish(SessionChange::Closed);
    }

    /// Sends a call, unless the network loses it.
    pub(super) fn send_call(
        &mut self,
        id: ClientId,
        number: u64,
        request: Request,
        after: Vec<ActionAfterWrite>,
    ) {
        if self.draws_loss(id) {
            self.record_loss(id, "lose_request");
            return self.break_connection(id);
        }
        self.send_up(id, Up::Call { number, request, after });
    }

    /// Sends the answer to a call, unless the network loses it or an injected action affects it.
    pub(super) fn reply(
        &mut self,
        id: ClientId,
        conn: Conn,
        reply: Down,
        after: &[ActionAfterWrite],
    ) {
        let mut later = 0;
        let mut lost = self.draws_loss(id);
        if lost {
            self.record_loss(id, "lose_reply");
        }
        for action_after in after {
            if !self.strike_after(id, action_after) {
                continue;
            }
            match action_after.action {
                Action::Lose => lost = true,
                Action::Delay(time) => later = u64::try_from(time.as_millis()).unwrap_or(0),
                Action::Kill | Action::Pause | Action::Expire => {}
            }
        }
        if lost {
            let now = self.now();
            self.schedule(now, Event::Client(id, conn, ClientEvent::Broken));
        } else {
            self.send_down_later(id, conn, reply, later);
        }
    }
}

/// Returns the time of silence after which a client considers its connection broken, in
/// milliseconds.
fn silence_limit(timeout: u64) -> u64 {
    timeout * 2 / 3
}
