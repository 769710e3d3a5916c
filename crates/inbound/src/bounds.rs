//! Limits of a listener.

use std::time::Duration;

/// Limits on connections and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections that are open at a time, at least 1; 0 counts as 1. Default 16.
    pub max_connections: usize,
    /// Time from accepting a connection to its complete request. On a connection that is kept open,
    /// it is also the time from the end of an answer to the next complete request. Default 5 s.
    pub request_deadline: Duration,
    /// Time from accepting a connection, or from the end of the former answer, to the last byte of
    /// the answer. Default 10 s.
    pub exchange_deadline: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_connections: 16,
            request_deadline: Duration::from_secs(5),
            exchange_deadline: Duration::from_secs(10),
        }
    }
}
