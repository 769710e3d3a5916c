//! The contract suite on a real etcd server. Each client has a proxy of its own.

mod compaction;
mod late_writes;
mod leaders;
mod limits;
mod restarts;
mod secure;
mod sequences;
mod values;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use etcd_fixture::Server;
use etcd_fixture::proxy::{Cut, Mode, Proxy};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reg_center::contract::{Case, Client, Faults, Harness};
use reg_center::{NodePath, RegistryCenter as _, SessionChange, SessionFeed, SessionId};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::client::{self, Target};
use crate::session::Gate;
use crate::{EtcdCenter, EtcdOptions};

reg_center::contract_tests!(run);

/// Long enough that a busy machine does not lose sessions, short enough to wait for an expiry.
const SESSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit of each wait of the tests.
const LIMIT: Duration = Duration::from_secs(60);

fn run(case: &Case) {
    runtime().block_on(case.run(&EtcdHarness::new()));
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts")
}

/// The server of all cases. Each case has its own namespace.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("an etcd server is needed"))
}

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("the path is valid")
}

/// Fails the test if the future takes longer than a minute.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let late = |_| panic!("{what}: not within {LIMIT:?}");
    tokio::time::timeout(LIMIT, future).await.unwrap_or_else(late)
}

/// Waits for the next change that `wanted` accepts.
async fn await_change(
    changes: &mut SessionFeed,
    what: &str,
    wanted: impl Fn(SessionChange) -> bool,
) -> SessionChange {
    let wait = async {
        loop {
            let change = changes.next().await.unwrap_or_else(|| panic!("closed before: {what}"));
            if wanted(change) {
                return change;
            }
        }
    };
    soon(what, wait).await
}

async fn await_connected(changes: &mut SessionFeed) -> SessionId {
    let is_connected = |change| matches!(change, SessionChange::Connected { .. });
    match await_change(changes, "the center is connected", is_connected).await {
        SessionChange::Connected { session, .. } => session,
        other @ (SessionChange::Suspended { .. }
        | SessionChange::Lost { .. }
        | SessionChange::Closed) => panic!("waited for a connection: {other:?}"),
    }
}

/// A connection of the tests, beside those of the centers.
async fn bare_client(address: std::net::SocketAddr) -> client::Client {
    let target = Target {
        host: address.ip().to_string(),
        port: address.port(),
        #[cfg(feature = "tls")]
        tls: None,
    };
    let channel = target.dial(LIMIT).await.expect("the server listens");
    client::Client::start(channel, LIMIT, None).await.expect("the server needs no user")
}

pub(crate) struct EtcdHarness {
    namespace: String,
    start: Instant,
}

impl EtcdHarness {
    fn new() -> Self {
        static CASES: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/contract/{}", CASES.fetch_add(1, Ordering::Relaxed));
        Self { namespace, start: Instant::now() }
    }
}

#[async_trait]
impl Harness for EtcdHarness {
    async fn connect(&self) -> Client {
        let proxy = Proxy::start(server().address()).await.expect("a proxy starts");
        let options = EtcdOptions::new(proxy.address().to_string(), &self.namespace)
            .session_timeout(SESSION_TIMEOUT);
        let center = EtcdCenter::connect(options).await.expect("a center connects");
        Client {
            center: center.clone(),
            faults: Arc::new(ProxyFaults { proxy: Arc::new(proxy), center }),
        }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

struct ProxyFaults {
    proxy: Arc<Proxy>,
    center: Arc<EtcdCenter>,
}

impl ProxyFaults {
    async fn set(&self, mode: Mode) {
        self.proxy.set(mode).await.expect("the proxy changes its mode");
    }

    /// Ends the session through another connection.
    async fn end_session(&self) {
        let session = match self.center.session() {
            Some(
                SessionChange::Connected { session, .. } | SessionChange::Suspended { session },
            ) => session,
            other @ (Some(SessionChange::Lost { .. } | SessionChange::Closed) | None) => {
                panic!("there is no session to expire: {other:?}")
            }
        };
        // The server deletes the keys of a lease in the same way when its time is over.
        let client = bare_client(server().address()).await;
        client.lease_revoke(session.0).await.expect("the lease is revoked");
    }
}

#[async_trait]
impl Faults for ProxyFaults {
    async fn cut(&self) {
        self.set(Mode::Close).await;
    }

    async fn reset(&self) {
        self.proxy.kick(Cut::Reset).await.expect("the proxy resets the connection");
        self.set(Mode::Pass).await;
    }

    async fn slow_down(&self) {
        self.set(Mode::Delay(Duration::from_millis(20))).await;
    }

    async fn black_hole(&self) {
        self.set(Mode::BlackHole).await;
    }

    async fn silence(&self) {
        self.set(Mode::BlackHole).await;
    }

    /// Holds the reply to the next write. A transaction reads before it writes, and without the
    /// reply to the read it would write nothing.
    async fn hold_replies(&self) {
        let (reached, is_reached) = oneshot::channel();
        let (open, opened) = oneshot::channel();
        self.center.stop_next_write(Gate { reached, opened });
        let proxy = Arc::clone(&self.proxy);
        tokio::spawn(async move {
            if is_reached.await.is_ok() {
                proxy.set(Mode::HoldReplies).await.expect("the proxy changes its mode");
                let _ = open.send(());
            }
        });
    }

    async fn hold_requests(&self) {
        self.set(Mode::HoldRequests).await;
    }

    async fn heal(&self) {
        self.set(Mode::Pass).await;
    }

    async fn expire(&self) {
        // Nothing fails, so that the center learns of the end from the server.
        self.end_session().await;
        self.set(Mode::Pass).await;
    }

    async fn expire_unnoticed(&self) {
        self.set(Mode::Close).await;
        self.end_session().await;
    }
}
