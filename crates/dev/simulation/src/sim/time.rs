//! Planned events of virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use coordination::FencingToken;
use reg_center::SessionId;
use sharding::ShardingItem;

/// A planned event. If the `epoch` or `inc` of its node has changed meanwhile, the event is
/// ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Planned {
    /// The process notices the loss of its connection.
    Notice { node: usize, epoch: u32 },
    /// The lease of the process ends.
    LeaseEnds { node: usize, epoch: u32 },
    /// The connection is restored.
    Relink { node: usize, epoch: u32 },
    /// The frozen process continues.
    Thaw { node: usize, inc: u32 },
    /// Another process starts.
    Start { node: usize, inc: u32 },
    /// The paused process resumes.
    Unpause { node: usize, inc: u32 },
    /// The runs of a leaving process are cancelled.
    Cancel { node: usize, inc: u32 },
    /// The registry ends a session, unless its client was heard meanwhile.
    SessionEnds { session: SessionId },
    /// An operator repeats the request to cancel a run.
    RepeatCancel { item: ShardingItem, token: FencingToken },
    /// A write of an operator arrives late.
    LateWrite { write: usize },
    /// The outage of the registry ends.
    RegistryUp,
}

/// Queue of planned events by time; events of the same time keep the order of planning.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Duration, u64, Planned)>>,
    planned: u64,
}

impl Agenda {
    pub(crate) fn plan(&mut self, at: Duration, event: Planned) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, event)));
    }

    /// Returns the next event that is due.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<Planned> {
        let Reverse((at, ..)) = self.heap.peek()?;
        if *at > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, event))| event)
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}
