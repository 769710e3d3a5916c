//! Reproducible choices: the suite derives all random choices from one seed.

/// A small generator (SplitMix64) that gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub(super) struct Prng(u64);

impl Prng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        // The upper half times the bound is below bound * 2^32, so that the shifted product fits.
        u32::try_from(((self.next() >> 32) * u64::from(bound)) >> 32).expect("below a u32")
    }

    /// Returns one of the items, which must not be empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let len = u32::try_from(items.len()).expect("a table of a few items");
        items[self.below(len) as usize]
    }
}
