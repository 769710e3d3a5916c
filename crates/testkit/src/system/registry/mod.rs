//! The simulated registry: the contract's model behind links that delay, hold back and lose, with sessions that end by
//! time, feeds that lag, and a log of everything.
//!
//! It keeps the guarantees of `reg-center`, and no more than those: replies get lost, reads may be answered from the
//! past as a follower would, changes of one transaction may reach a watcher apart, sessions outlive their processes.
//!
//! In reading order: `weather`, `link`, `message` (the way) · `server`, `log` (the registry) · `client`, `center` (a
//! process's end) · `net` (the queue of everything) · `at_server`, `at_client` (what happens to messages) · `faults`,
//! `injection`.

mod at_client;
mod at_server;
mod center;
mod client;
#[cfg(test)]
mod contract_test;
mod faults;
mod injection;
mod link;
mod log;
mod message;
mod net;
mod server;
mod weather;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use reg_center::model::Model;
use reg_center::{Result, SessionId, Txn, TxnOutcome};

pub(crate) use center::SimCenter;
pub(crate) use message::ClientId;
pub use weather::Weather;

use crate::cluster::{Action, LinkMode, Point};
use crate::system::process::Gate;
use crate::system::recorder::{Recorder, Voice};
use client::Client;
use injection::Injection;
use link::Link;
use net::Shared;

/// A simulated registry with everything between it and its processes. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub(crate) struct SimRegistry {
    shared: Arc<Shared>,
}

impl SimRegistry {
    /// Returns an empty registry. Its network runs in a task on the present runtime.
    pub(crate) fn new(
        recorder: &Recorder,
        nemesis: Arc<Voice>,
        rng: Rng,
        weather: Weather,
        session_timeout: Duration,
    ) -> Self {
        Self { shared: Shared::new(recorder, nemesis, rng, weather, session_timeout) }
    }

    /// Begins the registry client of a process; it connects by itself.
    pub(crate) fn connect(&self, owner: &str, gate: &Arc<Gate>) -> SimCenter {
        self.shared.with(|net| {
            let id = ClientId(u32::try_from(net.clients.len()).unwrap_or(u32::MAX));
            let client = Client::new(owner.to_owned(), Arc::clone(gate));
            let hub = Arc::clone(&client.hub);
            net.clients.insert(id, client);
            net.links.insert(id, Link::default());
            net.enter(id);
            SimCenter { shared: Arc::clone(&self.shared), id, hub }
        })
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.shared.with(|net| net.weather = weather);
    }

    pub(crate) fn set_link(&self, id: ClientId, mode: LinkMode) {
        self.shared.with(|net| net.set_link(id, mode));
    }

    /// Lets so many of a thousand calls lose their request or their reply.
    pub(crate) fn set_loss(&self, id: ClientId, permille: u32) {
        self.shared.with(|net| net.set_loss(id, permille));
    }

    /// Breaks the connection; nothing passes until the link is set otherwise.
    #[cfg(test)]
    pub(crate) fn cut(&self, id: ClientId) {
        self.shared.with(|net| {
            net.set_link(id, LinkMode::Black);
            net.reset(id);
        });
    }

    /// Ends a session on the registry's side; false if there is none.
    pub(crate) fn expire(&self, id: ClientId) -> bool {
        self.shared.with(|net| net.expire(id))
    }

    pub(crate) fn kill(&self, id: ClientId) {
        self.shared.with(|net| net.kill(id));
    }

    pub(crate) fn pause(&self, id: ClientId) {
        self.shared.with(|net| net.pause(id));
    }

    pub(crate) fn resume(&self, id: ClientId) {
        self.shared.with(|net| net.resume(id));
    }

    /// Arranges that something happens at a write of a process.
    pub(crate) fn inject(&self, id: ClientId, point: Point, action: Action) {
        self.shared.with(|net| net.arm(id, Injection { point, action }));
    }

    /// Takes back what was arranged and has not happened: whose, and what.
    pub(crate) fn disarm(&self) -> Vec<(String, String)> {
        self.shared.with(|net| net.disarm())
    }

    /// Takes all servers down for this long.
    pub(crate) fn power_off(&self, time: Duration) {
        self.shared.with(|net| net.power_off(time));
    }

    /// Stops the leading server for this long.
    pub(crate) fn freeze(&self, time: Duration) {
        self.shared.with(|net| net.freeze(time));
    }

    /// Brings a registry back that is down.
    pub(crate) fn restore(&self) {
        self.shared.with(|net| net.restore());
    }

    /// Lets followers lag by this much.
    pub(crate) fn set_lag(&self, time: Duration) {
        self.shared.with(|net| net.set_lag(time));
    }

    /// Commits as the operator; `None` if the registry does not answer.
    pub(crate) fn operate(&self, txn: &Txn) -> Option<Result<TxnOutcome>> {
        self.shared.with(|net| net.operate(txn))
    }

    /// Returns the session that a client believes to be in.
    pub(crate) fn session_of(&self, id: ClientId) -> Option<SessionId> {
        self.shared.with(|net| net.clients.get(&id).and_then(|client| client.session))
    }

    /// Returns true if the network does not work any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.has_failed()
    }

    /// Writes into the log how many feeds each session has.
    pub(crate) fn note_feeds(&self) {
        self.shared.with(|net| net.note_feeds());
    }

    /// Looks at what the registry holds.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Model) -> T) -> T {
        self.shared.with(|net| at(net.server.model()))
    }
}
