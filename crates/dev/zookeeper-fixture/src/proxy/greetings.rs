//! How the server greeted each connection.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How many bytes of each connection are kept; ZooKeeper's first reply has 41.
const KEPT_BYTES: usize = 64;

/// The first bytes that the server sent, by the number of the connection.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    by_connection: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Greetings {
    /// Takes note of what arrived on a connection; only the beginning is kept.
    pub(super) fn hear(&self, connection: u64, bytes: &[u8]) {
        let mut all = self.by_connection.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.entry(connection).or_default();
        let room = KEPT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns all of them, in the order of the connections.
    pub(super) fn all(&self) -> Vec<Vec<u8>> {
        let all = self.by_connection.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_each_connection_is_kept() {
        let greetings = Greetings::default();
        greetings.hear(7, b"late");
        greetings.hear(2, b"hel");
        greetings.hear(2, b"lo");
        greetings.hear(2, &[b'x'; 100]);
        let hello = [&b"hello"[..], &[b'x'; KEPT_BYTES - 5]].concat();
        assert_eq!(greetings.all(), [hello, b"late".to_vec()]);
    }
}
