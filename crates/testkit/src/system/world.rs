//! State that the whole simulated world shares: its clock and its sources of randomness.

use std::time::Duration;

use fastrand::Rng;
use jiff::Timestamp;
use tokio::time::Instant;

/// True time of a world, in tokio's paused time. It counts whole milliseconds, the resolution of
/// tokio's timers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorldClock {
    origin: Instant,
    epoch: Timestamp,
}

impl WorldClock {
    /// Returns a clock that shows `epoch` now.
    pub(crate) fn starting_at(epoch: Timestamp) -> Self {
        Self { origin: Instant::now(), epoch }
    }

    /// Returns the time since the world began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Returns the whole milliseconds since the world began.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the nanoseconds since the world began.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the instant this long after the beginning of the world.
    pub(crate) fn moment(&self, since_origin: Duration) -> Option<Instant> {
        self.origin.checked_add(since_origin)
    }

    /// Returns the true wall time.
    pub(crate) fn wall(&self) -> Timestamp {
        self.epoch.saturating_add(self.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

/// Independent sources of randomness: a changed use of one does not affect the others.
#[derive(Debug)]
pub(crate) struct Streams {
    /// Delays, losses and staleness.
    pub(crate) network: Rng,
    /// Randomness of the product; each incarnation of a process forks its own source.
    pub(crate) lives: Rng,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Self {
        let mut root = Rng::with_seed(seed);
        Self { network: root.fork(), lives: root.fork() }
    }
}
