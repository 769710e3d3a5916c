//! The recorder of the history: one list for the whole world, in the order in which facts became
//! known.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use checker::history::{Fact, Record};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::world::WorldClock;

/// The history of a world. Clones are handles to the same history.
#[derive(Clone)]
pub(crate) struct Recorder {
    inner: Arc<Inner>,
}

struct Inner {
    clock: WorldClock,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    records: Vec<Record>,
    /// True after the end of the world. Destructors still run then, and their records are ignored.
    closed: bool,
}

impl Recorder {
    pub(crate) fn new(clock: WorldClock) -> Self {
        let inner = Inner { clock, state: Mutex::default(), changed: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Returns a writer of records for process `p` in its incarnation `inc`, with the true wall
    /// clock.
    pub(crate) fn writer(&self, p: &str, inc: u32) -> FactWriter {
        FactWriter { recorder: self.clone(), p: p.to_owned(), inc, seq: AtomicU64::new(0) }
    }

    pub(crate) fn clock(&self) -> WorldClock {
        self.inner.clock
    }

    /// Passes all records so far to a function.
    pub(crate) fn with_records<T>(&self, at: impl FnOnce(&[Record]) -> T) -> T {
        at(&self.inner.state.lock().records)
    }

    /// Completes at the next record. Call it before reading the records, so that no record is
    /// missed.
    pub(crate) fn changed(&self) -> impl Future<Output = ()> + '_ {
        self.inner.changed.notified()
    }

    /// Ends the history and returns it.
    pub(crate) fn close(&self) -> Vec<Record> {
        let mut state = self.inner.state.lock();
        state.closed = true;
        std::mem::take(&mut state.records)
    }

    fn append(&self, record: impl FnOnce() -> Record) {
        let mut state = self.inner.state.lock();
        if !state.closed {
            state.records.push(record());
            drop(state);
            self.inner.changed.notify_waiters();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_records = self.inner.state.lock().records.len();
        f.debug_struct("Recorder").field("n_records", &n_records).finish_non_exhaustive()
    }
}

/// Writes the records of one source: an incarnation of a process, the registry, the resource, or
/// the nemesis.
#[derive(Debug)]
pub(crate) struct FactWriter {
    recorder: Recorder,
    p: String,
    inc: u32,
    seq: AtomicU64,
}

impl FactWriter {
    /// Writes a fact with the true wall time.
    pub(crate) fn write(&self, fact: Fact) {
        self.write_at(self.wall_ms(), fact);
    }

    /// Returns the true wall time, in milliseconds since 1970 UTC.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.recorder.clock().wall().as_millisecond()
    }

    /// Writes a fact with the wall time of its source.
    pub(crate) fn write_at(&self, wt: i64, fact: Fact) {
        self.recorder.append(|| Record {
            p: self.p.clone(),
            inc: self.inc,
            seq: self.seq.fetch_add(1, Ordering::Relaxed),
            mt: self.recorder.clock().now_ns(),
            wt,
            fact,
        });
    }
}
