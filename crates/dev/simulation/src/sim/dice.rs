//! Random numbers that depend only on a seed, a purpose and a moment, never on earlier draws.
//!
//! Each moment has its own dice. So the removal of an event from a run leaves the random decisions
//! at other moments unchanged, and runs can be shrunk.

/// Purpose of random numbers; each purpose has its own stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The settings of the run.
    Profile,
    /// The choice of the next node and its activity, and the network.
    Schedule,
    /// Durations and outcomes of runs.
    Work,
    /// The faults.
    Faults,
    /// The operator actions.
    Operators,
    /// Settings that were added later. Runs without them keep their older meaning.
    Extras,
    /// Limits, overlaps and other features of the job, in runs that combine them.
    Features,
}

/// A small generator with a full period. A seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns the dice for a purpose at a moment, such as the number of a step.
    #[must_use]
    pub fn at(seed: u64, stream: Stream, moment: u64) -> Self {
        let purpose = match stream {
            Stream::Profile => 1,
            Stream::Schedule => 2,
            Stream::Work => 3,
            Stream::Faults => 4,
            Stream::Operators => 5,
            Stream::Extras => 6,
            Stream::Features => 7,
        };
        let mut dice = Self(seed.wrapping_mul(0xa076_1d64_78bd_642f) ^ (purpose << 56));
        dice.0 = dice.roll() ^ moment.wrapping_mul(0xe703_7ed1_a0b4_28db);
        dice
    }

    /// Returns the next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.roll().checked_rem(n).unwrap_or(0)
    }

    /// Returns an index into a list of `len` elements, or 0 if the list is empty.
    pub fn place(&mut self, len: usize) -> usize {
        let len = u64::try_from(len).unwrap_or(u64::MAX);
        usize::try_from(self.below(len)).unwrap_or(0)
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Returns true with the probability `1 / n`; never if `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// Returns true with a probability of `share` percent.
    pub fn percent(&mut self, share: u8) -> bool {
        share > 0 && self.below(100) < u64::from(share)
    }

    /// Returns one of the values.
    ///
    /// # Panics
    /// If `values` is empty.
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.place(values.len())].clone()
    }

    /// Returns the index of a weight, with a probability in proportion to it; 0 if all weights are
    /// 0.
    pub fn weighted(&mut self, weights: &[u8]) -> usize {
        let total = weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut left = self.below(total);
        for (place, weight) in weights.iter().enumerate() {
            let weight = u64::from(*weight);
            if left < weight {
                return place;
            }
            left -= weight;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_purposes_have_independent_numbers() {
        let first = |stream, moment| Dice::at(7, stream, moment).roll();
        assert_eq!(first(Stream::Work, 3), first(Stream::Work, 3));
        assert_ne!(first(Stream::Work, 3), first(Stream::Work, 4));
        assert_ne!(first(Stream::Work, 3), first(Stream::Faults, 3));
        assert_ne!(Dice::at(8, Stream::Work, 3).roll(), first(Stream::Work, 3));
    }

    #[test]
    fn weighted_choice_follows_the_weights() {
        let mut counts = [0_u32; 3];
        let mut dice = Dice::at(1, Stream::Schedule, 0);
        for _ in 0..10_000 {
            counts[dice.weighted(&[6, 0, 2])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((7_000..8_000).contains(&counts[0]), "{counts:?}");
    }
}
