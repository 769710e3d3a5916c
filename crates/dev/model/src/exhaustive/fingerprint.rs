//! Fingerprints of values.

use std::hash::Hash;
use std::sync::LazyLock;

use ahash::RandomState;

/// A fingerprint. Among ten million values, the probability of any collision is below 1 in 100,000.
pub(super) type Fingerprint = u64;

/// Fixed keys, so that a search is reproducible.
static HASHER: LazyLock<RandomState> = LazyLock::new(|| RandomState::with_seeds(1, 2, 3, 4));

/// Returns the hash of a value as its fingerprint.
pub(super) fn fingerprint_of(value: &impl Hash) -> Fingerprint {
    HASHER.hash_one(value)
}
