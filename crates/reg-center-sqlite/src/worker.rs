//! The thread of a center: executes its calls, keeps its session alive and feeds its subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use reg_center::feed::FeedSender;
use reg_center::{
    Beats, ClientSession, Error, LogFeeds, Node, NodePath, Op, Result, Scope, SessionConnection,
    SessionId, Txn, TxnOutcome,
};
use tokio::sync::oneshot::Sender;

use crate::SqliteOptions;
use crate::store::{Batch, Failure, News, Store};
use crate::written::Pending;

/// Maximum number of transactions that become durable together.
const MAX_BATCH: usize = 256;
/// Delay between two attempts to use a file that cannot be used.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Maximum interval at which a center looks for sessions whose process has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// A call of the center.
pub(crate) enum Request {
    Commit {
        txn: Txn,
        ticket: Arc<Ticket>,
        reply: Sender<Result<TxnOutcome>>,
    },
    Read {
        paths: Vec<NodePath>,
        reply: Sender<Result<Vec<Option<Node>>>>,
    },
    Children {
        path: NodePath,
        reply: Sender<Result<Option<Vec<String>>>>,
    },
    Watch {
        scope: Scope,
        sender: FeedSender,
    },
    /// A center, perhaps this one, has written: look for changes now.
    Written(Pending),
    Close {
        reply: Sender<Result<()>>,
    },
}

/// Decides between the thread that starts a commit and the caller that gives it up.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    taken: AtomicBool,
}

impl Ticket {
    /// Returns true for the first call only.
    pub(crate) fn take(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }
}

pub(crate) struct Worker<S> {
    store: S,
    timeout: Duration,
    poll_interval: Duration,
    session: Arc<ClientSession>,
    feeds: LogFeeds,
    beats: Beats,
    next_beat: Instant,
    next_look: Instant,
    next_poll: Instant,
}

impl<S: Store> Worker<S> {
    /// Opens the first session.
    ///
    /// # Errors
    /// The cause, if the file cannot be used.
    pub(crate) fn start(
        store: S,
        options: &SqliteOptions,
        session: Arc<ClientSession>,
    ) -> Result<Self, String> {
        let now = Instant::now();
        let mut worker = Self {
            store,
            timeout: options.session_timeout,
            poll_interval: options.poll_interval,
            session,
            feeds: LogFeeds::default(),
            beats: Beats::default(),
            next_beat: now,
            next_look: now,
            next_poll: now,
        };
        worker.open_session().map_err(|failure| cause_of(&failure).to_owned())?;
        Ok(worker)
    }

