//! The four ways in which a scheduler reaches the outside: registry, clock, tasks, randomness.

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

/// All four together, as every part of the shell carries them.
#[derive(Clone, Debug)]
pub(crate) struct Seams {
    pub(crate) registry: Arc<dyn RegistryCenter>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) spawn: Arc<dyn Spawn>,
    pub(crate) randomness: Arc<dyn Randomness>,
}

/// The deadline came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elapsed;

impl Seams {
    /// Reads both clocks, and the registry's as far as it is known.
    pub(crate) fn now(&self) -> Now {
        let wall = self.clock.wall();
        let registry_ms = self.registry.clock_reading().and_then(|reading| {
            let time = Timestamp::try_from(reading.nearest_to(wall.into())).ok()?;
            Some(time.as_millisecond())
        });
        Now { wall_ms: wall.as_millisecond(), registry_ms, mono: self.clock.monotonic() }
    }

    /// Runs a future to its end whatever becomes of the caller, and hands back its value.
    ///
    /// Registry writes go this way: a caller that stops waiting knows nothing about the write, and does not stop it.
    pub(crate) fn detach<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.spawn.spawn(Box::pin(async move {
            // The receiver may be gone: then nobody wants to know.
            let _ = sender.send(future.await);
        }));
        receiver
    }

    /// As [`until`], by this clock.
    pub(crate) async fn until<T>(
        &self,
        deadline: Duration,
        future: impl Future<Output = T>,
    ) -> Result<T, Elapsed> {
        until(&*self.clock, deadline, future).await
    }
}

/// Waits until the future is ready or the monotonic clock shows `deadline`. Not for registry writes.
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
