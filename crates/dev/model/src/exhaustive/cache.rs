//! A cache of fixed size, so that what was worked out once is not worked out for each of a million states.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::print::Print;

/// Keeps the latest value of each slot; a key has one slot. A value that was displaced is worked out again.
pub(super) struct Cache<T> {
    slots: Vec<Mutex<Option<(Print, Arc<T>)>>>,
}

impl<T> Cache<T> {
    /// Returns an empty cache of 2 to the power of `bits` slots.
    pub(super) fn new(bits: u32) -> Self {
        Self { slots: (0..1_usize << bits).map(|_| Mutex::new(None)).collect() }
    }

    pub(super) fn get_or(&self, key: Print, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some((_, value)) = self.slot(key).as_ref().filter(|(cached, _)| *cached == key) {
            return Arc::clone(value);
        }
        let value = Arc::new(make());
        self.put(key, Arc::clone(&value));
        value
    }

    /// Keeps a value that was worked out elsewhere.
    pub(super) fn put(&self, key: Print, value: Arc<T>) {
        *self.slot(key) = Some((key, value));
    }

    fn slot(&self, key: Print) -> MutexGuard<'_, Option<(Print, Arc<T>)>> {
        let index = usize::try_from(key).unwrap_or(usize::MAX) & (self.slots.len() - 1);
        self.slots[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
