//! The implementation of `RegistryCenter`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use reg_center::{
    ClockReading, ConflictReason, Error, Feed, Lifetime, Limits, Node, NodePath, RegistryCenter,
    Result, Scope, SessionChange, SessionFeed, SessionId, Txn, TxnOutcome,
};
use zookeeper_client as zk;

use crate::ConnectError;
use crate::bulk;
use crate::commit;
use crate::convert;
use crate::feed::{self, WatchRoots};
use crate::options::ZookeeperOptions;
use crate::session::{self, Closing, Conn, Ending, Shared};

/// Delay between two attempts to open the first session.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A registry center on ZooKeeper.
///
/// It keeps a session open until it is closed: when its session is over, it replaces the client by
/// a new one. Its tasks run on the runtime of the call to [`connect`](Self::connect). That runtime
/// must live as long as the center and must not be blocked: if it is blocked for a session timeout,
/// the session is lost.
///
/// Dropping the last handle ends the session as [`close`](RegistryCenter::close) does, without
/// waiting for it.
pub struct ZookeeperCenter {
    shared: Arc<Shared>,
    roots: Arc<WatchRoots>,
    closing: Closing,
    namespace: NodePath,
}

impl ZookeeperCenter {
    /// Opens a session and returns when it is connected.
    ///
    /// # Errors
    /// [`ConnectError::Options`]; [`Error::Unavailable`] after the
    /// [`connect_timeout`](ZookeeperOptions::connect_timeout); [`Error::NotAuthorized`] for the
    /// namespace; [`ConnectError::Credentials`] and [`ConnectError::Tls`], both at once if a retry
    /// cannot succeed.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
    ///
    /// let options = ZookeeperOptions::new("zk-1:2181,zk-2:2181").namespace("/jobs");
    /// let center = ZookeeperCenter::connect(options).await?;
    /// # Ok(()) }
    /// ```
    pub async fn connect(options: ZookeeperOptions) -> Result<Arc<Self>, ConnectError> {
        options.validate()?;
        let namespace = options.root()?;
        let shared = Shared::new(options);
        let limit = shared.options.wanted_connect_timeout();
        let mut obstacle = None;
        let opened = tokio::time::timeout(limit, first_session(&shared, &mut obstacle)).await;
        let late = || Err(obstacle.unwrap_or(Error::Unavailable { call: "connect" }.into()));
        let conn = opened.unwrap_or_else(|_| late())?;
        let closing = session::start(Arc::clone(&shared), conn);
        let roots = Arc::new(WatchRoots::in_namespace(&namespace));
        Ok(Arc::new(Self { shared, roots, closing, namespace }))
    }

    /// Ends this center's session as if it had expired, through another connection to `addresses`.
    ///
    /// This is for tests and drills: the center gets no notice and handles the loss of its session
    /// as in production, within milliseconds. If a test has a proxy between the center and the
    /// registry, it must cut the center's connection first and restore it afterwards. Otherwise two
    /// clients share one session and disconnect each other for seconds.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no session or the registry cannot be reached.
    pub async fn expire_through(&self, addresses: &str) -> Result<()> {
        const CALL: &str = "expire";
        let session = self.shared.session_info().ok_or(Error::Unavailable { call: CALL })?;
        match session::end_session(&self.shared.options.at(addresses), session).await {
            Ending::Over => Ok(()),
            Ending::Unreachable | Ending::Rejected => Err(Error::Unavailable { call: CALL }),
        }
    }

    /// Returns the access control list of a node as text, such as `world:anyone:cdrwa`, if any
    /// client may change the node.
    ///
    /// Returns `None` if only authenticated users may change it, or if the node does not exist.
    ///
    /// # Errors
    /// [`Error::NotAuthorized`] if this client must not read the list, and the errors of
    /// [`RegistryCenter::read`].
    pub async fn open_acl(&self, path: &NodePath) -> Result<Option<String>> {
        let read = |client: zk::Client| {
            self.with_permit(async move {
                match client.get_acl(path.as_str()).await {
                    Ok((acls, _)) => Ok(acls),
                    Err(zk::Error::NoNode) => Ok(Vec::new()),
                    Err(error) => Err(error),
                }
            })
        };
        let acls = self.request("read the access control list", path, read).await?;
        Ok(acls.iter().any(convert::is_open).then(|| convert::acl_text(&acls)))
    }

    /// Waits for a permit, then sends one request.
    async fn with_permit<T>(&self, request: impl Future<Output = T>) -> T {
        let _permit = self.shared.permits.acquire().await;
        request.await
    }

