//! Chance: streams of numbers that depend on a seed, a purpose and a moment, and on nothing that was drawn before.
//!
//! Because each moment has dice of its own, taking an event out of a run leaves what chance decides elsewhere as it was.
//! That is what makes runs shrink.

/// What dice are for; each purpose has its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The settings of the run.
    Profile,
    /// Which node does what next, and what the network does with it.
    Schedule,
    /// How long runs take and how they end.
    Work,
    /// Which faults happen.
    Faults,
    /// What operators do.
    Operators,
    /// What some runs have beside all that, so that the others stay what they were before there was any of it.
    Extras,
}

/// A small generator with a full period: the same seed, the same numbers, on every machine.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns the dice for a purpose at a moment, which is a number of a step or anything else that identifies it.
    #[must_use]
    pub fn at(seed: u64, stream: Stream, moment: u64) -> Self {
        let purpose = match stream {
            Stream::Profile => 1,
            Stream::Schedule => 2,
            Stream::Work => 3,
            Stream::Faults => 4,
            Stream::Operators => 5,
            Stream::Extras => 6,
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

    /// Returns a place in a list of `len`, or 0 if it is empty.
    pub fn place(&mut self, len: usize) -> usize {
        let len = u64::try_from(len).unwrap_or(u64::MAX);
        usize::try_from(self.below(len)).unwrap_or(0)
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Returns true once in `n` times on average; never if `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// Returns true `share` times in a hundred on average.
    pub fn percent(&mut self, share: u8) -> bool {
        share > 0 && self.below(100) < u64::from(share)
    }

    /// Returns one of the values.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.place(values.len())].clone()
    }

    /// Returns the place of a weight, each as likely as it is heavy; 0 if all are 0.
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
    fn moments_and_purposes_do_not_disturb_each_other() {
        let first = |stream, moment| Dice::at(7, stream, moment).roll();
        assert_eq!(first(Stream::Work, 3), first(Stream::Work, 3));
        assert_ne!(first(Stream::Work, 3), first(Stream::Work, 4));
        assert_ne!(first(Stream::Work, 3), first(Stream::Faults, 3));
        assert_ne!(Dice::at(8, Stream::Work, 3).roll(), first(Stream::Work, 3));
    }

    #[test]
    fn weights_are_kept() {
        let mut counts = [0_u32; 3];
        let mut dice = Dice::at(1, Stream::Schedule, 0);
        for _ in 0..10_000 {
            counts[dice.weighted(&[6, 0, 2])] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((7_000..8_000).contains(&counts[0]), "{counts:?}");
    }
}
