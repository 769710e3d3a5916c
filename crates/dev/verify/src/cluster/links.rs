//! Network of one worker: a proxy in front of each server.

use std::net::SocketAddr;

use parking_lot::Mutex;
use testkit::harness::LinkMode;
use zookeeper_fixture::proxy::{Cut, Mode, Proxy};

use super::wire::Credentials;

/// Proxies of one worker, in the order of the servers. All starts of the process use the same ones.
#[derive(Debug)]
pub(super) struct Links {
    proxies: Vec<Proxy>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    mode: LinkMode,
    /// The only reachable server; `None` if all are reachable.
    pinned: Option<usize>,
}

impl Links {
    pub(super) async fn start(servers: &[SocketAddr]) -> Result<Self, zookeeper_fixture::Error> {
        let mut proxies = Vec::new();
        for server in servers {
            proxies.push(Proxy::start(*server).await?);
        }
        Ok(Self { proxies, state: Mutex::new(State { mode: LinkMode::Pass, pinned: None }) })
    }

    /// Returns true if there is no network between the worker and its registry.
    pub(super) fn is_empty(&self) -> bool {
        self.proxies.is_empty()
    }

    /// Returns the addresses that the worker connects to.
    pub(super) fn addresses(&self) -> String {
        self.proxies.iter().map(Proxy::connect_string).collect::<Vec<_>>().join(",")
    }

    pub(super) fn mode(&self) -> LinkMode {
        self.state.lock().mode
    }

    /// Changes the mode of the connections.
    ///
    /// A proxy holds bytes back and does not lose them. A loss of requests or replies therefore
    /// ends with a reset, so that the held bytes are lost. A black hole ends without a reset: the
    /// bytes still arrive.
    pub(super) async fn set(&self, mode: LinkMode) -> Result<(), zookeeper_fixture::Error> {
        let before = self.mode();
        if matches!(before, LinkMode::DropRequests | LinkMode::DropReplies)
            || mode == LinkMode::Reset
        {
            self.reset().await?;
        }
        let mode = if mode == LinkMode::Reset { LinkMode::Pass } else { mode };
        self.state.lock().mode = mode;
        self.apply().await
    }

    /// Lets the worker reach one server only, or all servers again.
    pub(super) async fn pin(&self, server: Option<usize>) -> Result<(), zookeeper_fixture::Error> {
        self.state.lock().pinned = server;
        self.apply().await
    }

    /// Ends all connections and rejects new ones, until [`Links::apply`].
    pub(super) async fn refuse(&self) -> Result<(), zookeeper_fixture::Error> {
        for proxy in &self.proxies {
            proxy.set(Mode::Refuse).await?;
        }
        Ok(())
    }

    /// Applies the chosen mode.
    pub(super) async fn apply(&self) -> Result<(), zookeeper_fixture::Error> {
        let State { mode, pinned } = *self.state.lock();
        for (server, proxy) in self.proxies.iter().enumerate() {
            let is_open = pinned.is_none_or(|pinned| pinned == server);
            proxy.set(if is_open { proxy_mode(mode) } else { Mode::Refuse }).await?;
        }
        Ok(())
    }

    /// Resets all connections; new ones are possible.
    pub(super) async fn reset(&self) -> Result<(), zookeeper_fixture::Error> {
        for proxy in &self.proxies {
            proxy.kick(Cut::Reset).await?;
        }
        Ok(())
    }

    /// Returns the sessions that were opened or resumed through these proxies.
    pub(super) fn sessions(&self) -> impl Iterator<Item = Credentials> {
        let greetings = self.proxies.iter().flat_map(Proxy::greetings);
        greetings.filter_map(|greeting| Credentials::of_reply(&greeting))
    }
}

fn proxy_mode(mode: LinkMode) -> Mode {
    match mode {
        LinkMode::Pass | LinkMode::Reset => Mode::Pass,
        LinkMode::DropRequests => Mode::HoldRequests,
        LinkMode::DropReplies => Mode::HoldReplies,
        LinkMode::Black => Mode::BlackHole,
        LinkMode::Delay(delay) => Mode::Delay(delay),
    }
}

/// Returns the kind and the details of the fault that a mode causes, if any.
pub(super) fn fault(mode: LinkMode) -> Option<(&'static str, String)> {
    match mode {
        LinkMode::Pass => None,
        LinkMode::Black | LinkMode::DropRequests | LinkMode::DropReplies => {
            Some(("partition", format!("{mode:?}")))
        }
        LinkMode::Reset => Some(("reset", String::new())),
        LinkMode::Delay(delay) => Some(("delay", format!("ms={}", delay.as_millis()))),
    }
}
