//! A cache of fixed size, because millions of states share most of their parts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fingerprint::Fingerprint;

/// A direct-mapped cache: each key has one slot, which holds the last value that was stored there.
pub(super) struct Cache<T> {
    slots: Vec<Mutex<Option<(Fingerprint, Arc<T>)>>>,
}

impl<T> Cache<T> {
    /// Returns an empty cache of 2 to the power of `bits` slots.
    pub(super) fn new(bits: u32) -> Self {
        Self { slots: (0..1_usize << bits).map(|_| Mutex::new(None)).collect() }
    }

    pub(super) fn get_or(&self, key: Fingerprint, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some((_, value)) = self.slot(key).as_ref().filter(|(cached, _)| *cached == key) {
            return Arc::clone(value);
        }
        let value = Arc::new(make());
        self.put(key, Arc::clone(&value));
        value
    }

    /// Stores a value that the caller has computed.
    pub(super) fn put(&self, key: Fingerprint, value: Arc<T>) {
        *self.slot(key) = Some((key, value));
    }

    fn slot(&self, key: Fingerprint) -> MutexGuard<'_, Option<(Fingerprint, Arc<T>)>> {
        let index = usize::try_from(key).unwrap_or(usize::MAX) & (self.slots.len() - 1);
        self.slots[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
