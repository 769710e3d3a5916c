//! What the network and the registry are like when nothing is wrong with them in particular.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// The everyday behaviour of the network, the same for all processes. Times are in milliseconds.
///
/// | field | meaning | [`CALM`](Self::CALM) |
/// |---|---|---|
/// | `delay_min`, `delay_max` | every message takes between these, each way | 1, 3 |
/// | `spike_permille`, `spike_max` | of a thousand messages so many take up to so much longer | 0, 0 |
/// | `feed_lag_max` | changes reach a watcher up to so much later than a reply would | 2 |
/// | `shuffle_permille` | of a thousand transactions so many are told to a watcher in two halves, in any order | 0 |
/// | `stale_permille` | of a thousand plain reads so many are answered by a follower that lags | 0 |
/// | `loss_permille` | of a thousand calls so many lose their request or reply, and with it the connection | 0 |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weather {
    /// The shortest way of a message.
    pub delay_min: u64,
    /// The longest way of a message.
    pub delay_max: u64,
    /// How many of a thousand messages are much slower.
    pub spike_permille: u32,
    /// By how much those are slower at most.
    pub spike_max: u64,
    /// By how much changes come later to watchers than replies come to callers.
    pub feed_lag_max: u64,
    /// How many of a thousand transactions reach a watcher torn apart.
    pub shuffle_permille: u32,
    /// How many of a thousand plain reads are answered from the past.
    pub stale_permille: u32,
    /// How many of a thousand calls lose their request or their reply.
    pub loss_permille: u32,
}

impl Weather {
    /// A quick network without surprises.
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

    /// What a network is like on most days; nothing is lost.
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

    /// Returns how long something may take, in milliseconds, that takes a moment in a network without delays: to hear of
    /// a change, to write, and to do it once more.
    #[must_use]
    pub fn worst_reaction(&self) -> u64 {
        4 * (self.delay_max + self.spike_max) + 2 * self.feed_lag_max
    }

    pub(super) fn delay(&self, rng: &mut Rng) -> u64 {
        let way = rng.u64(self.delay_min..=self.delay_max.max(self.delay_min));
        way + if happens(rng, self.spike_permille) { rng.u64(0..=self.spike_max) } else { 0 }
    }

    pub(super) fn feed_lag(&self, rng: &mut Rng) -> u64 {
        rng.u64(0..=self.feed_lag_max)
    }
}

/// Draws whether something of this frequency happens. Draws nothing for what never does.
pub(super) fn happens(rng: &mut Rng, permille: u32) -> bool {
    permille > 0 && rng.u32(0..1000) < permille
}
