//! Injected faults of links, sessions, processes and the registry.

use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent};
use reg_center::{Result, Txn, TxnOutcome};

use super::client::{Client, Phase};
use super::injection::{self, ActionAfterWrite, Injection};
use super::message::{ClientEvent, ClientId, Event, Request, Up};
use super::net::Net;
use super::server::Power;
use crate::cluster::{Action, LinkMode, When};
use crate::system::process::ProcessState;

/// Maximum delay until a resumed process reads the held events, in milliseconds.
const SLOWEST_WAKE: u64 = 5;

impl Net {
    pub(super) fn set_link(&mut self, id: ClientId, mode: LinkMode) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (up, down) = match mode {
            LinkMode::Pass | LinkMode::Reset | LinkMode::Delay(_) => (true, true),
            LinkMode::DropRequests => (false, true),
            LinkMode::DropReplies => (true, false),
            LinkMode::Black => (false, false),
        };
        link.extra = match mode {
            LinkMode::Delay(time) => millis(time),
            LinkMode::Pass
            | LinkMode::DropRequests
            | LinkMode::DropReplies
            | LinkMode::Black
            | LinkMode::Reset => 0,
        };
        (link.up.open, link.down.open) = (up, down);
        self.release(id);
        if mode == LinkMode::Reset {
            self.reset(id);
        }
    }

    /// Forwards the held messages that may pass now. A request for a connection that the client has
    /// abandoned is dropped.
    fn release(&mut self, id: ClientId) {
        let (now, present) = (self.now(), self.clients.get(&id).map(|client| client.conn));
        let Some(link) = self.links.get_mut(&id) else { return };
        let (up, down) = (link.up.open, link.down.open);
        let ups = if up { std::mem::take(&mut link.up.held) } else { Default::default() };
        let downs = if down { std::mem::take(&mut link.down.held) } else { Default::default() };
        for (conn, message) in ups {
            if matches!(message, Up::Connect(_)) && present != Some(conn) {
                continue;
            }
            let wanted = now + self.weather.delay(&mut self.rng);
            if let Some(link) = self.links.get_mut(&id) {
                let arrival = link.up.arrival(wanted);
                self.schedule(arrival, Event::Arrive(id, conn, message));
            }
        }
        for (conn, message) in downs {
            let wanted = now + self.weather.delay(&mut self.rng);
            if let Some(link) = self.links.get_mut(&id) {
                let arrival = link.down.arrival(wanted);
                self.schedule(arrival, Event::Client(id, conn, ClientEvent::Receive(message)));
            }
        }
    }

    /// Breaks the connection at both ends. Messages in flight on it are lost.
    pub(super) fn reset(&mut self, id: ClientId) {
        let now = self.now();
        self.server.connections.remove(&id);
        self.client_later(id, now, ClientEvent::Broken);
    }

    pub(super) fn set_loss(&mut self, id: ClientId, permille: u32) {
        if let Some(link) = self.links.get_mut(&id) {
            link.loss_permille = permille;
        }
    }

    /// Ends the session of a process on the registry's side. Returns false if there is none.
    pub(super) fn expire(&mut self, id: ClientId) -> bool {
        let session = self.clients.get(&id).and_then(|client| client.session);
        let alive = session.filter(|session| self.server.is_live(*session));
        if let Some(session) = alive {
            self.expire_now(session);
        }
        alive.is_some()
    }

    pub(super) fn arm(&mut self, id: ClientId, injection: Injection) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.injections.push(injection);
        }
    }

    /// Removes all armed injections and returns them.
    pub(super) fn disarm(&mut self) -> Vec<(String, String)> {
        let mut left = Vec::new();
        for client in self.clients.values_mut() {
            for Injection { point, action } in client.injections.drain(..) {
                let label = point.duty.as_deref().unwrap_or_default();
                left.push((client.owner.clone(), injection::describe(action, point.when, label)));
            }
        }
        left
    }

    /// Sends a call of a client, or performs the injected action that waits for this write.
    pub(super) fn submit(&mut self, id: ClientId, number: u64, request: Request) {
        let label = match &request {
            Request::Commit(txn) => Some(txn.label()),
            Request::Read(_)
            | Request::Children(_)
            | Request::Sync
            | Request::Time(_)
            | Request::Close => None,
        };
        let Some(label) = label else { return self.send_call(id, number, request, Vec::new()) };
        let Some(client) = self.clients.get_mut(&id) else { return };
        let fired = injection::count(&mut client.injections, label);
        if let Some(action) = fired.before {
            let why = injection::describe(action, When::Before, label);
            self.record_point(id, action, When::Before, why);
        }
        self.send_or_strike(id, number, request, fired);
    }

    fn send_or_strike(
        &mut self,
        id: ClientId,
        number: u64,
        request: Request,
        fired: injection::Fired,
    ) {
        let now = self.now();
        let Some(action) = fired.before else {
            return self.send_call(id, number, request, fired.after);
        };
        let send = ClientEvent::Send { number, request, after: fired.after };
        match action {
            // Neither a dead process nor a lost request sends anything.
            Action::Kill => self.strike(id, action),
            Action::Lose => self.break_connection(id),
            Action::Pause => {
                self.strike(id, action);
                self.client_later(id, now, send);
            }
            Action::Expire => {
                self.strike(id, action);
                self.client_later(id, now, send);
            }
            Action::Delay(time) => self.client_later(id, now + millis(time), send),
        }
    }

    /// Records that the network has lost a message.
    pub(super) fn record_loss(&self, id: ClientId, kind: &str) {
        self.record_fault(id, NemesisEvent::Point, kind, String::new());
    }

    /// Performs the injected action after a write, unless the process is dead. Effects on the reply
    /// are left to the caller.
    pub(super) fn strike_after(&mut self, id: ClientId, action_after: &ActionAfterWrite) -> bool {
        let can_happen = |client: &Client| match client.gate.state() {
            ProcessState::Running => true,
            ProcessState::Paused => action_after.action != Action::Pause,
            ProcessState::Killed | ProcessState::Ended => false,
        };
        let happens = self.clients.get(&id).is_some_and(can_happen);
        if happens {
            self.record_point(id, action_after.action, When::After, action_after.why.clone());
            self.strike(id, action_after.action);
        }
        happens
    }

    fn record_point(&self, id: ClientId, action: Action, when: When, why: String) {
        let kind = match (action, when) {
            (Action::Kill, _) => "crash",
            (Action::Pause, _) => "pause",
            (Action::Expire, _) => "expire",
            (Action::Lose, When::Before) => "lose_request",
            (Action::Lose, When::After) => "lose_reply",
            (Action::Delay(_), _) => "delay",
        };
        // A pause has an end; the other actions are points in time.
        let ev = if action == Action::Pause { NemesisEvent::Begin } else { NemesisEvent::Point };
        self.record_fault(id, ev, kind, why);
    }

    fn record_fault(&self, id: ClientId, ev: NemesisEvent, kind: &str, why: String) {
        self.nemesis.write(Fact::Nemesis {
            ev,
            kind: kind.to_owned(),
            target: self.clients.get(&id).map(|client| client.owner.clone()).unwrap_or_default(),
            outcome: FaultOutcome::Installed,
            why,
        });
    }

    /// Performs an injected action on a process.
    pub(super) fn strike(&mut self, id: ClientId, action: Action) {
        match action {
            Action::Kill => self.kill(id),
            Action::Pause => self.pause(id),
            Action::Expire => drop(self.expire(id)),
            Action::Lose | Action::Delay(_) => {}
        }
    }

    /// Kills a process. The operating system closes its connection; its session lives on until it
    /// expires.
    pub(super) fn kill(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.gate.kill();
        client.held.clear();
        self.server.connections.remove(&id);
    }

    pub(super) fn pause(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get(&id) {
            client.gate.pause();
        }
    }

    /// Resumes a process. Its registry client reads the held events a moment later.
    pub(super) fn resume(&mut self, id: ClientId) {
        let wakes = self.now() + self.rng.u64(0..=SLOWEST_WAKE);
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.gate.state() == ProcessState::Paused {
            client.draining = true;
            client.gate.resume();
            self.schedule(wakes, Event::Drain(id));
        }
    }

    /// Takes all servers down. Sessions and nodes remain.
    pub(super) fn power_off(&mut self, time: Duration) {
        let until = self.now() + millis(time);
        self.server.power = Power::Down { until };
        let connected: Vec<_> = self.server.connections.keys().copied().collect();
        for id in connected {
            // Behind a partition, the client does not notice the reset.
            if self.links.get(&id).is_some_and(|link| link.down.open) {
                self.reset(id);
            }
        }
        self.server.connections.clear();
        self.schedule(until, Event::Restore);
    }

    /// Stops the leader for this time, without the election of another one.
    pub(super) fn freeze(&mut self, time: Duration) {
        if self.server.power == Power::Up {
            let until = self.now() + millis(time);
            self.server.power = Power::Frozen { until };
            self.schedule(until, Event::Restore);
        }
    }

    /// Ends the outage, unless it was prolonged meanwhile.
    pub(super) fn restore_if_due(&mut self) {
        match self.server.power {
            Power::Frozen { until } | Power::Down { until } if until <= self.now() => self.thaw(),
            Power::Frozen { .. } | Power::Down { .. } | Power::Up => {}
        }
    }

    pub(super) fn restore(&mut self) {
        if self.server.power != Power::Up {
            self.thaw();
        }
    }

    /// Ends an outage. As with a new leader, each session gets its whole timeout again.
    pub(super) fn thaw(&mut self) {
        let now = self.now();
        self.server.power = Power::Up;
        for (session, expires) in self.server.touch_all(now) {
            self.schedule(expires, Event::Expire(session));
        }
    }

    pub(super) fn set_lag(&mut self, time: Duration) {
        self.server.lag = millis(time);
    }

    /// Commits as the operator, whose requests are not delayed. Returns `None` if the registry does
    /// not answer.
    pub(super) fn operate(&mut self, txn: &Txn) -> Option<Result<TxnOutcome>> {
        let operator = self.operator;
        (self.server.power == Power::Up).then(|| self.execute(operator, txn))
    }

    /// Starts a client, which tries to connect at once.
    pub(super) fn start_client(&mut self, id: ClientId) {
        let now = self.now();
        debug_assert!(self.clients.get(&id).is_some_and(|c| c.phase == Phase::Connecting));
        self.client_later(id, now, ClientEvent::Attempt);
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}
