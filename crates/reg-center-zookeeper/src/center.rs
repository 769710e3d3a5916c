//! The centre itself: calls in, answers out.

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

const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A registry centre on a ZooKeeper.
///
/// It keeps itself in a session until it is closed: a client whose session is over is replaced by another one. Its
/// tasks run on the runtime that it was connected on, which must live as long as it does and must not be blocked: a
/// runtime that does nothing for a session timeout loses the session.
///
/// Dropping the last handle ends the session as [`close`](RegistryCenter::close) does, without waiting for it.
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
    /// [`connect_timeout`](ZookeeperOptions::connect_timeout); [`Error::NotAuthorized`] for the namespace;
    /// [`ConnectError::Credentials`] and [`ConnectError::Tls`], both at once if it is certain that trying again does not help.
    ///
    /// # Panics
    /// Outside of a tokio runtime with time enabled.
    ///
    /// # Cancel safety
    /// A session that was opened already ends.
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
        let mut doubt = None;
        let opened = tokio::time::timeout(limit, first_session(&shared, &mut doubt)).await;
        let late = || Err(doubt.unwrap_or(Error::Unavailable { act: "connect" }.into()));
        let conn = opened.unwrap_or_else(|_| late())?;
        let closing = session::start(Arc::clone(&shared), conn);
        let roots = Arc::new(WatchRoots::in_namespace(&namespace));
        Ok(Arc::new(Self { shared, roots, closing, namespace }))
    }

    /// Ends this centre's session as if it had expired, through another connection to `addresses`.
    ///
    /// This is for rehearsals: the centre is not told, and goes through the loss of a session as it would in earnest,
    /// within milliseconds. Cut its own connection before, if a test stands between it and the registry, and let it
    /// reconnect afterwards: two clients in one session push each other out for seconds.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no session now or the registry cannot be reached.
    pub async fn expire_through(&self, addresses: &str) -> Result<()> {
        const ACT: &str = "expire";
        let session = self.shared.session_info().ok_or(Error::Unavailable { act: ACT })?;
        match session::end_session(&self.shared.options.at(addresses), session).await {
            Ending::Over => Ok(()),
            Ending::Unreachable | Ending::Refused => Err(Error::Unavailable { act: ACT }),
        }
    }

    /// Returns the access control list of a node as text, such as `world:anyone:cdrwa`, if anyone may change the node, and
    /// `None` if only authenticated users may, or there is no such node.
    ///
    /// # Errors
    /// [`Error::NotAuthorized`] if the list must not be read, and those of [`RegistryCenter::read`].
    pub async fn open_acl(&self, path: &NodePath) -> Result<Option<String>> {
        let read = |client: zk::Client| {
            self.one(async move {
                match client.get_acl(path.as_str()).await {
                    Ok((acls, _)) => Ok(acls),
                    Err(zk::Error::NoNode) => Ok(Vec::new()),
                    Err(error) => Err(error),
                }
            })
        };
        let acls = self.ask("read the access control list", path, read).await?;
        Ok(acls.iter().any(convert::is_open).then(|| convert::acl_text(&acls)))
    }

    /// Waits for the permit of one request before it is sent.
    async fn one<T>(&self, request: impl Future<Output = T>) -> T {
        let _permit = self.shared.permits.acquire().await;
        request.await
    }

    /// Sends what changes nothing and waits for the answer while there is a connection. Its requests take permits themselves.
    async fn ask<T, F>(
        &self,
        act: &'static str,
        path: &NodePath,
        request: impl FnOnce(zk::Client) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, zk::Error>>,
    {
        let Conn { client, session, .. } = self.shared.conn(act)?;
        tokio::select! {
            biased;
            answer = request(client) => answer.map_err(|error| {
                let error = convert::read_error(act, path, &error);
                // A centre that is being closed takes its client away from those who wait.
                if error.is_retryable() { self.shared.absent(act) } else { error }
            }),
            () = self.shared.down(session) => Err(self.shared.absent(act)),
        }
    }

    /// Writes the probe, whether it exists or not.
    async fn touch(&self, probe: &NodePath) -> Result<()> {
        let put = || Txn::new().put(probe.clone(), "");
        let create = || Txn::new().create(probe.clone(), "", Lifetime::Persistent);
        loop {
            for txn in [put(), create()] {
                match self.commit(txn).await? {
                    TxnOutcome::Committed(_) => return Ok(()),
                    TxnOutcome::Conflict(conflict) => match conflict.reason {
                        // Somebody deletes or creates the probe at the same time.
                        ConflictReason::Absent | ConflictReason::Exists => {}
                        ConflictReason::VersionMismatch
                        | ConflictReason::HasChildren
                        | ConflictReason::EphemeralParent => {
                            let cause = format!("{probe} cannot be written, {conflict}");
                            return Err(Error::Refused { act: "ask for the time", cause });
                        }
                    },
                }
            }
        }
    }
}

/// Tries until there is a session; only the registry's definite "no" ends it. `doubt` is what stands in the way if it does not
/// come to that.
async fn first_session(
    shared: &Shared,
    doubt: &mut Option<ConnectError>,
) -> Result<Conn, ConnectError> {
    session::check_hosts(&shared.options).await?;
    loop {
        // Each time: a server that has only just begun may be late with its answer.
        *doubt = session::look_ahead(&shared.options).await?;
        let sent = Instant::now();
        match session::open(&shared.options).await {
            Ok(conn) => {
                shared.begun(&conn, sent);
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
        self.closing.ask();
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
            self.one(async move {
                match client.get_data(path.as_str()).await {
                    Ok((data, stat)) => Ok(Some(convert::node(path.clone(), data, &stat))),
                    Err(zk::Error::NoNode) => Ok(None),
                    Err(error) => Err(error),
                }
            })
        };
        self.ask("read", path, read).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        let Some(first) = paths.first() else { return Ok(Vec::new()) };
        let permits = &self.shared.permits;
        let read =
            |client: zk::Client| async move { bulk::read_nodes(&client, permits, paths).await };
        self.ask("read", first, read).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let list = |client: zk::Client| {
            self.one(async move {
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
        self.ask("list children", path, list).await
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
        let sync = |client: zk::Client| self.one(async move { client.sync("/").await });
        self.ask("sync", &root, sync).await
    }

    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        let sent = Instant::now();
        self.touch(probe).await?;
        let look =
            |client: zk::Client| self.one(async move { client.check_stat(probe.as_str()).await });
        match self.ask("ask for the time", probe, look).await? {
            Some(stat) => {
                let time = convert::written_at(&stat);
                self.shared.server_clock.note(time, sent, Instant::now());
                Ok(Some(time))
            }
            None => Err(Error::Refused {
                act: "ask for the time",
                cause: format!("{probe} was deleted at the same time"),
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
