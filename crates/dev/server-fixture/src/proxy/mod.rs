//! A TCP proxy in front of one server, whose behaviour a test switches while it runs.
//!
//! It runs inside the test's tokio runtime and needs no privileges. To give each client its own
//! network, start one proxy per client. In reading order: `mode` (behaviours) · `delay_line` (held
//! and delayed bytes) · `connection` (relay) · `counters` (conditions to wait for) · `greetings`
//! (first bytes of each connection).

mod connection;
mod counters;
mod delay_line;
mod greetings;
mod listener;
mod mode;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Error;
use crate::loopback::LoopbackAddress;
use greetings::Greetings;

pub use counters::Counters;
pub use mode::{Cut, Mode};

/// Longest wait for the proxy's own tasks to apply an order, which takes only their scheduling.
const SWITCH_LIMIT: Duration = Duration::from_secs(30);

/// A TCP proxy on a loopback address of its own, in front of one server.
///
/// It starts in [`Mode::Pass`]. Dropping it closes its connections and stops listening.
///
/// # Examples
/// ```no_run
/// # async fn example(server: std::net::SocketAddr) -> Result<(), server_fixture::Error> {
/// use std::time::Duration;
/// use server_fixture::proxy::{Cut, Mode, Proxy};
///
/// let proxy = Proxy::start(server).await?;
/// // … connect a client to `proxy.connect_string()` …
/// proxy.wait_for_connections(1, Duration::from_secs(10)).await?;
/// proxy.set(Mode::HoldReplies).await?; // writes of the client now have an unknown outcome
/// proxy.kick(Cut::Reset).await?; // the client has to connect again
/// proxy.set(Mode::Pass).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    listening: AbortHandle,
}

/// State that all tasks of the proxy share.
#[derive(Debug)]
struct Shared {
    address: LoopbackAddress,
    upstream: Mutex<SocketAddr>,
    orders: watch::Sender<Orders>,
    counters: watch::Sender<Counters>,
    greetings: Greetings,
}

/// Orders of the test to the proxy's tasks.
#[derive(Clone, Copy, Debug)]
struct Orders {
    mode: Mode,
    /// Exclusive upper bound of the numbers of connections that must end.
    cut_below: u64,
    /// Kind of their end.
    cut: Cut,
}

impl Shared {
    fn upstream(&self) -> SocketAddr {
        *self.upstream.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// Starts a proxy in front of `upstream`, on the current tokio runtime.
    ///
    /// `upstream` need not listen yet. A client that connects too early is disconnected.
    ///
    /// # Errors
    /// [`Error::NoAddress`] and [`Error::Listen`].
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time.
    pub async fn start(upstream: SocketAddr) -> Result<Proxy, Error> {
        let orders = Orders { mode: Mode::Pass, cut_below: 0, cut: Cut::Close };
        let shared = Arc::new(Shared {
            address: LoopbackAddress::reserve()?,
            upstream: Mutex::new(upstream),
            orders: watch::Sender::new(orders),
            counters: watch::Sender::new(Counters::default()),
            greetings: Greetings::default(),
        });
        let listener = listener::bind(&shared).await?;
        let listening = tokio::spawn(listener::run(shared.clone(), listener)).abort_handle();
        Ok(Proxy { shared, listening })
    }

    /// Returns the proxy's address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.address.client_address()
    }

    /// Returns the proxy's address as text: `127.9.8.7:2181`.
    #[must_use]
    pub fn connect_string(&self) -> String {
        self.address().to_string()
    }

    /// Directs new connections to another server, as a virtual address does after a failover.
    ///
    /// Existing connections stay with their server until they are cut.
    pub fn redirect(&self, upstream: SocketAddr) {
        *self.shared.upstream.lock().unwrap_or_else(PoisonError::into_inner) = upstream;
    }

