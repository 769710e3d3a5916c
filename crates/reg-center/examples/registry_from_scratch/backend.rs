//! A registry from scratch, on a store that knows nothing of the contract.
//! `docs/write-a-registry.md` explains it step by step.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use parking_lot::Mutex;
use reg_center::evaluate::{Snapshot, Stamp, evaluate};
use reg_center::{
    Beat, Beats, Change, ClientSession, Committed, Error, Feed, Limits, LogFeeds, LogNews,
    LogQuery, Node, NodePath, Op, RegistryCenter, Result, Scope, SessionChange, SessionConnection,
    SessionFeed, SessionId, Txn, TxnOutcome, feed,
};

use super::store::{Driver, Failed, SessionRow, Tables, Wire};

impl Snapshot for Tables {
    fn node(&self, path: &NodePath) -> Result<Option<Node>> {
        Ok(self.nodes.get(path).cloned())
    }

    fn children(&self, path: &NodePath) -> Result<Vec<NodePath>> {
        Ok(self.children_of(path))
    }
}

fn commit(tables: &mut Tables, by: SessionConnection, ops: &[Op]) -> Result<TxnOutcome> {
    let session = by.session;
    let row = tables.sessions.get(&session).ok_or(Error::SessionLost { session })?;
    if row.connection != by.connection {
        return Err(Error::Unavailable { call: "commit" });
    }
    let stamp = Stamp { session, revision: tables.revision.next(), time: None };
    Ok(match evaluate(tables, stamp, ops)? {
        Ok(effect) => {
            store(tables, effect.changes);
            let revision = Some(tables.revision);
            TxnOutcome::Committed(Committed { revision, stats: effect.stats })
        }
        Err(conflict) => TxnOutcome::Conflict(conflict),
    })
}

/// Stores and logs the changes of one revision.
fn store(tables: &mut Tables, changes: Vec<Change>) {
    let Some(revision) = changes.first().and_then(Change::revision) else { return };
    tables.revision = revision;
    changes.iter().for_each(|change| tables.write_node(change));
    tables.log.append(changes);
}

fn open_session(tables: &mut Tables, timeout: Duration, connection: u64) -> SessionId {
    tables.last_session += 1;
    let session = SessionId(tables.last_session);
    let beat = Beat { session, count: 0, timeout };
    tables.sessions.insert(session, SessionRow { beat, connection });
    session
}

/// Ends a session, and deletes the nodes that it owns at one revision.
pub(crate) fn end_session(tables: &mut Tables, session: SessionId) {
    tables.sessions.remove(&session);
    let revision = Some(tables.revision.next());
    let owned = tables.owned_by(session).into_iter();
    store(tables, owned.map(|path| Change::Gone { path, revision }).collect());
}

/// Keeps a session alive by its counter. Returns the counters of all sessions, or `None` if the
/// session is over.
fn beat(tables: &mut Tables, by: SessionConnection) -> Option<Vec<Beat>> {
    let row = tables.sessions.get_mut(&by.session)?;
    row.beat.count += 1;
    // Commits of earlier connections that are still on their way are refused from now on.
    row.connection = row.connection.max(by.connection);
    Some(tables.sessions.values().map(|row| row.beat).collect())
}

/// Ends the sessions whose counter is still the one that was observed.
fn end_silent_sessions(tables: &mut Tables, silent: &[Beat]) {
    for beat in silent {
        if tables.sessions.get(&beat.session).is_some_and(|row| row.beat == *beat) {
            end_session(tables, beat.session);
        }
    }
}

fn news(tables: &Tables, query: LogQuery) -> LogNews {
    let snapshot = |scope: Scope| (scope.clone(), tables.nodes_in(&scope));
    LogNews {
        revision: tables.revision,
        changes: query.cursor.map_or(Some(Vec::new()), |cursor| tables.log.after(cursor)),
        snapshots: query.unlisted.into_iter().map(snapshot).collect(),
    }
}

/// One client of the store.
#[derive(Debug)]
pub(crate) struct Center {
    driver: Driver,
    timeout: Duration,
    session: ClientSession,
    feeds: Mutex<LogFeeds>,
    beats: Mutex<Beats>,
}

