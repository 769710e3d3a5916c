//! A history: the store and the task that writes to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coordination::{AuditRecord, AuditSubject};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::entry::Entry;
use crate::queue::{HistorySubscriber, Queue};
use crate::store::{Fault, FaultClass, Store};
use crate::writer::{Progress, Reasons, Retention, Writer};
use crate::{Error, HistoryOptions, Result};

const OPEN_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Runs and events of jobs, kept in a store.
///
/// [`open`](Self::open) starts one writer task on the runtime of the caller. Call
/// [`close`](Self::close) after the shutdown of the scheduler. If a history is dropped without
/// `close`, the task still writes the queued records as long as the runtime lives.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use job_history::{FireQuery, History, HistoryOptions};
/// use lite::{JobBuilder, Scheduler, job_fn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("history.db");
/// let history = History::open(HistoryOptions::sqlite(path)).await?;
/// let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// let scheduler = Scheduler::builder(registry).event_subscriber(history.subscriber()).build()?;
/// let job = job_fn(|_| async { Ok(()) });
/// let handle = scheduler.schedule(JobBuilder::new("report", 2).build()?, job).await?;
/// handle.joined().await?;
/// handle.trigger().await?;
/// scheduler.shutdown(Duration::from_secs(5)).await;
///
/// history.flush(Duration::from_secs(5)).await?;
/// let page = history.fires(&FireQuery::default().job("report"), 10, None).await?;
/// assert!(page.fires.len() <= 2);
/// history.close(Duration::from_secs(5)).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct History {
    pub(crate) store: Arc<Store>,
    queue: Arc<Queue>,
    progress: watch::Receiver<Progress>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    pub(crate) prune_chunk: u32,
}

/// Counters and state of a history: all counts since this process opened it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryStats {
    /// Records and lines of output that were accepted into the queue.
    pub accepted: u64,
    /// Records and lines that are in the store.
    pub written: u64,
    /// Records that were dropped, because the queue was full or the history closed.
    pub dropped: u64,
    /// Lines of output that were dropped, because the store was slower than the runs.
    pub dropped_lines: u64,
    /// Records whose values the store rejected; each is logged with the reason.
    pub rejected: u64,
    /// Failed attempts to write to the store.
    pub retries: u64,
    /// Rows that were deleted because of their age.
    pub pruned: u64,
    /// Reason of the last failed attempt; `None` while the store can be written.
    pub fault: Option<String>,
}

impl HistoryStats {
    /// Returns the number of queued records.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.accepted.saturating_sub(self.written + self.rejected)
    }
}

impl History {
    /// Opens a history: checks the options, connects to the store, and creates or migrates its
    /// tables. Any number of processes may do so at the same time.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] before the first connection; [`Error::Unusable`] or
    /// [`Error::Newer`] at the first such answer of the store; [`Error::Unreachable`] if the store
    /// was not reached within the [`connect_deadline`](HistoryOptions::connect_deadline).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// If the future is dropped, at most the tables remain.
    pub async fn open(options: HistoryOptions) -> Result<Self> {
        let options = options.checked()?;
        let store = Store::new(&options)?;
        let deadline = options.connect_deadline;
        let end = Instant::now() + deadline;
        let mut last = None;
        loop {
            let fault = match tokio::time::timeout_at(end, prepare(&store)).await {
                Ok(Ok(has_source)) => return Ok(Self::start(options, store, Some(has_source))),
                Ok(Err(fault)) => fault,
                Err(_) => {
                    let text = format!("it did not answer within {deadline:?}");
                    let no_answer = Fault { class: FaultClass::Unreachable, text };
                    return Err(store.error(last.as_ref().unwrap_or(&no_answer)));
                }
            };
            let is_temporary =
                matches!(fault.class, FaultClass::Unreachable | FaultClass::Conflict);
            if !is_temporary || Instant::now() + OPEN_RETRY_PAUSE >= end {
                return Err(store.error(&fault));
            }
            tokio::time::sleep(OPEN_RETRY_PAUSE).await;
            last = Some(fault);
        }
    }

