//! Harness of a real PostgreSQL server for the contract suite. Each client has a proxy of its own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use postgres_fixture::proxy::{Cut, Mode, Proxy};
use postgres_fixture::{Pooler, Server};
use reg_center::contract::{Client, Faults, Harness};
use reg_center::{NodePath, RegistryCenter as _, SessionChange, SessionId};
use reg_center_postgres::{Notify, PostgresCenter, PostgresOptions};
use tokio::runtime::{Builder, Runtime};

/// Long enough that a busy machine does not lose sessions, short enough to wait for an expiry.
const SESSION_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts")
}

/// The server of all cases. Each case has its own namespace.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("a PostgreSQL server is needed"))
}

/// Returns a namespace that no other test of this program uses.
pub(crate) fn namespace() -> String {
    static CASES: AtomicU32 = AtomicU32::new(0);
    format!("case-{}", CASES.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn options_for(address: SocketAddr) -> PostgresOptions {
    PostgresOptions::new(address.ip().to_string(), address.port(), "postgres").user("postgres")
}

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("the path is valid")
}

/// Fails the test if the future takes longer than a minute.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("{what}: not in {limit:?}"))
}

/// Connects a center that must be able to connect.
pub(crate) async fn connect(options: PostgresOptions) -> Arc<PostgresCenter> {
    let connected = soon("the center connects", PostgresCenter::connect(options)).await;
    connected.unwrap_or_else(|error| panic!("the center connects: {error}"))
}

/// Returns the session of a center that is or was connected.
pub(crate) fn session_of(center: &PostgresCenter) -> SessionId {
    match center.session() {
        Some(SessionChange::Connected { session, .. } | SessionChange::Suspended { session }) => {
            session
        }
        other => panic!("there is no session: {other:?}"),
    }
}

/// The pooler in front of that server.
pub(crate) fn pooler() -> &'static Pooler {
    static POOLER: OnceLock<Pooler> = OnceLock::new();
    POOLER.get_or_init(|| Pooler::start(server()).expect("PgBouncer is needed"))
}

pub(crate) struct PostgresHarness {
    namespace: String,
    /// The server, or the pooler in front of it.
    address: SocketAddr,
    notify: Notify,
    start: Instant,
}

impl PostgresHarness {
    pub(crate) fn new(notify: Notify) -> Self {
        Self::at(server().address(), notify)
    }

    pub(crate) fn behind_pooler() -> Self {
        Self::at(pooler().address(), Notify::Off)
    }

    fn at(address: SocketAddr, notify: Notify) -> Self {
        Self { namespace: namespace(), address, notify, start: Instant::now() }
    }
}

#[async_trait]
impl Harness for PostgresHarness {
    async fn connect(&self) -> Client {
        let proxy = Proxy::start(self.address).await.expect("a proxy starts");
        let options = options_for(proxy.address())
            .namespace(&self.namespace)
            .notify(self.notify)
            .session_timeout(SESSION_TIMEOUT)
            .request_timeout(SESSION_TIMEOUT / 2);
        let center =
            PostgresCenter::connect(options).await.expect("a center connects through its proxy");
        Client { center: center.clone(), faults: Arc::new(ProxyFaults { proxy, center }) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

struct ProxyFaults {
    proxy: Proxy,
    center: Arc<PostgresCenter>,
}

impl ProxyFaults {
    async fn set(&self, mode: Mode) {
        self.proxy.set(mode).await.expect("the proxy changes its mode");
    }

    /// Ends the session through another connection.
    async fn end_session(&self) {
        let session = session_of(&self.center);
        // Another center would do the same after the timeout.
        let end = format!("SELECT ejob.end_session({}, -1)", session.0);
        tokio::task::spawn_blocking(move || server().query(&end))
            .await
            .expect("the query does not panic")
            .expect("the session is ended through another connection");
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

    async fn hold_replies(&self) {
        self.set(Mode::HoldReplies).await;
    }

    async fn hold_requests(&self) {
        self.set(Mode::HoldRequests).await;
    }

    async fn heal(&self) {
        self.set(Mode::Pass).await;
    }

    async fn expire(&self) {
        // Nothing fails, so that the center learns of the end by its next request.
        self.end_session().await;
        self.set(Mode::Pass).await;
    }

    async fn expire_unnoticed(&self) {
        self.set(Mode::Close).await;
        self.end_session().await;
    }
}
