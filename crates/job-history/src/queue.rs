//! The bounded queue between a scheduler, which never waits, and the writer.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use lite::{EventSubscriber, JobRecord, OutputLine, RunReport};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::entry::Entry;
use crate::store::DropRow;

/// Maximum number of queued lines of output. A half of a smaller queue is the maximum, so that
/// lines never take the room of records.
const MAX_LINES: usize = 4_096;

/// Subscriber that queues records for a history. Give a clone to each scheduler.
///
/// It never blocks: if the queue is full or the history closed, the record is dropped and counted.
#[derive(Clone)]
pub struct HistorySubscriber {
    queue: Arc<Queue>,
}

/// Sending half of the queue, and its counters.
pub(crate) struct Queue {
    sender: mpsc::Sender<Entry>,
    accepted: AtomicU64,
    dropped: AtomicU64,
    seq: AtomicI64,
    /// Lines of output in the queue, and their maximum number.
    lines: AtomicUsize,
    max_lines: usize,
    dropped_lines: AtomicU64,
    /// Drops that are not in the store yet.
    drops: Mutex<Option<DropRow>>,
}

impl Queue {
    pub(crate) fn new(capacity: usize) -> (Arc<Self>, mpsc::Receiver<Entry>) {
        let (sender, receiver) = mpsc::channel(capacity);
        let queue = Self {
            sender,
            accepted: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            seq: AtomicI64::new(0),
            lines: AtomicUsize::new(0),
            max_lines: MAX_LINES.min(capacity / 2),
            dropped_lines: AtomicU64::new(0),
            drops: Mutex::new(None),
        };
        (Arc::new(queue), receiver)
    }

    fn push(&self, entry: Entry, at_ms: i64) {
        match self.sender.try_reserve() {
            Ok(place) => {
                // Counted before it is sent: otherwise `written` could exceed `accepted`.
                self.accepted.fetch_add(1, Ordering::AcqRel);
                place.send(entry);
            }
            Err(_) => {
                self.dropped.fetch_add(1, Ordering::AcqRel);
                self.note_drop(at_ms);
            }
        }
    }

    /// Queues a line of output, unless the writer is behind. The numbers of the stored lines show
    /// that it is missing.
    fn push_line(&self, line: &OutputLine) {
        let room = |lines: usize| (lines < self.max_lines).then_some(lines + 1);
        let reserved = self.lines.fetch_update(Ordering::AcqRel, Ordering::Acquire, room);
        if reserved.is_ok()
            && let Ok(place) = self.sender.try_reserve()
        {
            self.accepted.fetch_add(1, Ordering::AcqRel);
            place.send(Entry::of_output(line));
            return;
        }
        if reserved.is_ok() {
            self.lines.fetch_sub(1, Ordering::AcqRel);
        }
        if self.dropped_lines.fetch_add(1, Ordering::AcqRel) == 0 {
            tracing::warn!(
                max_lines = self.max_lines,
                "history store is slower than the output of runs: lines are left out"
            );
        }
    }

    /// Queues an entry as soon as there is room. Returns false if the history is closed.
    pub(crate) async fn push_waiting(&self, entry: Entry) -> bool {
        let Ok(place) = self.sender.reserve().await else { return false };
        self.accepted.fetch_add(1, Ordering::AcqRel);
        place.send(entry);
        true
    }

    /// Notes that the writer has taken lines of output.
    pub(crate) fn note_taken_lines(&self, lines: usize) {
        self.lines.fetch_sub(lines, Ordering::AcqRel);
    }

    /// Returns the number of lines that were dropped.
    pub(crate) fn dropped_lines(&self) -> u64 {
        self.dropped_lines.load(Ordering::Acquire)
    }

    fn note_drop(&self, at_ms: i64) {
        let mut drops = self.drops.lock();
        let row = drops.get_or_insert_with(|| {
            if !self.sender.is_closed() {
                tracing::warn!("history queue is full: records are lost");
            }
            DropRow { seq: self.next_seq(), first_ms: at_ms, last_ms: at_ms, dropped: 0 }
        });
        row.dropped += 1;
        row.first_ms = row.first_ms.min(at_ms);
        row.last_ms = row.last_ms.max(at_ms);
    }

    fn next_seq(&self) -> i64 {
        self.seq.fetch_add(1, Ordering::AcqRel)
    }

    /// Returns the drops since the last call.
    pub(crate) fn take_drops(&self) -> Option<DropRow> {
        self.drops.lock().take()
    }

    /// Returns the number of accepted records.
    pub(crate) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Acquire)
    }

    /// Returns the number of dropped records.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Acquire)
    }
}

impl HistorySubscriber {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }
}

impl EventSubscriber for HistorySubscriber {
    fn on_event(&self, record: &JobRecord) {
        let entry = Entry::of_record(record, self.queue.next_seq());
        self.queue.push(entry, record.at.as_millisecond());
    }

    fn on_run_ended(&self, report: &RunReport) {
        self.queue.push(Entry::of_report(report), report.ended.as_millisecond());
    }

    fn keeps_output(&self) -> bool {
        true
    }

    fn on_output(&self, line: &OutputLine) {
        self.queue.push_line(line);
    }
}

impl fmt::Debug for HistorySubscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistorySubscriber")
            .field("accepted", &self.queue.accepted())
            .field("dropped", &self.queue.dropped())
            .finish_non_exhaustive()
    }
}
