//! The way between a process and the registry.

use std::collections::VecDeque;

use super::message::{Conn, Down, Up};

/// Both directions of a process's connection.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) up: Flow<Up>,
    pub(super) down: Flow<Down>,
    /// By how much everything takes longer, each way.
    pub(super) extra: u64,
    /// How many of a thousand calls lose their request or reply, beyond the weather.
    pub(super) loss_permille: u32,
}

/// One direction. What a partition holds back is not lost: it goes on its way when the partition ends, if anybody
/// still listens.
#[derive(Debug)]
pub(super) struct Flow<M> {
    pub(super) open: bool,
    pub(super) held: VecDeque<(Conn, M)>,
    /// When the last message arrives; none overtakes another.
    pub(super) last: u64,
}

impl<M> Default for Flow<M> {
    fn default() -> Self {
        Self { open: true, held: VecDeque::new(), last: 0 }
    }
}

impl<M> Flow<M> {
    /// Returns when a message arrives that would like to arrive at `wanted`.
    pub(super) fn arrival(&mut self, wanted: u64) -> u64 {
        self.last = self.last.max(wanted);
        self.last
    }
}
