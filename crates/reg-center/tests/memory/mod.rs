//! Harness of the in-memory registry for the contract suite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reg_center::contract::{Client, Faults, Harness};
use reg_center::memory::WriteFault;
use reg_center::{MemoryCenter, MemoryRegistry};
use tokio::time::Instant;

pub(crate) fn on_an_empty_registry(test: impl AsyncFn(&MemoryHarness)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let harness = MemoryHarness { registry: MemoryRegistry::new(), start: Instant::now() };
    runtime.expect("a runtime").block_on(test(&harness));
}

pub(crate) struct MemoryHarness {
    registry: MemoryRegistry,
    start: Instant,
}

#[async_trait]
impl Harness for MemoryHarness {
    async fn connect(&self) -> Client {
        let center = Arc::new(self.registry.connect());
        Client { center: center.clone(), faults: Arc::new(MemoryFaults(center)) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// Lease while the connection is down. The registry has no clock, so a session lives until a test
/// ends it.
const LEASE: Duration = Duration::from_secs(1);

struct MemoryFaults(Arc<MemoryCenter>);

#[async_trait]
impl Faults for MemoryFaults {
    /// Nothing is slow in memory. Instead this withholds the changes of feeds until `heal`.
    async fn slow_down(&self) {
        self.0.hold_feeds();
    }

    async fn cut(&self) {
        self.0.suspend(LEASE);
    }

    async fn reset(&self) {
        self.0.suspend(LEASE);
        self.0.resume();
    }

    async fn black_hole(&self) {
        self.0.suspend(LEASE);
    }

    async fn silence(&self) {
        self.0.expire_unnoticed(Duration::ZERO);
    }

    async fn hold_replies(&self) {
        self.0.fail_next_write(WriteFault::LoseReply);
    }

    async fn hold_requests(&self) {
        self.0.fail_next_write(WriteFault::LoseRequest);
    }

    async fn heal(&self) {
        self.0.release_feeds();
        self.0.resume();
    }

    async fn expire(&self) {
        self.0.expire();
    }

    async fn expire_unnoticed(&self) {
        self.0.expire_unnoticed(LEASE);
    }
}
