//! The watcher: follows a namespace, judges expectations on changes and when a deadline passes, and
//! sends messages while it is the sender.
//!
//! In reading order: this file (the watcher) · `engine` (the loop) · `board` (jobs, alerts) ·
//! `sender` (messages and their records) · `unstored` (documents to store) · `compose` (texts) ·
//! `delivery` (one message to one channel) · `outage` (messages while the registry does not answer)
//! · `heartbeat` · `view` (states for other tasks) · `stored` (states for other processes).

mod board;
mod compose;
mod delivery;
mod engine;
mod heartbeat;
mod outage;
mod sender;
mod stored;
mod unstored;
mod view;

use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use operations::LiveNamespace;
use parking_lot::Mutex;
use reg_center::RegistryCenter;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::store::StoreError;
use crate::{HistoryByJob, WatchFile};
use board::Board;
pub use delivery::MessageCounts;
use engine::Engine;
pub use stored::{StoredViolation, StoredWatch};
pub use view::WatchView;

/// Reason why a watcher ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The connection to the registry was closed.
    #[error("the connection to the registry was closed")]
    Closed,
    /// The state of watchers cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Wall clock.
type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A watcher of the expectations of one namespace.
///
/// # Examples
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// use std::sync::Arc;
///
/// use job_watch::{WatchFile, Watcher};
/// use reg_center::MemoryRegistry;
/// use tokio_util::sync::CancellationToken;
///
/// let file = WatchFile::parse("[[expect]]\njob = \"*\"\nfailures = 3\n")?;
/// let registry = Arc::new(MemoryRegistry::new().connect());
/// let stop = CancellationToken::new();
/// stop.cancel();
/// Watcher::new(file, registry, "host@7").run(stop).await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub struct Watcher {
    file: Arc<WatchFile>,
    registry: Arc<dyn RegistryCenter>,
    name: String,
    clock: WallClock,
    history: Option<watch::Receiver<HistoryByJob>>,
    live: Arc<LiveNamespace>,
    board: Arc<Mutex<Board>>,
    shown: Arc<Mutex<view::Shown>>,
    ended: Arc<OnceLock<String>>,
}

impl Watcher {
    /// Creates a watcher. It needs a session of its own: `registry` must not be shared with jobs.
    ///
    /// `name` says which process sends, such as `host@pid`.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    #[must_use]
    pub fn new(
        file: WatchFile,
        registry: Arc<dyn RegistryCenter>,
        name: impl Into<String>,
    ) -> Self {
        let live = Arc::new(LiveNamespace::follow(Arc::clone(&registry)));
        Self {
            file: Arc::new(file),
            registry,
            name: name.into(),
            clock: Arc::new(Timestamp::now),
            history: None,
            live,
            board: Arc::default(),
            shown: Arc::default(),
            ended: Arc::default(),
        }
    }

    /// Sets the wall clock, for tests.
    #[must_use]
    pub fn wall_clock(self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), ..self }
    }

    /// Sets the source of the facts of a history. After each change all jobs are judged.
    #[must_use]
    pub fn history(self, facts: watch::Receiver<HistoryByJob>) -> Self {
        Self { history: Some(facts), ..self }
    }

    /// Returns access to the states, for other tasks of the process.
    #[must_use]
    pub fn view(&self) -> WatchView {
        WatchView {
            live: Arc::clone(&self.live),
            board: Arc::clone(&self.board),
            shown: Arc::clone(&self.shown),
            ended: Arc::clone(&self.ended),
        }
    }

    /// Watches until `stop` is cancelled. Messages that are being sent then have ten seconds.
    ///
    /// # Errors
    /// [`WatchError`]: the registry was closed, or a stored document cannot be used. An outage of
    /// the registry is no error.
    ///
    /// # Cancel safety
    /// If the future is dropped, the outcome of a message that is being sent is unknown.
    pub async fn run(self, stop: CancellationToken) -> Result<(), WatchError> {
        let (working, is_working) = watch::channel(false);
        let (heartbeat, ended) = (self.file.heartbeat.clone(), AtEnd(Arc::clone(&self.ended)));
        let watching = Box::pin(Engine::new(self, working).run(stop));
        let result = match heartbeat {
            None => watching.await,
            Some(heartbeat) => tokio::select! {
                ended = watching => ended,
                () = heartbeat::run(heartbeat, is_working) => Ok(()),
            },
        };
        ended.note(&result);
        result
    }
}

/// Notes the end of a watcher, also if it panics or its future is dropped.
struct AtEnd(Arc<OnceLock<String>>);

impl AtEnd {
    fn note(&self, result: &Result<(), WatchError>) {
        let reason = result.as_ref().err().map_or("it was stopped".to_owned(), ToString::to_string);
        self.0.get_or_init(|| reason);
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.get_or_init(|| "it has panicked, or was cancelled".to_owned());
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watcher").field("name", &self.name).field("file", &self.file).finish()
    }
}
