//! The network: one queue with all messages and timers of the registry, in the order of their
//! times.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;
use reg_center::SessionId;
use tokio::select;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::client::{Client, Phase};
use super::link::Link;
use super::message::{ClientEvent, ClientId, Conn, Down, Event, Up};
use super::server::Server;
use super::weather::{Weather, draw_permille};
use crate::system::process::ProcessState;
use crate::system::recorder::{FactWriter, Recorder};
use crate::system::world::WorldClock;

/// The registry, the links to it, and the registry clients of all processes.
#[derive(Debug)]
pub(super) struct Net {
    pub(super) clock: WorldClock,
    pub(super) rng: Rng,
    pub(super) weather: Weather,
    pub(super) server: Server,
    pub(super) operator: SessionId,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) links: BTreeMap<ClientId, Link>,
    pub(super) nemesis: Arc<FactWriter>,
    queue: BTreeMap<(u64, u64), Event>,
    n_queued: u64,
}

/// The network, and the signal that wakes its task.
#[derive(Debug)]
pub(super) struct Shared {
    net: Mutex<Net>,
    earlier: Notify,
    pump: OnceLock<JoinHandle<()>>,
}

impl Shared {
    pub(super) fn new(
        recorder: &Recorder,
        nemesis: Arc<FactWriter>,
        rng: Rng,
        weather: Weather,
        timeout: Duration,
    ) -> Arc<Self> {
        let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        let mut server = Server::new(timeout, recorder.writer("registry", 0));
        let net = Net {
            clock: recorder.clock(),
            rng,
            weather,
            operator: server.open_for_operator(),
            server,
            clients: BTreeMap::new(),
            links: BTreeMap::new(),
            nemesis,
            queue: BTreeMap::new(),
            n_queued: 0,
        };
        let shared =
            Arc::new(Self { net: Mutex::new(net), earlier: Notify::new(), pump: OnceLock::new() });
        shared.pump.get_or_init(|| tokio::spawn(pump(Arc::clone(&shared))));
        shared
    }

    pub(super) fn has_failed(&self) -> bool {
        self.pump.get().is_none_or(JoinHandle::is_finished)
    }

    /// Changes the network now. Wakes its task if the next event is earlier than before.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Net) -> T) -> T {
        let mut net = self.net.lock();
        let before = net.next_time();
        let value = act(&mut net);
        let after = net.next_time();
        drop(net);
        if after.is_some_and(|after| before.is_none_or(|before| after < before)) {
            self.earlier.notify_one();
        }
        value
    }
}

/// Runs the network until the runtime ends.
async fn pump(shared: Arc<Shared>) {
    loop {
        let next = {
            let mut net = shared.net.lock();
            net.run_due();
            net.next_time().and_then(|at| net.clock.moment(Duration::from_millis(at)))
        };
        match next {
            Some(next) => select! {
                biased;
                () = tokio::time::sleep_until(next) => {}
                () = shared.earlier.notified() => {}
            },
            None => shared.earlier.notified().await,
        }
    }
}

impl Net {
    pub(super) fn now(&self) -> u64 {
        self.clock.now_ms()
    }

    fn next_time(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn schedule(&mut self, at: u64, event: Event) {
        let order = self.n_queued;
        self.n_queued += 1;
        self.queue.insert((at, order), event);
    }

    /// Handles all events that are due.
    fn run_due(&mut self) {
        let now = self.now();
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= now) {
            let event = entry.remove();
            self.handle_event(event);
        }
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Arrive(id, conn, message) => self.arrive(id, conn, message),
            Event::Client(id, conn, what) => self.reach_client(id, conn, what),
            Event::Drain(id) => self.drain(id),
            Event::GiveUp(id) => self.reach_give_up(id),
            Event::Expire(session) => self.expire_if_due(session),
            Event::Restore => self.restore_if_due(),
        }
    }

    /// Forwards an event to a client, unless its process does not run.
    fn reach_client(&mut self, id: ClientId, conn: Conn, event: ClientEvent) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        match client.gate.state() {
            ProcessState::Killed | ProcessState::Ended => {}
            ProcessState::Paused => client.held.push_back(Event::Client(id, conn, event)),
            ProcessState::Running if client.draining => {
                client.held.push_back(Event::Client(id, conn, event));
            }
            // Events of an older connection are ignored.
            ProcessState::Running if conn == client.conn => self.handle_client_event(id, event),
            ProcessState::Running => {}
        }
    }

    fn reach_give_up(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        match client.gate.state() {
            ProcessState::Killed | ProcessState::Ended => {}
            ProcessState::Paused => client.held.push_back(Event::GiveUp(id)),
            ProcessState::Running if client.draining => {
                client.held.push_back(Event::GiveUp(id));
            }
            ProcessState::Running => self.give_up(id),
        }
    }

    fn drain(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.gate.state() == ProcessState::Paused {
            // The process was paused again before it read the held events.
            return;
        }
        client.draining = false;
        for event in std::mem::take(&mut client.held) {
            self.handle_event(event);
        }
    }

    /// Schedules an event for a client on its present connection.
    pub(super) fn client_later(&mut self, id: ClientId, at: u64, event: ClientEvent) {
        if let Some(client) = self.clients.get(&id) {
            let conn = client.conn;
            self.schedule(at, Event::Client(id, conn, event));
        }
    }

    /// Sends a message to the registry.
    pub(super) fn send_up(&mut self, id: ClientId, message: Up) {
        // A dead process sends nothing, not even in the poll in which it dies.
        let lives = |client: &&Client| client.gate.state() != ProcessState::Killed;
        let Some(client) = self.clients.get(&id).filter(lives) else { return };
        let conn = client.conn;
        let delay = self.weather.delay(&mut self.rng);
        let now = self.now();
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.up.open {
            return link.up.held.push_back((conn, message));
        }
        let arrival = link.up.arrival(now + delay + link.extra);
        self.schedule(arrival, Event::Arrive(id, conn, message));
    }

    /// Sends a message to a process, on the connection that the registry considers current.
    pub(super) fn send_down(&mut self, id: ClientId, conn: Conn, message: Down) {
        self.send_down_later(id, conn, message, 0);
    }

    /// Sends a message with an additional delay. Later messages still arrive after it.
    pub(super) fn send_down_later(&mut self, id: ClientId, conn: Conn, message: Down, later: u64) {
        let delay = self.weather.delay(&mut self.rng);
        let now = self.now();
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.down.open {
            return link.down.held.push_back((conn, message));
        }
        let arrival = link.down.arrival(now + delay + link.extra + later);
        self.schedule(arrival, Event::Client(id, conn, ClientEvent::Receive(message)));
    }

    /// Records in the log how many feeds the session of each connected process has. A feed without
    /// a reader stays until the next change of its scope, which may be later than the end of a run.
    pub(super) fn record_feeds(&self) {
        let connected = self.clients.values().filter(|client| client.phase == Phase::Up);
        for client in connected.filter(|client| client.gate.state() == ProcessState::Running) {
            if let Some(session) = client.session {
                let open = client.feeds.values().filter(|feed| !feed.sender.is_closed()).count();
                self.server.record_feeds(session, open);
            }
        }
    }

    /// Draws whether the network loses this call of a client.
    pub(super) fn draws_loss(&mut self, id: ClientId) -> bool {
        let extra = self.links.get(&id).map_or(0, |link| link.loss_permille);
        draw_permille(&mut self.rng, self.weather.loss_permille + extra)
    }
}
