//! The simulated registry: the model of the contract behind links that delay, hold back and lose
//! messages. Its sessions expire, its feeds lag, and it logs every write.
//!
//! It keeps exactly the guarantees of `reg-center`. Replies can be lost, reads can be answered from
//! the past, watchers can see a transaction in parts, and sessions outlive their processes.
//!
//! In reading order: `weather`, `link`, `message` (the network) · `server`, `log` (the registry) ·
//! `client`, `center` (the client of a process) · `net` (the event queue) · `server_events`,
//! `client_events` (message handling) · `faults`, `injection`.

mod center;
mod client;
mod client_events;
#[cfg(test)]
mod contract_test;
mod faults;
mod injection;
mod link;
mod log;
mod message;
mod net;
mod server;
mod server_events;
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
use crate::system::recorder::{FactWriter, Recorder};
use client::Client;
use injection::Injection;
use link::Link;
use net::Shared;

/// The simulated registry, its network and its clients. Clones are handles to the same registry.
#[derive(Clone, Debug)]
pub(crate) struct SimRegistry {
    shared: Arc<Shared>,
}

impl SimRegistry {
    /// Returns an empty registry. Its network runs in a task on the current runtime.
    pub(crate) fn new(
        recorder: &Recorder,
        nemesis: Arc<FactWriter>,
        rng: Rng,
        weather: Weather,
        session_timeout: Duration,
    ) -> Self {
        Self { shared: Shared::new(recorder, nemesis, rng, weather, session_timeout) }
    }

    /// Creates the registry client of a process; it connects by itself.
    pub(crate) fn connect(&self, owner: &str, gate: &Arc<Gate>) -> SimCenter {
        self.shared.with(|net| {
            let id = ClientId(u32::try_from(net.clients.len()).unwrap_or(u32::MAX));
            let client = Client::new(owner.to_owned(), Arc::clone(gate));
            let hub = Arc::clone(&client.hub);
            net.clients.insert(id, client);
            net.links.insert(id, Link::default());
            net.start_client(id);
            SimCenter { shared: Arc::clone(&self.shared), id, hub }
        })
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.shared.with(|net| net.weather = weather);
    }

    pub(crate) fn set_link(&self, id: ClientId, mode: LinkMode) {
        self.shared.with(|net| net.set_link(id, mode));
    }

    /// Sets the share of calls that lose their request or reply, in thousandths.
    pub(crate) fn set_loss(&self, id: ClientId, permille: u32) {
        self.shared.with(|net| net.set_loss(id, permille));
    }

    /// Breaks the connection and blocks the link until its mode is set again.
    #[cfg(test)]
    pub(crate) fn cut(&self, id: ClientId) {
        self.shared.with(|net| {
            net.set_link(id, LinkMode::Black);
            net.reset(id);
        });
    }

    /// Ends a session on the registry's side. Returns false if there is none.
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

    /// Arms an action for a write of a process.
    pub(crate) fn inject(&self, id: ClientId, point: Point, action: Action) {
        self.shared.with(|net| net.arm(id, Injection { point, action }));
    }

    /// Removes all armed actions and returns their owners and descriptions.
    pub(crate) fn disarm(&self) -> Vec<(String, String)> {
        self.shared.with(|net| net.disarm())
    }

    /// Takes all servers down for this time.
    pub(crate) fn power_off(&self, time: Duration) {
        self.shared.with(|net| net.power_off(time));
    }

    /// Stops the leading server for this time.
    pub(crate) fn freeze(&self, time: Duration) {
        self.shared.with(|net| net.freeze(time));
    }

    /// Ends an outage of the registry.
    pub(crate) fn restore(&self) {
        self.shared.with(|net| net.restore());
    }

    /// Sets the lag of followers.
    pub(crate) fn set_lag(&self, time: Duration) {
        self.shared.with(|net| net.set_lag(time));
    }

    /// Commits as the operator. Returns `None` if the registry does not answer.
    pub(crate) fn operate(&self, txn: &Txn) -> Option<Result<TxnOutcome>> {
        self.shared.with(|net| net.operate(txn))
    }

    /// Returns the session that a client considers its own.
    pub(crate) fn session_of(&self, id: ClientId) -> Option<SessionId> {
        self.shared.with(|net| net.clients.get(&id).and_then(|client| client.session))
    }

    /// Returns true if the task of the network has ended.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.has_failed()
    }

    /// Records in the log how many feeds each session has.
    pub(crate) fn record_feeds(&self) {
        self.shared.with(|net| net.record_feeds());
    }

    /// Passes the registry's model to a function.
    pub(crate) fn with_model<T>(&self, at: impl FnOnce(&Model) -> T) -> T {
        self.shared.with(|net| at(net.server.model()))
    }
}
