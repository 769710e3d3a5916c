//! The clock and the randomness of a process.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use lite::{Clock, Randomness};
use parking_lot::Mutex;

use crate::system::world::WorldClock;

/// The clocks of a process. The wall clock can be wrong by a set difference; the monotonic clock is
/// exact.
#[derive(Debug)]
pub(crate) struct SimClock {
    world: WorldClock,
    skew_ms: AtomicI64,
}

impl SimClock {
    pub(crate) fn new(world: WorldClock, skew_ms: i64) -> Self {
        Self { world, skew_ms: AtomicI64::new(skew_ms) }
    }

    /// Sets the difference between the wall clock and the true time, in milliseconds, at once.
    pub(crate) fn set_skew(&self, ms: i64) {
        self.skew_ms.store(ms, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn wall(&self) -> Timestamp {
        let skew = SignedDuration::from_millis(self.skew_ms.load(Ordering::Relaxed));
        self.world.wall().saturating_add(skew).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.world.elapsed()
    }

    fn sleep_until(&self, deadline: Duration) -> BoxFuture<'static, ()> {
        match self.world.moment(deadline) {
            Some(moment) => Box::pin(tokio::time::sleep_until(moment)),
            None => Box::pin(std::future::pending()),
        }
    }
}

/// Randomness from the world's seed.
#[derive(Debug)]
pub(crate) struct SeededRandomness(Mutex<Rng>);

impl SeededRandomness {
    pub(crate) fn new(rng: Rng) -> Self {
        Self(Mutex::new(rng))
    }
}

impl Randomness for SeededRandomness {
    fn next_u64(&self) -> u64 {
        self.0.lock().u64(..)
    }
}