impl Center {
    pub(crate) async fn connect(wire: Arc<dyn Wire>, timeout: Duration) -> Result<Arc<Self>> {
        let (session, feeds, beats) = Default::default();
        let center = Arc::new(Self { driver: Driver(wire), timeout, session, feeds, beats });
        center.contact().await.map_err(|_| Error::Unavailable { call: "connect" })?;
        tokio::spawn(keep_contact(Arc::downgrade(&center)));
        Ok(center)
    }

    /// Executes a transaction of the store. If it fails, the session is suspended.
    async fn execute<T: Send + 'static>(
        &self,
        transaction: impl FnOnce(&mut Tables) -> T + Send + 'static,
    ) -> Result<T, Failed> {
        let connection = self.session.connection();
        let answer = self.driver.execute(transaction).await;
        if answer.is_err() && self.session.suspend(connection) {
            self.feeds.lock().restart();
        }
        answer
    }

    async fn query<T: Send + 'static>(
        &self,
        call: &'static str,
        query: impl FnOnce(&Tables) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.session.check(call)?;
        let answer = self.execute(move |tables| query(tables)).await;
        answer.unwrap_or(Err(Error::Unavailable { call }))
    }

    /// Opens a session or keeps it alive, delivers the news, and ends the sessions of dead clients.
    async fn contact(&self) -> Result<(), Failed> {
        let (sent, timeout, connection) = (now(), self.timeout, self.session.connection());
        let session = match self.session.id() {
            Some(session) => session,
            None => self.execute(move |t| open_session(t, timeout, connection)).await?,
        };
        let by = SessionConnection { session, connection };
        let wanted = self.feeds.lock().query();
        let answer = self.execute(move |t| Some((beat(t, by)?, news(t, wanted)))).await?;
        let Some((beats, news)) = answer else {
            self.session.lose(session);
            self.feeds.lock().restart();
            return Ok(());
        };
        if self.session.acknowledge(by, sent, timeout) {
            self.feeds.lock().take(news);
        }
        let mut silent = self.beats.lock().observe(sent, now(), beats);
        silent.retain(|beat| beat.session != session);
        self.execute(move |t| end_silent_sessions(t, &silent)).await
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

async fn keep_contact(center: Weak<Center>) {
    while let Some(center) = center.upgrade() {
        if center.session() == Some(SessionChange::Closed) {
            return;
        }
        // A failure has suspended the session; the next contact tries again.
        let _ = center.contact().await;
        drop(center);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[async_trait]
impl RegistryCenter for Center {
    fn limits(&self) -> Limits {
        Limits { max_ops: 5_000, max_bytes: 700_000 }
    }

    fn session(&self) -> Option<SessionChange> {
        self.session.current()
    }

    fn session_feed(&self) -> SessionFeed {
        self.session.subscribe()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.session.lease_remaining(session, now())
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        let path = path.clone();
        self.query("read", move |tables| tables.node(&path)).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        let path = path.clone();
        let names = move |tables: &Tables| {
            let names = tables.children_of(&path).into_iter().map(|child| child.name().to_owned());
            Ok(tables.node(&path)?.map(|_| names.collect()))
        };
        self.query("list children", names).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        let call = "commit";
        self.limits().admit(&txn)?;
        let by = self.session.admit(&txn)?;
        match self.execute(move |tables| commit(tables, by, txn.ops())).await {
            Ok(answer) => answer,
            Err(Failed::NotSent) => Err(Error::Unavailable { call }),
            Err(Failed::NoReply) => Err(Error::Unknown { call, cause: "no reply".to_owned() }),
        }
    }

    fn watch(&self, root: &NodePath) -> Feed {
        let (sender, feed) = feed::channel();
        let mut feeds = self.feeds.lock();
        if self.session() != Some(SessionChange::Closed) {
            feeds.add(Scope::all_of(root.clone()), sender);
        }
        feed
    }

    async fn sync(&self) -> Result<()> {
        self.query("sync", |_| Ok(())).await
    }

    async fn registry_time(&self, _probe: &NodePath) -> Result<Option<SystemTime>> {
        self.sync().await.map(|()| None)
    }

    async fn close(&self) -> Result<()> {
        let session = self.session.close();
        self.feeds.lock().clear();
        let Some(session) = session else { return Ok(()) };
        let ended = self.execute(move |tables| end_session(tables, session)).await;
        ended.map_err(|_| Error::Unavailable { call: "close" })
    }
}
