//! Fingerprints of values.

use std::hash::Hash;
use std::sync::LazyLock;

use ahash::RandomState;

/// A fingerprint. Among some ten million values the chance that any two share one is below one in 100 000.
pub(super) type Print = u64;

/// The same in every run, so that a search can be repeated.
static PRINTS: LazyLock<RandomState> = LazyLock::new(|| RandomState::with_seeds(1, 2, 3, 4));

/// Returns the fingerprint of a value by its hash.
pub(super) fn print_of(value: &impl Hash) -> Print {
    PRINTS.hash_one(value)
}
