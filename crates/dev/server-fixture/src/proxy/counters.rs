//! Counters of a proxy.

use std::collections::BTreeSet;
use std::fmt;
use std::io;

/// Connections and bytes of a proxy since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    accepted: u64,
    open: BTreeSet<u64>,
    request_bytes: u64,
    reply_bytes: u64,
    is_listening: bool,
    listen_error: Option<io::ErrorKind>,
}

impl Counters {
    /// Returns the number of accepted connections, including ended ones.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of bytes from clients, forwarded or not.
    #[must_use]
    pub fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// Returns the number of bytes from the server, forwarded or not.
    #[must_use]
    pub fn reply_bytes(&self) -> u64 {
        self.reply_bytes
    }

    /// Returns the number of open connections among the first `number` accepted ones.
    pub(super) fn open_below(&self, number: u64) -> usize {
        self.open.range(..number).count()
    }

    pub(super) fn is_listening(&self) -> bool {
        self.is_listening
    }

    pub(super) fn listen_error(&self) -> Option<io::ErrorKind> {
        self.listen_error
    }

    /// Counts a new connection and returns its number: 0, 1, 2 …
    pub(super) fn accept(&mut self) -> u64 {
        let number = self.accepted;
        self.accepted += 1;
        self.open.insert(number);
        number
    }

    pub(super) fn end(&mut self, number: u64) {
        self.open.remove(&number);
    }

    pub(super) fn add_request_bytes(&mut self, n_bytes: usize) {
        self.request_bytes += n_bytes as u64;
    }

    pub(super) fn add_reply_bytes(&mut self, n_bytes: usize) {
        self.reply_bytes += n_bytes as u64;
    }

    pub(super) fn set_listening(&mut self, listening: Result<bool, io::ErrorKind>) {
        self.is_listening = listening == Ok(true);
        self.listen_error = listening.err();
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} connections accepted, {} open, {} bytes from clients, {} from the server, {}",
            self.accepted,
            self.open.len(),
            self.request_bytes,
            self.reply_bytes,
            if self.is_listening { "listening" } else { "not listening" },
        )
    }
}