    /// Returns the mode that was set last.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.orders.borrow().mode
    }

    /// Switches to `mode` and returns when it is in force.
    ///
    /// From then on the proxy holds all bytes that `mode` holds, has cut all connections that it
    /// cuts, and listens only if `mode` accepts connections.
    ///
    /// # Errors
    /// [`Error::Listen`] if the proxy cannot listen again after [`Mode::Refuse`].
    /// [`Error::ProxyDeadline`] if the runtime does not run its tasks for 30 s.
    ///
    /// # Cancel safety
    /// The mode is set even if the wait is cancelled.
    pub async fn set(&self, mode: Mode) -> Result<(), Error> {
        self.shared.orders.send_modify(|orders| orders.mode = mode);
        let in_force = |counters: &Counters| {
            (mode.cut().is_none() || counters.open_connections() == 0)
                && counters.is_listening() == mode.listens()
                || counters.listen_error().is_some()
        };
        self.wait(&format!("{mode:?} in force"), SWITCH_LIMIT, in_force).await?;
        match self.counters().listen_error() {
            None => Ok(()),
            Some(kind) => Err(Error::Listen { address: self.address(), source: kind.into() }),
        }
    }

    /// Cuts all connections that were accepted so far, and returns when they have ended.
    ///
    /// The mode does not change and applies to new connections.
    ///
    /// # Errors
    /// [`Error::ProxyDeadline`] if the runtime does not run the proxy's tasks for 30 s.
    ///
    /// # Cancel safety
    /// The connections are cut even if the wait is cancelled.
    pub async fn kick(&self, cut: Cut) -> Result<(), Error> {
        let cut_below = self.counters().accepted();
        self.shared.orders.send_modify(|orders| {
            orders.cut_below = cut_below;
            orders.cut = cut;
        });
        let awaited = format!("the end of the first {cut_below} connections");
        self.wait(&awaited, SWITCH_LIMIT, |counters| counters.open_below(cut_below) == 0).await
    }

    /// Returns the present counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters.borrow().clone()
    }

    /// Returns the first bytes of the server on each connection, at most 64 of each.
    ///
    /// They are in the order of acceptance, without connections that have none. ZooKeeper's first
    /// reply contains the id and the password of the session. A test can use them to take the
    /// session over and end it although its owner does not run.
    #[must_use]
    pub fn greetings(&self) -> Vec<Vec<u8>> {
        self.shared.greetings.all()
    }

    /// Waits until `n_connections` have been accepted since the start, including ended ones.
    ///
    /// # Errors
    /// [`Error::ProxyDeadline`] after `limit`.
    pub async fn wait_for_connections(
        &self,
        n_connections: u64,
        limit: Duration,
    ) -> Result<(), Error> {
        let awaited = format!("{n_connections} connections accepted");
        self.wait(&awaited, limit, |counters| counters.accepted() >= n_connections).await
    }

    /// Waits until no connection is open.
    ///
    /// # Errors
    /// [`Error::ProxyDeadline`] after `limit`.
    pub async fn wait_until_closed(&self, limit: Duration) -> Result<(), Error> {
        self.wait("no open connection", limit, |counters| counters.open_connections() == 0).await
    }

    /// Waits until `n_bytes` have arrived from clients since the start, forwarded or held.
    ///
    /// # Errors
    /// [`Error::ProxyDeadline`] after `limit`.
    pub async fn wait_for_request_bytes(&self, n_bytes: u64, limit: Duration) -> Result<(), Error> {
        let awaited = format!("{n_bytes} bytes from clients");
        self.wait(&awaited, limit, |counters| counters.request_bytes() >= n_bytes).await
    }

    /// Waits until `n_bytes` have arrived from the server since the start, forwarded or held.
    ///
    /// With [`Mode::HoldReplies`] the server has then executed a request whose outcome is unknown
    /// to the client.
    ///
    /// # Errors
    /// [`Error::ProxyDeadline`] after `limit`.
    pub async fn wait_for_reply_bytes(&self, n_bytes: u64, limit: Duration) -> Result<(), Error> {
        let awaited = format!("{n_bytes} bytes from the server");
        self.wait(&awaited, limit, |counters| counters.reply_bytes() >= n_bytes).await
    }

    async fn wait(
        &self,
        awaited: &str,
        limit: Duration,
        reached: impl Fn(&Counters) -> bool,
    ) -> Result<(), Error> {
        let mut counters = self.shared.counters.subscribe();
        let waited =
            tokio::time::timeout(limit, counters.wait_for(|counters| reached(counters))).await;
        match waited {
            Ok(Ok(_)) => Ok(()),
            // `self` owns the sender, so that only the timeout occurs.
            Ok(Err(_)) | Err(_) => Err(Error::ProxyDeadline {
                awaited: awaited.to_owned(),
                after: limit,
                found: self.counters().to_string(),
            }),
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
