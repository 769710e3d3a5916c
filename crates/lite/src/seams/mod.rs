//! The four seams between a scheduler and the outside: registry, clock, tasks, randomness.

mod alarm;
mod clock;
mod randomness;
mod spawn;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use coordination::Now;
use jiff::Timestamp;
use reg_center::RegistryCenter;
use tokio::select;
use tokio::sync::oneshot;

pub use clock::{Clock, SystemClock, TokioClock};
pub use randomness::{Randomness, SystemRandomness};
pub use spawn::{Spawn, Task, TokioSpawn};

/// The four seams, as every part of the crate carries them.
#[derive(Clone, Debug)]
pub(crate) struct Seams {
    pub(crate) registry: Arc<dyn RegistryCenter>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) randomness: Arc<dyn Randomness>,
}

/// Error of a wait whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elapsed;

impl Seams {
    /// Reads both clocks, and the registry's time if it is known.
    pub(crate) fn now(&self) -> Now {
        let wall = self.clock.wall();
        let registry_ms = self.registry.clock_reading().and_then(|reading| {
            let time = Timestamp::try_from(reading.nearest_to(wall.into())).ok()?;
            Some(time.as_millisecond())
        });
        Now { wall_ms: wall.as_millisecond(), registry_ms, mono: self.clock.monotonic() }
    }

    /// Runs a future to its end even if the caller stops waiting, and returns its value.
    ///
    /// Registry writes use it: a caller that stops waiting does not know the outcome of the write,
    /// and must not stop it.
    pub(crate) fn detach<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.spawn.spawn(Box::pin(async move {
            // The caller may have stopped waiting for the value.
            let _ = sender.send(future.await);
        }));
        receiver
    }

    /// Calls [`until`] with this clock.
    pub(crate) async fn until<T>(
        &self,
        deadline: Duration,
        future: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        until(&*self.clock, deadline, future).await
    }
}

/// Waits until the future is ready or the monotonic clock reaches `deadline`. Not for registry
/// writes, which must not be dropped.
pub(crate) async fn until<T>(
    clock: &dyn Clock,
    deadline: Duration,
    future: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    select! {
        biased;
        value = future => Ok(value),
        () = clock.sleep_until(deadline) => Err(Elapsed),
    }
}
