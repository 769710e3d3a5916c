//! The implementation of `RegistryCenter`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use reg_center::{
    ClientSession, Error, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope,
    SessionChange, SessionFeed, SessionId, Txn, TxnOutcome,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::request::{Request, Ticket};
use crate::store::{Store, with_retry};
use crate::worker::{Worker, patience};
use crate::{OpenError, PostgresOptions};

/// Longest path of a written node, in bytes. An index of PostgreSQL takes no longer key.
const MAX_PATH: usize = 2_000;

/// A registry center on a PostgreSQL database.
///
/// A task of the runtime executes the calls on one connection. Dropping the center ends the session
/// as [`close`](RegistryCenter::close) does, without waiting for it.
pub struct PostgresCenter {
    server: String,
    patience: Duration,
    requests: UnboundedSender<Request>,
    session: Arc<ClientSession>,
}

impl PostgresCenter {
    /// Connects to the server, creates the schema if it is missing, and opens a session.
    ///
    /// # Errors
    /// [`OpenError`] names the server and the reason. A server that cannot be reached is
    /// [`OpenError::Unreachable`] after the
    /// [`connect_timeout`](PostgresOptions::connect_timeout); everything else is reported at once.
    /// Each request to the server has the limit of
    /// [`request_timeout`](PostgresOptions::request_timeout).
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time enabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends by its timeout.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use reg_center::{NodePath, RegistryCenter as _, Txn};
    /// use reg_center_postgres::{PostgresCenter, PostgresOptions};
    ///
    /// let center = PostgresCenter::connect(PostgresOptions::new("db", 5432, "jobs")).await?;
    /// let outcome = center.commit(Txn::new().put(NodePath::root(), "kept")).await?;
    /// assert!(outcome.is_committed());
    /// center.close().await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(options: PostgresOptions) -> Result<Arc<Self>, OpenError> {
        options.validate()?;
        let (requests, received) = unbounded_channel();
        let session = Arc::new(ClientSession::default());
        let (server, patience) = (options.server(), patience(options.requests()));
        let worker = Box::pin(Worker::start(options, received, Arc::clone(&session))).await?;
        tokio::spawn(worker.run());
        Ok(Arc::new(Self { server, patience, requests, session }))
    }

    /// Creates the schema if it is missing, without opening a session.
    ///
    /// A user that owns the schema calls this once, so that the users of programs need no right to
    /// create tables.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// Outside of a tokio runtime with IO and time enabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the schema is complete or does not exist.
    pub async fn create_schema(options: PostgresOptions) -> Result<(), OpenError> {
        options.validate()?;
        let store =
            Box::pin(with_retry(&options, |options| async move { Store::connect(&options).await }))
                .await?;
        store.close().await;
        Ok(())
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

impl fmt::Debug for PostgresCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresCenter")
            .field("server", &self.server)
            .field("session", &self.session.current())
            .finish_non_exhaustive()
    }
}

/// Rejects a transaction that writes a node whose path is too long for an index.
fn check_paths(txn: &Txn) -> Result<()> {
    let length = |op: &reg_center::Op| op.path().as_str().len();
    match txn.ops().iter().map(length).max() {
        Some(found) if found > MAX_PATH => Err(Error::Rejected {
            call: "commit",
            cause: format!("a path has {found} bytes, PostgreSQL takes at most {MAX_PATH}"),
        }),
        _ => Ok(()),
    }
}

#[async_trait]
impl RegistryCenter for PostgresCenter {
    fn limits(&self) -> Limits {
        Limits { max_ops: 5_000, max_bytes: 1_000_000 }
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
        check_paths(&txn)?;
        let ticket = Arc::new(Ticket::default());
        let for_worker = Arc::clone(&ticket);
        let late = || {
            if ticket.take() {
                return Error::Unavailable { call: CALL };
            }
            Error::Unknown { call: CALL, cause: "the database does not answer".to_owned() }
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
        // Reads always see the newest state: this one only makes sure that the server answers.
        let paths = vec![NodePath::root()];
        let late = || Error::Unavailable { call: "sync" };
        self.call(|reply| Request::Read { paths, reply }, late).await.map(|_| ())
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        // No decision rests on the clock of the server, which may jump at a failover.
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
