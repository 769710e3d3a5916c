//! Everyday conditions of the network and the registry, without injected faults.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// Network conditions, the same for all processes. Times are in milliseconds.
///
/// | field | meaning | [`CALM`](Self::CALM) |
/// |---|---|---|
/// | `delay_min`, `delay_max` | bounds of the delay of each message, in each direction | 1, 3 |
/// | `spike_permille`, `spike_max` | share of messages with an extra delay; its maximum | 0, 0 |
/// | `feed_lag_max` | maximum additional delay of changes to a watcher | 2 |
/// | `shuffle_permille` | share of transactions that reach a watcher in two parts | 0 |
/// | `stale_permille` | share of plain reads that a lagging follower answers | 0 |
/// | `loss_permille` | share of calls that lose their request or reply | 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weather {
    /// Minimum delay of a message.
    pub delay_min: u64,
    /// Maximum delay of a message without a spike.
    pub delay_max: u64,
    /// Share of messages with an additional delay, in thousandths.
    pub spike_permille: u32,
    /// Maximum additional delay of those messages.
    pub spike_max: u64,
    /// Maximum additional delay of changes to a watcher.
    pub feed_lag_max: u64,
    /// Share of transactions that a watcher receives in two parts, in thousandths.
    pub shuffle_permille: u32,
    /// Share of plain reads that are answered from the past, in thousandths.
    pub stale_permille: u32,
    /// Share of calls that lose their request or reply, in thousandths.
    pub loss_permille: u32,
}

impl Weather {
    /// A fast network without losses, spikes or stale reads.
    pub const CALM: Self = Self {
        delay_min: 1,
        delay_max: 3,
        spike_permille: 0,
        spike_max: 0,
        feed_lag_max: 2,
        shuffle_permille: 0,
        stale_permille: 0,
        loss_permille: 0,
    };

    /// An average network, without losses.
    pub const USUAL: Self = Self {
        delay_min: 1,
        delay_max: 12,
        spike_permille: 10,
        spike_max: 120,
        feed_lag_max: 20,
        shuffle_permille: 100,
        stale_permille: 100,
        loss_permille: 0,
    };

    /// Returns the maximum time for one reaction under these conditions, in milliseconds: to
    /// receive a change, to write, and to write once more.
    #[must_use]
    pub fn worst_reaction(&self) -> u64 {
        4 * (self.delay_max + self.spike_max) + 2 * self.feed_lag_max
    }

    pub(super) fn delay(&self, rng: &mut Rng) -> u64 {
        let way = rng.u64(self.delay_min..=self.delay_max.max(self.delay_min));
        way + if draw_permille(rng, self.spike_permille) { rng.u64(0..=self.spike_max) } else { 0 }
    }

    pub(super) fn feed_lag(&self, rng: &mut Rng) -> u64 {
        rng.u64(0..=self.feed_lag_max)
    }
}

/// Draws whether an event of this frequency happens. A frequency of 0 draws no number.
pub(super) fn draw_permille(rng: &mut Rng, permille: u32) -> bool {
    permille > 0 && rng.u32(0..1000) < permille
}
