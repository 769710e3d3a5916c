//! What a backend brings to the suite: clients, faults and a timer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::RegistryCenter;

/// One registry, empty and of its own for one case, as the suite sees it.
///
/// A backend implements this in its own tests and makes a new one for every case: another server, another
/// namespace, or another in-memory registry.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Opens a new session on the registry and returns when it is connected.
    async fn connect(&self) -> Client;

    /// Returns a future that is ready after `duration`.
    ///
    /// The suite uses it as a deadline only, never to wait for something to have happened.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Returns the monotonic time since some moment that stays the same.
    fn now(&self) -> Duration;

    /// Returns how long the suite waits for something that must happen. Default: 60 s, for busy machines.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// A session on the registry, and the means to disturb it.
pub struct Client {
    /// The registry centre under test.
    pub center: Arc<dyn RegistryCenter>,
    /// Faults that concern this client alone.
    pub faults: Arc<dyn Faults>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("center", &self.center).finish_non_exhaustive()
    }
}

/// The network between one client and the registry, and the registry's opinion of its session.
///
/// Each fault is in force when its future is ready, and stays so until [`heal`](Self::heal) unless it says otherwise.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Ends the connection in an orderly way, and every further one.
    async fn cut(&self);

    /// Breaks the connection once and lets everything pass from then on, held bytes of the old connection excepted.
    async fn reset(&self);

    /// Lets everything pass, some milliseconds late.
    async fn slow_down(&self);

    /// Lets nothing pass, without telling anybody. The session survives if this is healed soon after the centre
    /// has noticed.
    async fn black_hole(&self);

    /// Lets nothing pass, without telling anybody, until the registry itself gives the session up. A registry that
    /// counts time does so later; one without a clock has done so when this returns.
    async fn silence(&self);

    /// Lets requests pass and no replies: the next write is executed and its caller does not learn it.
    async fn hold_replies(&self);

    /// Lets no requests pass: the next write is on its way for ever.
    async fn hold_requests(&self);

    /// Lets everything pass again, what was held included.
    async fn heal(&self);

    /// Ends the session on the registry; the centre learns of it as soon as it looks. Nothing stays disturbed.
    async fn expire(&self);

    /// Cuts the connection and ends the session on the registry; the centre cannot learn of it before
    /// [`heal`](Self::heal).
    async fn expire_unnoticed(&self);
}
