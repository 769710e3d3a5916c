//! Contract tests of the simulated registry. It must not be more lenient than a real one.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use reg_center::contract::{Case, Client, Faults, Harness};
use reg_center::{RegistryCenter, SessionChange};

use super::{ClientId, SimRegistry, Weather};
use crate::cluster::LinkMode;
use crate::system::process::Gate;
use crate::system::recorder::Recorder;
use crate::system::run as run_world;
use crate::system::world::WorldClock;

reg_center::contract_tests!(run);

fn run(case: &Case) {
    for seed in 0..2 {
        in_world(seed, async |harness| case.run(harness).await);
    }
}

/// A fast network that splits transactions for watchers and answers plain reads from the past.
const WEATHER: Weather = Weather {
    delay_min: 0,
    delay_max: 4,
    feed_lag_max: 6,
    shuffle_permille: 300,
    stale_permille: 300,
    ..Weather::CALM
};

fn in_world(seed: u64, test: impl AsyncFn(&SimHarness)) {
    run_world(async {
        let recorder = Recorder::new(WorldClock::starting_at(Timestamp::UNIX_EPOCH));
        let nemesis = Arc::new(recorder.writer("nemesis", 0));
        let timeout = Duration::from_secs(4);
        let rng = Rng::with_seed(seed);
        let registry = SimRegistry::new(&recorder, nemesis, rng, WEATHER, timeout);
        poll_every_millisecond(test(&SimHarness { registry, clock: recorder.clock() })).await;
    });
}

/// Polls a future once per millisecond. The cases wait busily, and virtual time passes only while
/// no task is ready.
async fn poll_every_millisecond(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut idle = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut idle).is_pending() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

struct SimHarness {
    registry: SimRegistry,
    clock: WorldClock,
}

#[async_trait]
impl Harness for SimHarness {
    async fn connect(&self) -> Client {
        let center = Arc::new(self.registry.connect("client", &Gate::open()));
        let mut changes = center.session_feed();
        while !matches!(changes.next().await, Some(SessionChange::Connected { .. })) {}
        let faults = SimFaults { registry: self.registry.clone(), id: center.id() };
        Client { center, faults: Arc::new(faults) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.clock.elapsed()
    }
}

struct SimFaults {
    registry: SimRegistry,
    id: ClientId,
}

impl SimFaults {
    fn link(&self, mode: LinkMode) {
        self.registry.set_link(self.id, mode);
    }
}

#[async_trait]
impl Faults for SimFaults {
    async fn cut(&self) {
        self.registry.cut(self.id);
    }

    async fn reset(&self) {
        // Messages that were held back are lost with their connection.
        self.registry.cut(self.id);
        self.link(LinkMode::Pass);
    }

    async fn slow_down(&self) {
        self.link(LinkMode::Delay(Duration::from_millis(30)));
    }

    async fn black_hole(&self) {
        self.link(LinkMode::Black);
    }

    async fn silence(&self) {
        self.link(LinkMode::Black);
    }

    async fn hold_replies(&self) {
        self.link(LinkMode::DropReplies);
    }

    async fn hold_requests(&self) {
        self.link(LinkMode::DropRequests);
    }

    async fn heal(&self) {
        self.link(LinkMode::Pass);
    }

    async fn expire(&self) {
        self.expire_unnoticed().await;
        self.link(LinkMode::Pass);
    }

    async fn expire_unnoticed(&self) {
        self.registry.cut(self.id);
        assert!(self.registry.expire(self.id), "the client has no session to end");
    }
}
