//! A history: the store, the task that writes it, and the questions to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::queue::{HistorySubscriber, Queue};
use crate::store::{Fault, FaultClass, Store};
use crate::writer::{Progress, Reasons, Retention, Writer};
use crate::{Error, HistoryOptions, Result};

const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// What happened to jobs, kept in a store.
///
/// One task writes; it is started by [`open`](Self::open) on the runtime of the caller. Call [`close`](Self::close) after
/// the scheduler's shutdown. A history that is dropped without it writes what waits for as long as the runtime is there.
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

/// How a history fares. All counts are of this process, since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryStats {
    /// Records that were taken in.
    pub accepted: u64,
    /// Records that are in the store.
    pub written: u64,
    /// Records that found the queue full, or the history closed.
    pub dropped: u64,
    /// Records that the store refused for what they are; each is in the log with the reason.
    pub refused: u64,
    /// How often the store was tried in vain.
    pub retries: u64,
    /// Rows that were deleted because they were too old.
    pub pruned: u64,
    /// Why the store could not be written the last time; `None` while it can.
    pub fault: Option<String>,
}

impl HistoryStats {
    /// Returns how many records wait to be written.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.accepted.saturating_sub(self.written + self.refused)
    }
}

impl History {
    /// Opens a history: checks the options, reaches the store, and makes its tables or brings them up to date. Any number of
    /// processes may do so at the same time.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] before anything is tried; [`Error::Unusable`] and [`Error::Newer`] as soon as the store
    /// says so; [`Error::Away`] if it was not reached within the [`connect_deadline`](HistoryOptions::connect_deadline).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    ///
    /// # Cancel safety
    /// If the future is dropped nothing is left but, perhaps, the tables.
    pub async fn open(options: HistoryOptions) -> Result<Self> {
        let options = options.checked()?;
        let store = Store::new(&options)?;
        let deadline = options.connect_deadline;
        let end = Instant::now() + deadline;
        loop {
            let fault = match tokio::time::timeout_at(end, prepare(&store)).await {
                Ok(Ok(has_source)) => return Ok(Self::start(options, store, Some(has_source))),
                Ok(Err(fault)) => fault,
                Err(_) => {
                    let text = format!("it did not answer within {deadline:?}");
                    return Err(store.error(&Fault { class: FaultClass::Away, text }));
                }
            };
            let passes = matches!(fault.class, FaultClass::Away | FaultClass::Conflict);
            if !passes || Instant::now() + BETWEEN_TRIES >= end {
                return Err(store.error(&fault));
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
    }

    /// Opens a history whose store need not be there yet: records wait in the queue until it is, and what the queue cannot
    /// hold is counted. What is wrong with the store shows in [`HistoryStats::fault`] and in the log.
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
        let (progress, watched) = watch::channel(Progress::default());
        let (closing, told) = watch::channel(false);
        let writer = Writer {
            store: Arc::clone(&store),
            queue: Arc::clone(&queue),
            receiver,
            closing: told,
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
        Self { store, queue, progress: watched, closing, task, prune_chunk }
    }

    /// Returns what a scheduler is to be given: `Scheduler::builder(…).event_subscriber(history.subscriber())`.
    #[must_use]
    pub fn subscriber(&self) -> HistorySubscriber {
        HistorySubscriber::new(Arc::clone(&self.queue))
    }

    /// Returns where the history is kept, without user, password and parameters:
    /// `sqlite:history.db`.
    #[must_use]
    pub fn store(&self) -> String {
        self.store.url.to_string()
    }

    /// Returns how the history fares.
    #[must_use]
    pub fn stats(&self) -> HistoryStats {
        let Progress { written, refused, retries, pruned, fault } = self.progress.borrow().clone();
        let (accepted, dropped) = (self.queue.accepted(), self.queue.dropped());
        HistoryStats { accepted, written, dropped, refused, retries, pruned, fault }
    }

    /// Waits until the figures are as wanted, looking whenever the writer has done something. Returns them as they are when
    /// the history has been closed.
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

    /// Waits until everything that was taken in before is written or refused.
    ///
    /// # Errors
    /// [`Error::Unwritten`] after the deadline. What waits stays in the queue.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn flush(&self, deadline: Duration) -> Result<()> {
        let target = self.queue.accepted();
        let done = |stats: &HistoryStats| stats.written + stats.refused >= target;
        match tokio::time::timeout(deadline, self.wait_for(done)).await {
            Ok(stats) if done(&stats) => Ok(()),
            _ => {
                let stats = self.stats();
                let records = target.saturating_sub(stats.written + stats.refused);
                Err(self.unwritten(records, stats.fault))
            }
        }
    }

    /// Takes no more records, writes what waits, and closes the store. The second call and later ones do nothing.
    ///
    /// # Errors
    /// [`Error::Unwritten`] if the deadline came first: those records are lost, and how many is in the log too.
    ///
    /// # Cancel safety
    /// If the future is dropped the writer goes on until everything is written, and the store stays open.
    pub async fn close(&self, deadline: Duration) -> Result<()> {
        self.closing.send_replace(true);
        let Some(mut task) = self.task.lock().take() else { return Ok(()) };
        let ended = tokio::time::timeout(deadline, &mut task).await;
        if ended.is_err() {
            task.abort();
            // It ends at its next await, if it has not already.
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
        let reason = fault.unwrap_or_else(|| "the time was too short".to_owned());
        Error::Unwritten { store: self.store.url.to_string(), records, reason }
    }
}

/// A history that nobody holds any more takes no more records; the writer finishes what waits.
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
