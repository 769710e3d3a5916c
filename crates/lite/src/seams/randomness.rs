//! The randomness seam: random suffixes that distinguish the incarnations of a process.

use std::fmt;

/// A source of random numbers. Nothing secret depends on it.
pub trait Randomness: fmt::Debug + Send + Sync + 'static {
    /// Returns a number that other processes are unlikely to get.
    fn next_u64(&self) -> u64;
}

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    #[expect(clippy::disallowed_methods, reason = "this is the seam")]
    fn next_u64(&self) -> u64 {
        getrandom::u64().expect("the operating system has randomness")
    }
}
