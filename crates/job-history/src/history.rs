//! A history: the store, the task that writes it, and the questions to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::query::{
    DropRecord, EventCursor, EventPage, EventQuery, FireCursor, FirePage, FireQuery, MAX_PAGE,
    OutcomeCount,
};
use crate::queue::{HistorySubscriber, Queue};
use crate::store::{Fault, FaultClass, Store, Table};
use crate::writer::{Progress, Retention, Writer};
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
    store: Arc<Store>,
    queue: Arc<Queue>,
    progress: watch::Receiver<Progress>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    prune_chunk: u32,
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

    /// Returns fires of items, the latest first: at most `limit`, which is 1 to 1 000, from where the page before ended.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for the limit; [`Error::Away`] and [`Error::Unusable`] by what the store says.
    ///
    /// # Example: all pages
    /// ```
    /// # use job_history::{FireQuery, History, HistoryOptions};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let history = History::open(HistoryOptions::sqlite(folder.path().join("h.db"))).await?;
    /// let query = FireQuery::default().job("report");
    /// let mut page = history.fires(&query, 100, None).await?;
    /// loop {
    ///     for fire in &page.fires {
    ///         println!("{} item {}: {}", fire.fire, fire.item, fire.outcome);
    ///     }
    ///     let Some(next) = page.next else { break };
    ///     page = history.fires(&query, 100, Some(&next)).await?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn fires(
        &self,
        query: &FireQuery,
        limit: u32,
        after: Option<&FireCursor>,
    ) -> Result<FirePage> {
        let limit = checked_limit(limit)?;
        self.told(self.store.fires(query, limit, after).await)
    }

    /// Returns how many fires ended in which way, by job and outcome.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says.
    pub async fn counts(&self, query: &FireQuery) -> Result<Vec<OutcomeCount>> {
        self.told(self.store.counts(query).await)
    }

    /// Returns what happened besides runs, the latest first, as [`fires`](Self::fires) does.
    ///
    /// # Errors
    /// As [`fires`](Self::fires).
    pub async fn events(
        &self,
        query: &EventQuery,
        limit: u32,
        after: Option<&EventCursor>,
    ) -> Result<EventPage> {
        let limit = checked_limit(limit)?;
        self.told(self.store.events(query, limit, after).await)
    }

    /// Returns what was dropped in an interval by any process, the earliest first, at most 1 000 rows: where the history has
    /// holes.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says.
    pub async fn drops(
        &self,
        from: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<DropRecord>> {
        self.told(self.store.drops(from, until).await)
    }

    /// Deletes everything before a time, in transactions of [`prune_chunk`](HistoryOptions::prune_chunk) rows, and returns
    /// how many rows of all tables. The rows of Java instances in the tables that they share go too.
    ///
    /// # Errors
    /// [`Error::Away`] and [`Error::Unusable`] by what the store says. What was deleted before stays deleted.
    ///
    /// # Cancel safety
    /// If the future is dropped some of it is deleted.
    pub async fn prune(&self, before: Timestamp) -> Result<u64> {
        let mut all = 0;
        for table in Table::ALL {
            loop {
                let pruned = self.store.prune(table, before.as_millisecond(), self.prune_chunk);
                let deleted = self.told(pruned.await)?;
                all += deleted;
                if deleted < u64::from(self.prune_chunk) {
                    break;
                }
            }
        }
        Ok(all)
    }

    fn told<T>(&self, result: Result<T, Fault>) -> Result<T> {
        result.map_err(|fault| self.store.error(&fault))
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

fn checked_limit(limit: u32) -> Result<u32> {
    if (1..=MAX_PAGE).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::InvalidOption {
        option: "limit",
        value: limit.to_string(),
        expected: "1 to 1000 rows",
    })
}