    /// Serves the center until it is closed or dropped.
    pub(crate) fn run(mut self, requests: &Receiver<Request>) {
        loop {
            let wait = self.next_wake().saturating_duration_since(Instant::now());
            match requests.recv_timeout(wait) {
                Ok(first) => {
                    let more = requests.try_iter().take(MAX_BATCH - 1);
                    if let Some(closed) = self.serve(std::iter::once(first).chain(more).collect()) {
                        let ended = self.close();
                        // The file is closed when the call returns.
                        drop(self);
                        // A caller that has stopped waiting needs no answer.
                        let _ = closed.send(ended);
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // The session ends by its timeout if the file cannot be used.
                    let _ = self.close();
                    return;
                }
            }
            self.tick();
        }
    }

    /// Executes calls in order. Commits that follow each other become durable together. Returns the
    /// caller that closes the center; calls after it are dropped.
    fn serve(&mut self, requests: Vec<Request>) -> Option<Sender<Result<()>>> {
        let mut commits = Vec::new();
        for request in requests {
            // A signal needs no order, and must not split the commits that become durable together.
            if !matches!(request, Request::Commit { .. } | Request::Written(_)) {
                self.commit(std::mem::take(&mut commits));
            }
            match request {
                Request::Commit { txn, ticket, reply } => {
                    if ticket.take() {
                        commits.push((txn, reply));
                    }
                }
                Request::Read { paths, reply } => {
                    let nodes = self.access("read", |store| store.read(&paths));
                    let _ = reply.send(nodes);
                }
                Request::Children { path, reply } => {
                    let names = self.access("list children", |store| store.children(&path));
                    let _ = reply.send(names);
                }
                Request::Watch { scope, sender } => self.watch(scope, sender),
                Request::Written(pending) => {
                    pending.take();
                    self.next_poll = Instant::now();
                }
                Request::Close { reply } => return Some(reply),
            }
        }
        self.commit(commits);
        None
    }

    /// Accesses the file without writing.
    fn access<T>(
        &mut self,
        call: &'static str,
        access: impl FnOnce(&mut S) -> Result<T, Failure>,
    ) -> Result<T> {
        self.session.check(call)?;
        access(&mut self.store).map_err(|failure| {
            self.failed(&failure);
            Error::Unavailable { call }
        })
    }

    fn commit(&mut self, commits: Vec<(Txn, Sender<Result<TxnOutcome>>)>) {
        const CALL: &str = "commit";
        let mut admitted = Vec::with_capacity(commits.len());
        for (txn, reply) in commits {
            match self.session.admit(&txn) {
                Ok(by) => admitted.push((by.session, txn, reply)),
                Err(error) => drop(reply.send(Err(error))),
            }
        }
        let Some(session) = admitted.first().map(|(session, ..)| *session) else { return };
        let ops: Vec<&[Op]> = admitted.iter().map(|(_, txn, _)| txn.ops()).collect();
        let result = self.store.commit(&ops);
        match result {
            Ok(batch) => {
                let Batch { before, after, answers, changes } = batch;
                for ((.., reply), answer) in admitted.into_iter().zip(answers) {
                    let _ = reply.send(answer);
                }
                if self.feeds.cursor() == Some(before) {
                    self.feeds.deliver(&changes, after);
                } else {
                    self.deliver_news();
                }
            }
            Err(failure) => {
                for (_, txn, reply) in admitted {
                    let _ = reply.send(Err(match &failure {
                        Failure::NotDone(_) => Error::Unavailable { call: CALL },
                        Failure::Unknown(cause) => {
                            Error::Unknown { call: CALL, cause: cause.clone() }
                        }
                        Failure::SessionOver if txn.session().is_some() => {
                            Error::SessionLost { session }
                        }
                        Failure::SessionOver => Error::Unavailable { call: CALL },
                    }));
                }
                self.failed(&failure);
            }
        }
    }

    fn watch(&mut self, scope: Scope, sender: FeedSender) {
        self.feeds.add(scope, sender);
        // Without a connection the feed starts as soon as the file can be used again.
        if self.session.connected().is_some()
            && let Err(failure) = self.start_feeds()
        {
            self.failed(&failure);
        }
    }

    /// Delivers the changes since the last delivery.
    fn deliver_news(&mut self) {
        let Some(cursor) = self.feeds.cursor() else { return };
        let delivered = match self.store.news(cursor) {
            Ok(News::Changes(until, changes)) => {
                self.feeds.deliver(&changes, until);
                Ok(())
            }
            Ok(News::Gap) => self.restart_feeds(),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = delivered {
            self.failed(&failure);
        }
    }

    /// Starts all feeds with a new snapshot.
    fn restart_feeds(&mut self) -> Result<(), Failure> {
        self.feeds.restart();
        self.start_feeds()
    }

    /// Starts the feeds that wait for a snapshot.
    fn start_feeds(&mut self) -> Result<(), Failure> {
        for scope in self.feeds.unlisted() {
            let (revision, nodes) = self.store.snapshot(&scope)?;
            self.feeds.start(&scope, revision, &nodes);
        }
        Ok(())
    }

    fn next_wake(&self) -> Instant {
        let mut wake = self.next_beat;
        if self.session.connected().is_some() {
            wake = wake.min(self.next_look);
            if !self.feeds.is_empty() {
                wake = wake.min(self.next_poll);
            }
        }
        wake
    }

    /// Does what is due.
    fn tick(&mut self) {
        let now = Instant::now();
        if now >= self.next_beat {
            match self.session.connected() {
                Some(session) => self.beat(session),
                None => self.recover(),
            }
        }
        if let Some(session) = self.session.connected()
            && now >= self.next_look
        {
            self.end_dead_sessions(session);
        }
        if self.session.connected().is_some() && now >= self.next_poll {
            self.next_poll = now + self.poll_interval;
            match self.store.was_written() {
                Ok(true) => self.deliver_news(),
                Ok(false) => {}
                Err(failure) => self.failed(&failure),
            }
        }
    }

    fn beat(&mut self, session: SessionId) {
        let sent = Instant::now();
        match self.store.beat() {
            Ok(()) => {
                self.acknowledge(session, sent);
                self.next_beat = sent + self.timeout / 4;
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// Ends the sessions of other centers that have ended without saying so.
    fn end_dead_sessions(&mut self, own: SessionId) {
        let started = Instant::now();
        self.next_look = started + LOOK_INTERVAL.min(self.timeout / 10);
        let ended = self.store.beats().and_then(|(beats, mut dead)| {
            dead.extend(self.beats.observe(started, Instant::now(), beats));
            dead.retain(|beat| beat.session != own);
            if !dead.is_empty() {
                self.store.end_silent(&dead)?;
            }
            Ok(!dead.is_empty())
        });
        match ended {
            Ok(true) => self.deliver_news(),
            Ok(false) => {}
            Err(failure) => self.failed(&failure),
        }
    }

    /// Reports that the file cannot be used, or that the session is over.
    fn failed(&mut self, failure: &Failure) {
        let Some(session) = self.session.connected() else { return };
        let retry = match failure {
            Failure::SessionOver => {
                self.lose(session);
                Duration::ZERO
            }
            Failure::NotDone(cause) | Failure::Unknown(cause) => {
                tracing::warn!(%session, cause, "the registry file cannot be used");
                self.session.suspend(self.session.connection());
                RETRY_PAUSE
            }
        };
        self.next_beat = Instant::now() + retry;
    }

    fn lose(&mut self, session: SessionId) {
        tracing::warn!(%session, "session lost");
        self.session.lose(session);
        // Another file may be in place, whose counters do not continue those that were seen.
        self.beats = Beats::default();
    }

    /// Tries to use the file again.
    fn recover(&mut self) {
        self.next_beat = Instant::now() + RETRY_PAUSE;
        let recovered = self.store.reopen().and_then(|()| match self.session.id() {
            Some(session) => self.resume(session),
            None => self.open_session(),
        });
        if let Err(failure) = recovered {
            tracing::debug!(cause = cause_of(&failure), "the registry file still cannot be used");
        }
    }

    fn resume(&mut self, session: SessionId) -> Result<(), Failure> {
        let sent = Instant::now();
        match self.store.beat() {
            Ok(()) => self.connected(session, sent),
            Err(Failure::SessionOver) => {
                self.lose(session);
                self.open_session()
            }
            Err(failure) => Err(failure),
        }
    }

    fn open_session(&mut self) -> Result<(), Failure> {
        let sent = Instant::now();
        let session = self.store.open_session(self.timeout)?;
        self.connected(session, sent)
    }

    /// Reports a connection, after all feeds have a new snapshot.
    fn connected(&mut self, session: SessionId, sent: Instant) -> Result<(), Failure> {
        self.restart_feeds()?;
        self.next_beat = sent + self.timeout / 4;
        tracing::info!(%session, timeout_ms = self.timeout.as_millis(), "connected");
        self.acknowledge(session, sent);
        Ok(())
    }

    /// Records that the session lives, by a write that began at `sent`.
    fn acknowledge(&self, session: SessionId, sent: Instant) {
        let by = SessionConnection { session, connection: self.session.connection() };
        self.session.acknowledge(by, sent, self.timeout);
    }

    fn close(&mut self) -> Result<()> {
        let session = self.session.close();
        self.feeds.clear();
        let ended = session.map_or(Ok(()), |session| self.store.end_session(session));
        ended.map_err(|failure| {
            tracing::warn!(cause = cause_of(&failure), "the session ends by its timeout");
            Error::Unavailable { call: "close" }
        })
    }
}

fn cause_of(failure: &Failure) -> &str {
    match failure {
        Failure::NotDone(cause) | Failure::Unknown(cause) => cause,
        Failure::SessionOver => "the session is over",
    }
}
