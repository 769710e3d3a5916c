//! Fingerprints of values.

use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// A fingerprint. Among some ten million values the chance that any two share one is below one in 100 000.
pub(super) type Print = u64;

struct Sink(DefaultHasher);

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// Returns the fingerprint of a value by what `Debug` shows, so that a field that is added later is never forgotten.
pub(super) fn print_of(value: &impl fmt::Debug) -> Print {
    let mut sink = Sink(DefaultHasher::new());
    write!(sink, "{value:?}").expect("a hasher takes everything");
    sink.0.finish()
}

/// Returns the fingerprint of a value by its hash.
pub(super) fn hash_of(value: &impl Hash) -> Print {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