    /// Sends a request without effect and waits for the answer while there is a connection. The
    /// request takes its own permits.
    async fn request<T, F>(
        &self,
        call: &'static str,
        path: &NodePath,
        send: impl FnOnce(zk::Client) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, zk::Error>>,
    {
        let Conn { client, session, .. } = self.shared.conn(call)?;
        tokio::select! {
            biased;
            answer = send(client) => answer.map_err(|error| {
                let error = convert::read_error(call, path, &error);
                // While the center closes, pending requests lose their client.
                if error.is_retryable() { self.shared.not_executed_error(call) } else { error }
            }),
            () = self.shared.down(session) => Err(self.shared.not_executed_error(call)),
        }
    }

    /// Writes the probe, and creates it if it is missing.
    async fn write_probe(&self, probe: &NodePath) -> Result<()> {
        let put = || Txn::new().put(probe.clone(), "");
        let create = || Txn::new().create(probe.clone(), "", Lifetime::Persistent);
        loop {
            for txn in [put(), create()] {
                match self.commit(txn).await? {
                    TxnOutcome::Committed(_) => return Ok(()),
                    TxnOutcome::Conflict(conflict) => match conflict.reason {
                        // Another client deletes or creates the probe at the same time; the next
                        // attempt decides.
                        ConflictReason::Absent | ConflictReason::Exists => {}
                        ConflictReason::VersionMismatch
                        | ConflictReason::HasChildren
                        | ConflictReason::EphemeralParent => {
                            let cause = format!("{probe} cannot be written, {conflict}");
                            return Err(Error::Rejected { call: "ask for the time", cause });
                        }
                    },
                }
            }
        }
    }
}

/// Retries until a session is open; only a definite rejection by the registry ends the attempts.
///
/// `obstacle` has the current reason of the failures, in case that the caller's timeout ends the
/// attempts.
async fn first_session(
    shared: &Shared,
    obstacle: &mut Option<ConnectError>,
) -> Result<Conn, ConnectError> {
    session::check_hosts(&shared.options).await?;
    loop {
        // Probe before each attempt: a server that has just started may be late with its answer.
        *obstacle = session::find_obstacle(&shared.options).await?;
        let sent = Instant::now();
        match session::open(&shared.options).await {
            Ok(conn) => {
                shared.session_opened(&conn, sent);
                return Ok(conn);
            }
            Err(ConnectError::Registry(error)) if error.is_retryable() => {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

impl Drop for ZookeeperCenter {
    fn drop(&mut self) {
        self.closing.request();
    }
}

impl fmt::Debug for ZookeeperCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZookeeperCenter")
            .field("options", &self.shared.options)
            .field("session", &self.shared.hub.current())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl RegistryCenter for ZookeeperCenter {
    fn limits(&self) -> Limits {
        commit::limits(&self.namespace)
    }

    fn session(&self) -> Option<SessionChange> {
        self.shared.hub.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.shared.hub.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.shared.lease.remaining(session, Instant::now())
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        let read = |client: zk::Client| {
            self.with_permit(async move {
                match client.get_data(path.as_str()).await {
                    Ok((data, stat)) => Ok(Some(convert::node(path.clone(), data, &stat))),
                    Err(zk::Error::NoNode) => Ok(None),
                    Err(error) => Err(error),
                }
            })
        };
        self.request("read", path, read).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let Some(first) = paths.first() else { return Ok(Vec::new()) };
        let permits = &self.shared.permits;
        let read =
            |client: zk::Client| async move { bulk::read_nodes(&client, permits, paths).await };
        self.request("read", first, read).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let list = |client: zk::Client| {
            self.with_permit(async move {
                match client.list_children(path.as_str()).await {
                    Ok(mut names) => {
                        names.sort_unstable();
                        Ok(Some(names))
                    }
                    Err(zk::Error::NoNode) => Ok(None),
                    Err(error) => Err(error),
                }
            })
        };
        self.request("list children", path, list).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        commit::commit(&self.shared, &self.namespace, txn).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.watch_parts(&Scope::all_of(root.clone()))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        let (sender, feed) = reg_center::feed::channel();
        let (shared, roots) = (Arc::clone(&self.shared), Arc::clone(&self.roots));
        self.shared.runtime.spawn(feed::run(shared, roots, scope.clone(), sender));
        feed
    }

    async fn sync(&self) -> Result<()> {
        let root = NodePath::root();
        let sync = |client: zk::Client| self.with_permit(async move { client.sync("/").await });
        self.request("sync", &root, sync).await
    }

    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        let sent = Instant::now();
        self.write_probe(probe).await?;
        let stat = |client: zk::Client| {
            self.with_permit(async move { client.check_stat(probe.as_str()).await })
        };
        match self.request("ask for the time", probe, stat).await? {
            Some(stat) => {
                let time = convert::written_at(&stat);
                self.shared.server_clock.record(time, sent, Instant::now());
                Ok(Some(time))
            }
            None => Err(Error::Rejected {
                call: "ask for the time",
                cause: format!("{probe} was deleted by another client at the same time"),
            }),
        }
    }

    fn clock_reading(&self) -> Option<ClockReading> {
        self.shared.server_clock.reading(Instant::now())
    }

    async fn close(&self) -> Result<()> {
        self.closing.finish().await
    }
}
