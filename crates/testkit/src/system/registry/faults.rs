//! Faults on demand: what scenarios and the nemesis do to links, sessions, processes and the registry.

use std::time::Duration;

use checker::history::{Fact, FaultOutcome, NemesisEvent};
use reg_center::{Result, Txn, TxnOutcome};

use super::client::{Client, Phase};
use super::injection::{self, Follows, Injection};
use super::message::{AtClient, ClientId, Event, Request, Up};
use super::net::Net;
use super::server::Power;
use crate::cluster::{Action, LinkMode, When};
use crate::system::process::Life;

/// How long a process that goes on after a pause needs until it reads what has come, at most, in milliseconds.
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

    /// Lets go on their way what was held back and may pass now. What was meant to open a connection that nobody
    /// waits for any more is gone.
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
                self.schedule(arrival, Event::Client(id, conn, AtClient::Hear(message)));
            }
        }
    }

    /// Breaks the connection at both ends: what is under way on it is lost.
    pub(super) fn reset(&mut self, id: ClientId) {
        let now = self.now();
        self.server.wires.remove(&id);
        self.client_later(id, now, AtClient::Broken);
    }

    pub(super) fn set_loss(&mut self, id: ClientId, permille: u32) {
        if let Some(link) = self.links.get_mut(&id) {
            link.loss_permille = permille;
        }
    }

    /// Ends the session of a process on the registry's side; false if it has none.
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

    /// Takes back what was armed and has not come.
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

    /// Sends a call of a client, or does first what was to happen at this write.
    pub(super) fn submit(&mut self, id: ClientId, number: u64, request: Request) {
        let label = match &request {
            Request::Commit(txn) => Some(txn.label()),
            Request::Read(_)
            | Request::Children(_)
            | Request::Sync
            | Request::Time(_)
            | Request::Close => None,
        };
        let Some(label) = label else { return self.put_on_wire(id, number, request, Vec::new()) };
        let Some(client) = self.clients.get_mut(&id) else { return };
        let fired = injection::count(&mut client.injections, label);
        if let Some(action) = fired.before {
            let why = injection::describe(action, When::Before, label);
            self.note_point(id, action, When::Before, why);
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
            return self.put_on_wire(id, number, request, fired.after);
        };
        let send = AtClient::Send { number, request, after: fired.after };
        match action {
            // A dead process sends nothing, and what is lost is not sent either.
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

    /// Notes that the network has swallowed something.
    pub(super) fn note_loss(&self, id: ClientId, kind: &str) {
        self.note(id, NemesisEvent::Point, kind, String::new());
    }

    /// Does to a process what was to happen after one of its writes, unless it is dead by then. What concerns the reply
    /// is left to the caller.
    pub(super) fn strike_after(&mut self, id: ClientId, follows: &Follows) -> bool {
        let can_happen = |client: &Client| match client.gate.life() {
            Life::Running => true,
            Life::Paused => follows.action != Action::Pause,
            Life::Killed | Life::Ended => false,
        };
        let happens = self.clients.get(&id).is_some_and(can_happen);
        if happens {
            self.note_point(id, follows.action, When::After, follows.why.clone());
            self.strike(id, follows.action);
        }
        happens
    }

    fn note_point(&self, id: ClientId, action: Action, when: When, why: String) {
        let kind = match (action, when) {
            (Action::Kill, _) => "crash",
            (Action::Pause, _) => "pause",
            (Action::Expire, _) => "expire",
            (Action::Lose, When::Before) => "lose_request",
            (Action::Lose, When::After) => "lose_reply",
            (Action::Delay(_), _) => "delay",
        };
        // A pause has an end; the others happen at this moment.
        let ev = if action == Action::Pause { NemesisEvent::Begin } else { NemesisEvent::Point };
        self.note(id, ev, kind, why);
    }

    fn note(&self, id: ClientId, ev: NemesisEvent, kind: &str, why: String) {
        self.nemesis.say(Fact::Nemesis {
            ev,
            kind: kind.to_owned(),
            target: self.clients.get(&id).map(|client| client.owner.clone()).unwrap_or_default(),
            outcome: FaultOutcome::Installed,
            why,
        });
    }

    /// Does to a process what was to happen at one of its writes.
    pub(super) fn strike(&mut self, id: ClientId, action: Action) {
        match action {
            Action::Kill => self.kill(id),
            Action::Pause => self.pause(id),
            Action::Expire => drop(self.expire(id)),
            Action::Lose | Action::Delay(_) => {}
        }
    }

    /// The process is dead: its connection is closed by the operating system, its session goes on until it expires.
    pub(super) fn kill(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.gate.kill();
        client.held.clear();
        self.server.wires.remove(&id);
    }

    pub(super) fn pause(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get(&id) {
            client.gate.pause();
        }
    }

    /// Lets a process go on; a moment passes before its registry client has read what had come.
    pub(super) fn resume(&mut self, id: ClientId) {
        let wakes = self.now() + self.rng.u64(0..=SLOWEST_WAKE);
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.gate.life() == Life::Paused {
            client.draining = true;
            client.gate.resume();
            self.schedule(wakes, Event::Drain(id));
        }
    }

    /// All servers go down; sessions and nodes stay.
    pub(super) fn power_off(&mut self, time: Duration) {
        let until = self.now() + millis(time);
        self.server.power = Power::Down { until };
        let connected: Vec<_> = self.server.wires.keys().copied().collect();
        for id in connected {
            // Behind a partition nobody notices.
            if self.links.get(&id).is_some_and(|link| link.down.open) {
                self.reset(id);
            }
        }
        self.server.wires.clear();
        self.schedule(until, Event::Restore);
    }

    /// The leader stands still for a while, and nobody else leads.
    pub(super) fn freeze(&mut self, time: Duration) {
        if self.server.power == Power::Up {
            let until = self.now() + millis(time);
            self.server.power = Power::Frozen { until };
            self.schedule(until, Event::Restore);
        }
    }

    /// Goes on if nothing has prolonged the outage meanwhile.
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

    /// A new leader gives every session its whole timeout anew.
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

    /// Commits as the operator, who sits beside the registry; `None` if it does not answer.
    pub(super) fn operate(&mut self, txn: &Txn) -> Option<Result<TxnOutcome>> {
        let operator = self.operator;
        (self.server.power == Power::Up).then(|| self.execute(operator, txn))
    }

    /// Begins the life of a client: it tries to connect at once.
    pub(super) fn enter(&mut self, id: ClientId) {
        let now = self.now();
        debug_assert!(self.clients.get(&id).is_some_and(|c| c.phase == Phase::Connecting));
        self.client_later(id, now, AtClient::Attempt);
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 4)
}
