//! Writing the history: one list for the whole world, in the order in which facts became known.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use checker::history::{Fact, Record};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::world::WorldClock;

/// The history of a world. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Recorder {
    inner: Arc<Inner>,
}

struct Inner {
    clock: WorldClock,
    pages: Mutex<Pages>,
    news: Notify,
}

#[derive(Default)]
struct Pages {
    records: Vec<Record>,
    /// After the end of the world its ruins still have destructors; what they say does not count.
    closed: bool,
}

impl Recorder {
    pub(crate) fn new(clock: WorldClock) -> Self {
        let inner = Inner { clock, pages: Mutex::default(), news: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Returns a voice that speaks as `p` in its life number `inc`, with the true wall clock.
    pub(crate) fn voice(&self, p: &str, inc: u32) -> Voice {
        Voice { recorder: self.clone(), p: p.to_owned(), inc, seq: AtomicU64::new(0) }
    }

    pub(crate) fn clock(&self) -> WorldClock {
        self.inner.clock
    }

    /// Looks at everything that is known so far.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&[Record]) -> T) -> T {
        at(&self.inner.pages.lock().records)
    }

    /// Waits until something new is known. Call it before looking, to miss nothing.
    pub(crate) fn news(&self) -> impl Future<Output = ()> + '_ {
        self.inner.news.notified()
    }

    /// Ends the history and returns it.
    pub(crate) fn close(&self) -> Vec<Record> {
        let mut pages = self.inner.pages.lock();
        pages.closed = true;
        std::mem::take(&mut pages.records)
    }

    fn append(&self, record: impl FnOnce() -> Record) {
        let mut pages = self.inner.pages.lock();
        if !pages.closed {
            pages.records.push(record());
            drop(pages);
            self.inner.news.notify_waiters();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_records = self.inner.pages.lock().records.len();
        f.debug_struct("Recorder").field("n_records", &n_records).finish_non_exhaustive()
    }
}

/// Somebody who writes records: one life of a process, the registry, the resource, or the nemesis.
#[derive(Debug)]
pub(crate) struct Voice {
    recorder: Recorder,
    p: String,
    inc: u32,
    seq: AtomicU64,
}

impl Voice {
    /// Writes a fact with the true wall time.
    pub(crate) fn say(&self, fact: Fact) {
        self.say_at(self.recorder.clock().wall().as_millisecond(), fact);
    }

    /// Writes a fact with the wall time that this somebody believes in.
    pub(crate) fn say_at(&self, wt: i64, fact: Fact) {
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
