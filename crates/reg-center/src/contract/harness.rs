//! Interface between the suite and a backend: clients, faults and a timer.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::RegistryCenter;

/// One empty registry for one case.
///
/// A backend implements this in its own tests and creates a new registry for every case: another
/// server, another namespace, or another in-memory registry.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Opens a new session on the registry and returns when the session is connected.
    async fn connect(&self) -> Client;

    /// Returns a future that is ready after `duration`.
    ///
    /// The suite uses it as a deadline only, never to wait until something has happened.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Returns the monotonic time since a fixed instant.
    fn now(&self) -> Duration;

    /// Returns the deadline of each wait of the suite. Default: 60 s, which suits busy machines.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// A session on the registry, and the means to disturb it.
pub struct Client {
    /// The registry center under test.
    pub center: Arc<dyn RegistryCenter>,
    /// Faults that affect this client alone.
    pub faults: Arc<dyn Faults>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("center", &self.center).finish_non_exhaustive()
    }
}

/// Fault injection between one client and the registry.
///
/// Each fault is in force when its future is ready, and lasts until [`heal`](Self::heal) unless its
/// documentation says otherwise.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Closes the connection in an orderly way, and rejects every further one.
    async fn cut(&self);

    /// Breaks the connection once. Later traffic passes, except for held bytes of the old
    /// connection.
    async fn reset(&self);

    /// Delays all traffic by some milliseconds.
    async fn slow_down(&self);

    /// Drops all traffic silently. The session survives if this is healed soon after the center has
    /// noticed.
    async fn black_hole(&self);

    /// Drops all traffic silently until the registry itself expires the session.
    ///
    /// A registry with a clock expires the session later. A registry without a clock has expired it
    /// when this returns.
    async fn silence(&self);

    /// Lets requests pass and holds replies: the next write is executed, and its caller gets no
    /// answer.
    async fn hold_replies(&self);

    /// Holds requests: the next write never arrives.
    async fn hold_requests(&self);

    /// Lets all traffic pass again, including the held bytes.
    async fn heal(&self);

    /// Expires the session on the registry. The center learns of it when it next contacts the
    /// registry. No fault remains in force.
    async fn expire(&self);

    /// Cuts the connection and expires the session on the registry. The center cannot learn of it
    /// before [`heal`](Self::heal).
    async fn expire_unnoticed(&self);
}