    /// Opens a history whose store may be unavailable at first.
    ///
    /// Records wait in the queue until the store answers. If the queue is full, records are dropped
    /// and counted. [`HistoryStats::fault`] and the log have the error of the store.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open_in_background(options: HistoryOptions) -> Result<Self> {
        let options = options.checked()?;
        let store = Store::new(&options)?;
        Ok(Self::start(options, store, None))
    }

    fn start(options: HistoryOptions, store: Store, has_source: Option<bool>) -> Self {
        let store = Arc::new(store);
        let (queue, receiver) = Queue::new(options.queue_capacity);
        let (progress, progress_receiver) = watch::channel(Progress::default());
        let (closing, closing_receiver) = watch::channel(false);
        let writer = Writer {
            store: Arc::clone(&store),
            queue: Arc::clone(&queue),
            receiver,
            closing: closing_receiver,
            progress,
            name: uuid::Uuid::new_v4().to_string(),
            batch_size: options.batch_size,
            retention: Retention {
                keep_for: options.keep_for,
                every: options.prune_every,
                chunk: options.prune_chunk,
            },
            has_source,
            reasons: Reasons::default(),
        };
        let task = Mutex::new(Some(tokio::spawn(writer.run())));
        let prune_chunk = options.prune_chunk;
        Self { store, queue, progress: progress_receiver, closing, task, prune_chunk }
    }

    /// Returns the subscriber for a scheduler:
    /// `Scheduler::builder(…).event_subscriber(history.subscriber())`.
    #[must_use]
    pub fn subscriber(&self) -> HistorySubscriber {
        HistorySubscriber::new(Arc::clone(&self.queue))
    }

    /// Stores an audited change of a job or a group. A change that is stored already stays as it
    /// is, so any number of processes may store the same one.
    ///
    /// It waits for room in the queue, and not for the store. Returns false if the history is
    /// closed.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the change is not stored.
    pub async fn record_audit(&self, subject: &AuditSubject, record: &AuditRecord) -> bool {
        self.queue.push_waiting(Entry::of_audit(subject, record)).await
    }

    /// Returns the location of the store without user, password and parameters, such as
    /// `sqlite:history.db`.
    #[must_use]
    pub fn store(&self) -> String {
        self.store.url.to_string()
    }

    /// Returns the present counters and state.
    #[must_use]
    pub fn stats(&self) -> HistoryStats {
        let Progress { written, rejected, retries, pruned, fault } = self.progress.borrow().clone();
        let (accepted, dropped) = (self.queue.accepted(), self.queue.dropped());
        let dropped_lines = self.queue.dropped_lines();
        HistoryStats { accepted, written, dropped, dropped_lines, rejected, retries, pruned, fault }
    }

    /// Waits until `wanted` returns true, and returns the counters.
    ///
    /// It checks after each progress of the writer. It also returns when the history is closed.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn wait_for(&self, wanted: impl Fn(&HistoryStats) -> bool) -> HistoryStats {
        let mut progress = self.progress.clone();
        loop {
            progress.mark_unchanged();
            let stats = self.stats();
            if wanted(&stats) || progress.changed().await.is_err() {
                return self.stats();
            }
        }
    }

    /// Waits until all records accepted before this call are written or rejected by the store.
    ///
    /// # Errors
    /// [`Error::Unwritten`] after the deadline. Unwritten records stay in the queue.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn flush(&self, deadline: Duration) -> Result<()> {
        let target = self.queue.accepted();
        let done = |stats: &HistoryStats| stats.written + stats.rejected >= target;
        match tokio::time::timeout(deadline, self.wait_for(done)).await {
            Ok(stats) if done(&stats) => Ok(()),
            _ => {
                let stats = self.stats();
                let records = target.saturating_sub(stats.written + stats.rejected);
                Err(self.unwritten(records, stats.fault))
            }
        }
    }

    /// Stops accepting records, writes the queued ones, and closes the store. Further calls do
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Unwritten`] if the deadline passes first. The unwritten records are lost, and their
    /// number is logged.
    ///
    /// # Cancel safety
    /// If the future is dropped, the writer still writes all queued records, and the store stays
    /// open.
    pub async fn close(&self, deadline: Duration) -> Result<()> {
        self.closing.send_replace(true);
        let Some(mut task) = self.task.lock().take() else { return Ok(()) };
        let ended = tokio::time::timeout(deadline, &mut task).await;
        if ended.is_err() {
            task.abort();
            // An aborted task ends at its next await point.
            let _ = task.await;
        }
        self.store.close(Duration::from_secs(1)).await;
        let stats = self.stats();
        match stats.waiting() {
            0 => Ok(()),
            records => {
                tracing::error!(store = %self.store.url, records, "history records are lost");
                Err(self.unwritten(records, stats.fault))
            }
        }
    }

    fn unwritten(&self, records: u64, fault: Option<String>) -> Error {
        let reason = fault.unwrap_or_else(|| "the deadline was too short".to_owned());
        Error::Unwritten { store: self.store.url.to_string(), records, reason }
    }
}

/// Stops accepting records; the writer still writes the queued ones.
impl Drop for History {
    fn drop(&mut self) {
        self.closing.send_replace(true);
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("store", &self.store.url)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

async fn prepare(store: &Store) -> Result<bool, Fault> {
    store.migrate().await?;
    store.has_source().await
}
