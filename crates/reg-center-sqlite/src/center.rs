//! The implementation of `RegistryCenter`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use reg_center::{
    ClientSession, Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope,
    SessionChange, SessionFeed, SessionId, Txn, TxnOutcome,
};
use tokio::sync::oneshot;

use crate::change_signal::Listener;
use crate::store::{SqliteStore, Store};
use crate::worker::{Request, Ticket, Worker};
use crate::written::WrittenSender;
use crate::{OpenError, SqliteOptions};

/// A registry center on a SQLite file.
///
/// A thread of its own executes the calls. Dropping the center ends the session as
/// [`close`](RegistryCenter::close) does, without waiting for it.
pub struct SqliteCenter {
    path: PathBuf,
    /// Limit of each call, if the disk does not answer.
    patience: Duration,
    requests: mpsc::Sender<Request>,
    session: Arc<ClientSession>,
    /// `None` if the system has no signals. The worker then polls alone.
    _signals: Option<Listener>,
}

impl SqliteCenter {
    /// Opens the file, creates it if it is missing, and opens a session.
    ///
    /// # Errors
    /// [`OpenError`] names the file and the reason, also if the disk does not answer within the
    /// session timeout.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends.
    ///
    /// # Examples
    /// ```
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("registry.db");
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    /// # runtime.block_on(async {
    /// use reg_center::{NodePath, RegistryCenter as _, Txn};
    /// use reg_center_sqlite::{SqliteCenter, SqliteOptions};
    ///
    /// let center = SqliteCenter::connect(SqliteOptions::new(path)).await?;
    /// let outcome = center.commit(Txn::new().put(NodePath::root(), "kept")).await?;
    /// assert!(outcome.is_committed());
    /// center.close().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn connect(options: SqliteOptions) -> Result<Arc<Self>, OpenError> {
        options.validate()?;
        Self::connect_to(options, SqliteStore::open).await
    }

    /// Opens a session in a store, on a new thread.
    pub(crate) async fn connect_to<S: Store + 'static>(
        options: SqliteOptions,
        open: impl FnOnce(SqliteOptions) -> Result<S, OpenError> + Send + 'static,
    ) -> Result<Arc<Self>, OpenError> {
        let path = options.path.clone();
        let patience = options.session_timeout.max(options.lock_timeout);
        let (requests, received) = mpsc::channel();
        let session = Arc::new(ClientSession::default());
        let (opened, outcome) = oneshot::channel();
        let thread = std::thread::Builder::new().name("ejob-sqlite".to_owned());
        let (for_worker, file) = (Arc::clone(&session), path.clone());
        let written = WrittenSender::new(requests.clone());
        let spawned = thread.spawn(move || {
            let started = open(options.clone()).and_then(|store| {
                let failed = |cause| OpenError::File { path: file.clone(), cause };
                Worker::start(store, &options, for_worker).map_err(failed)
            });
            match started {
                Ok(worker) => {
                    // If the caller has given up, the center is gone and the worker ends at once.
                    let _ = opened.send(Ok(listen(&file, written)));
                    worker.run(&received);
                }
                Err(error) => drop(opened.send(Err(error))),
            }
        });
        let failed = |cause: String| OpenError::File { path: path.clone(), cause };
        spawned.map_err(|error| failed(format!("no thread could be started: {error}")))?;
        let ended = |_| failed("its thread has ended".to_owned());
        let late = |_| failed(format!("it could not be opened within {patience:?}"));
        let signals =
            tokio::time::timeout(patience, outcome).await.map_err(late)?.map_err(ended)??;
        Ok(Arc::new(Self { path, patience, requests, session, _signals: signals }))
    }

    /// Sends a request and waits for its answer. `late` returns the error for an answer that does
    /// not come in time.
    async fn call<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request,
        late: impl FnOnce() -> Error,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).map_err(|_| Error::Closed)?;
        match tokio::time::timeout(self.patience, answer).await {
            Ok(Ok(answer)) => answer,
            // The worker has ended without executing the request.
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => Err(late()),
        }
    }
}

/// Listens for changes by other centers, on the thread of the worker: the calls may block. The
/// listener ends with the center.
fn listen(file: &Path, written: WrittenSender) -> Option<Listener> {
    let signals = Listener::start(file, move || written.send());
    if let Err(error) = &signals {
        tracing::debug!(path = %file.display(), %error, "changes by others are seen by polling");
    }
    signals.ok()
}

impl fmt::Debug for SqliteCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteCenter")
            .field("path", &self.path)
            .field("session", &self.session.current())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl RegistryCenter for SqliteCenter {
    fn limits(&self) -> Limits {
        // SQLite needs no limit. These are ZooKeeper's with its default settings, so that a program
        // can move there.
        Limits { max_ops: 5_000, max_bytes: 700_000 }
    }

    fn session(&self) -> Option<SessionChange> {
        self.session.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.session.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.session.lease_remaining(session, Instant::now())
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        Ok(self.read_all(std::slice::from_ref(path)).await?.pop().flatten())
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let paths = paths.to_vec();
        let late = || Error::Unavailable { call: "read" };
        self.call(|reply| Request::Read { paths, reply }, late).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let path = path.clone();
        let late = || Error::Unavailable { call: "list children" };
        self.call(|reply| Request::Children { path, reply }, late).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        const CALL: &str = "commit";
        self.limits().admit(&txn)?;
        let ticket = Arc::new(Ticket::default());
        let for_worker = Arc::clone(&ticket);
        let late = || {
            if ticket.take() {
                return Error::Unavailable { call: CALL };
            }
            Error::Unknown { call: CALL, cause: "the disk does not answer".to_owned() }
        };
        self.call(|reply| Request::Commit { txn, ticket: for_worker, reply }, late).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.watch_parts(&Scope::all_of(root.clone()))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        let (sender, feed) = reg_center::feed::channel();
        // After the center was closed the sender is dropped here, which ends the feed.
        let _ = self.requests.send(Request::Watch { scope: scope.clone(), sender });
        feed
    }

    async fn sync(&self) -> Result<()> {
        // Reads always see the newest state: this one only makes sure that the file can be read.
        let paths = vec![NodePath::root()];
        let late = || Error::Unavailable { call: "sync" };
        self.call(|reply| Request::Read { paths, reply }, late).await.map(|_| ())
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        // All processes are on this host, so its clock is theirs: there is nothing to compare.
        self.sync().await.map(|()| None)
    }

    async fn close(&self) -> Result<()> {
        let late = || Error::Unavailable { call: "close" };
        match self.call(|reply| Request::Close { reply }, late).await {
            // It was closed before.
            Err(Error::Closed) => Ok(()),
            answer => answer,
        }
    }
}
