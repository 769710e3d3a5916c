//! What is planned for a virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use reg_center::SessionId;

/// Something that happens at a time. A node's `epoch` is the one that it was planned in; in a later one it is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Planned {
    /// The process notices that its connection is gone.
    Notice { node: usize, epoch: u32 },
    /// The process can no longer rely on its session.
    LeaseEnds { node: usize, epoch: u32 },
    /// The connection is back.
    Relink { node: usize, epoch: u32 },
    /// The process goes on.
    Thaw { node: usize, inc: u32 },
    /// Another process starts.
    Start { node: usize, inc: u32 },
    /// The process starts runs again.
    Unpause { node: usize, inc: u32 },
    /// The runs of a leaving process are cancelled.
    Cancel { node: usize, inc: u32 },
    /// The registry ends a session that it has not heard of, if that was the time.
    SessionEnds { session: SessionId },
    /// The registry answers again.
    RegistryUp,
}

/// What is planned, the earliest first; at the same time in the order of planning.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Duration, u64, Planned)>>,
    planned: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Duration, what: Planned) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, what)));
    }

    /// Returns the next thing that is due.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<Planned> {
        let Reverse((at, ..)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, what))| what)
    }

    /// Returns when the next thing is due.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}
