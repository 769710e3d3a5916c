//! The network link between a process and the registry.

use std::collections::VecDeque;

use super::message::{Conn, Down, Up};

/// Both directions of a link.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) up: Flow<Up>,
    pub(super) down: Flow<Down>,
    /// Additional delay of each message in each direction, in milliseconds.
    pub(super) extra: u64,
    /// Additional share of calls that lose their request or reply, in thousandths.
    pub(super) loss_permille: u32,
}

/// One direction of a link. A partition does not lose messages: they are forwarded when it ends,
/// and dropped only if their connection is closed.
#[derive(Debug)]
pub(super) struct Flow<M> {
    pub(super) open: bool,
    pub(super) held: VecDeque<(Conn, M)>,
    /// Arrival time of the last message; no message overtakes another.
    pub(super) last: u64,
}

impl<M> Default for Flow<M> {
    fn default() -> Self {
        Self { open: true, held: VecDeque::new(), last: 0 }
    }
}

impl<M> Flow<M> {
    /// Returns the arrival time of a message that could arrive at `wanted`.
    pub(super) fn arrival(&mut self, wanted: u64) -> u64 {
        self.last = self.last.max(wanted);
        self.last
    }
}
