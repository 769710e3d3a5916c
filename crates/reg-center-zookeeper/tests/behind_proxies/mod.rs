//! Harness of a real ZooKeeper server for the contract suite. Each client has a proxy of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reg_center::contract::{Client, Faults, Harness};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use tokio::runtime::{Builder, Runtime};
use zookeeper_fixture::Server;
use zookeeper_fixture::proxy::{Cut, Mode, Proxy};

/// Long enough that a busy machine does not lose sessions, short enough to wait for an expiry.
const SESSION_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts")
}

/// The server of all cases. Each case has its own namespace.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start().expect("a ZooKeeper server is needed"))
}

pub(crate) struct ZookeeperHarness {
    namespace: String,
    start: Instant,
}

impl ZookeeperHarness {
    pub(crate) fn new() -> Self {
        static CASES: AtomicU32 = AtomicU32::new(0);
        let namespace = format!("/contract/{}", CASES.fetch_add(1, Ordering::Relaxed));
        Self { namespace, start: Instant::now() }
    }
}

#[async_trait]
impl Harness for ZookeeperHarness {
    async fn connect(&self) -> Client {
        let proxy = Proxy::start(server().address()).await.expect("a proxy starts");
        let options = ZookeeperOptions::new(proxy.connect_string())
            .namespace(&self.namespace)
            .session_timeout(SESSION_TIMEOUT);
        let center =
            ZookeeperCenter::connect(options).await.expect("a center connects through its proxy");
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
    center: Arc<ZookeeperCenter>,
}

impl ProxyFaults {
    async fn set(&self, mode: Mode) {
        self.proxy.set(mode).await.expect("the proxy changes its mode");
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
        self.expire_unnoticed().await;
        self.set(Mode::Pass).await;
    }

    async fn expire_unnoticed(&self) {
        self.set(Mode::Close).await;
        self.center
            .expire_through(&server().connect_string())
            .await
            .expect("the session is expired through another connection");
    }
}
