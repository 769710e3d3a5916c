//! The contract suite on the registry from scratch: a wire with faults between each center and the
//! store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use reg_center::contract::{Client, Faults, Harness};
use reg_center::{RegistryCenter as _, SessionChange};
use tokio::time::{self, Instant};

use super::backend::{Center, end_session};
use super::store::{Reply, Request, Tables, Wire};

/// Long enough that a busy machine does not end the sessions of a case.
const SESSION_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a test on an empty store, in a runtime of its own.
pub(crate) fn on_an_empty_store<T>(test: impl AsyncFnOnce(&StoreHarness) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let store = Arc::new(Mutex::new(Tables::create()));
    let harness = StoreHarness { store, start: Instant::now() };
    runtime.expect("a runtime starts").block_on(test(&harness))
}

pub(crate) struct StoreHarness {
    store: Arc<Mutex<Tables>>,
    start: Instant,
}

impl StoreHarness {
    /// Connects a client whose wire can fail.
    pub(crate) async fn center(&self) -> (Arc<Center>, Arc<FaultyWire>) {
        let wire = Arc::new(FaultyWire::new(Arc::clone(&self.store)));
        let center = Center::connect(wire.clone(), SESSION_TIMEOUT).await;
        (center.expect("the wire passes all requests"), wire)
    }
}

#[async_trait]
impl Harness for StoreHarness {
    async fn connect(&self) -> Client {
        let (center, wire) = self.center().await;
        Client { center: center.clone(), faults: Arc::new(StoreFaults { center, wire }) }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        time::sleep(duration).boxed()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// How a wire treats requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Held requests arrive after the first new one.
    Pass,
    /// Held requests stay in the network.
    PassNew,
    Refuse,
    /// As `PassNew`, after one refusal.
    RefuseOnce,
    /// Replies arrive some milliseconds later.
    DelayReplies,
    HoldRequests,
    HoldReplies,
}

/// A wire with faults.
pub(crate) struct FaultyWire {
    store: Arc<Mutex<Tables>>,
    mode: Mutex<Mode>,
    requests: Mutex<Vec<Request>>,
    replies: Mutex<Vec<Reply>>,
}

impl FaultyWire {
    fn new(store: Arc<Mutex<Tables>>) -> Self {
        let (requests, replies) = (Mutex::default(), Mutex::default());
        Self { store, mode: Mutex::new(Mode::Pass), requests, replies }
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.lock() = mode;
    }

    /// Executes the held requests, late, and returns their number.
    pub(crate) fn deliver_held_requests(&self) -> usize {
        let held = std::mem::take(&mut *self.requests.lock());
        let n_held = held.len();
        for request in held {
            self.store.send(request);
        }
        n_held
    }

    /// Ends the connection: the replies on their way are lost.
    fn lose_replies(&self) {
        self.replies.lock().clear();
    }
}

impl std::fmt::Debug for FaultyWire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyWire").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Wire for FaultyWire {
    fn send(&self, request: Request) -> bool {
        let mode = *self.mode.lock();
        match mode {
            Mode::Pass => {
                self.store.send(request);
                self.deliver_held_requests();
            }
            Mode::PassNew => {
                self.store.send(request);
            }
            Mode::Refuse => return false,
            Mode::RefuseOnce => {
                self.set(Mode::PassNew);
                return false;
            }
            Mode::DelayReplies => {
                let reply = request(&mut self.store.lock());
                tokio::spawn(async {
                    time::sleep(Duration::from_millis(5)).await;
                    reply();
                });
            }
            Mode::HoldRequests => self.requests.lock().push(request),
            Mode::HoldReplies => {
                let reply = request(&mut self.store.lock());
                self.replies.lock().push(reply);
            }
        }
        true
    }
}

struct StoreFaults {
    center: Arc<Center>,
    wire: Arc<FaultyWire>,
}

#[async_trait]
impl Faults for StoreFaults {
    async fn cut(&self) {
        self.wire.set(Mode::Refuse);
        self.wire.lose_replies();
    }

    async fn reset(&self) {
        self.wire.set(Mode::RefuseOnce);
        self.wire.lose_replies();
    }

    async fn slow_down(&self) {
        self.wire.set(Mode::DelayReplies);
    }

    async fn black_hole(&self) {
        self.wire.set(Mode::HoldRequests);
    }

    async fn silence(&self) {
        self.wire.set(Mode::HoldRequests);
    }

    async fn hold_replies(&self) {
        self.wire.set(Mode::HoldReplies);
    }

    async fn hold_requests(&self) {
        self.wire.set(Mode::HoldRequests);
    }

    async fn heal(&self) {
        self.wire.set(Mode::Pass);
        for reply in std::mem::take(&mut *self.wire.replies.lock()) {
            reply();
        }
    }

    async fn expire(&self) {
        self.expire_unnoticed().await;
        self.wire.set(Mode::Pass);
    }

    async fn expire_unnoticed(&self) {
        self.cut().await;
        let session = match self.center.session() {
            Some(
                SessionChange::Connected { session, .. } | SessionChange::Suspended { session },
            ) => session,
            other => panic!("there is no session to expire: {other:?}"),
        };
        end_session(&mut self.wire.store.lock(), session);
    }
}
