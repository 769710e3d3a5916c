//! First bytes of the server on each connection.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Number of bytes that are kept of each connection. ZooKeeper's first reply has 41.
const KEPT_BYTES: usize = 64;

/// The first bytes that the server sent, by the number of the connection.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    by_connection: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Greetings {
    /// Records bytes that arrived on a connection. Only the first [`KEPT_BYTES`] are kept.
    pub(super) fn record(&self, connection: u64, bytes: &[u8]) {
        let mut all = self.by_connection.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(connection).or_default();
        let room = KEPT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns the first bytes of all connections, in the order of their numbers.
    pub(super) fn all(&self) -> Vec<Vec<u8>> {
        let all = self.by_connection.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_of_each_connection_are_kept() {
        let greetings = Greetings::default();
        greetings.record(7, b"late");
        greetings.record(2, b"hel");
        greetings.record(2, b"lo");
        greetings.record(2, &[b'x'; 100]);
        let hello = [&b"hello"[..], &[b'x'; KEPT_BYTES - 5]].concat();
        assert_eq!(greetings.all(), [hello, b"late".to_vec()]);
    }
}
