//! The task of a center: executes its calls, keeps its session alive and feeds its subscribers.
//! `commits` executes transactions, `recovery` makes the connections.

mod commits;
mod recovery;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{
    Beat, Beats, ClientSession, Error, Node, NodePath, Result, Revision, SessionConnection,
    SessionId, Txn, TxnOutcome,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::Sender;

use crate::error::Failure;
use crate::feeds::Feeds;
use crate::request::Request;
use crate::store::{Incarnation, Store, with_retry};
use crate::wakeups::{Wakeup, Wakeups};
use crate::{OpenError, PostgresOptions};

/// Maximum number of calls that are served before feeds, and of transactions in one call. The
/// server remembers 64 nested transactions of each connection in its fast path.
const MAX_BATCH: usize = 60;
/// Shortest and longest delay before the second and later attempts to connect. It doubles with each
/// attempt.
pub(crate) const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Maximum interval at which a center looks for sessions that have ended.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

const COMMIT: &str = "commit";

use recovery::first_session;
pub(crate) use recovery::patience;

type Commit = (Txn, Sender<Result<TxnOutcome>>);

/// A call whose outcome is unknown.
struct InDoubt {
    seq: u64,
    cause: String,
    commits: Vec<Commit>,
}

pub(crate) struct Worker {
    options: PostgresOptions,
    requests: UnboundedReceiver<Request>,
    session: Arc<ClientSession>,
    store: Option<Store>,
    /// Number of the registry in the schema.
    ns: i32,
    /// Number of the incarnation of the session in which the present connection writes.
    incarnation: i64,
    /// Number of the last call with transactions.
    seq: u64,
    /// No revision that this center has seen is greater. A registry that is behind it has lost
    /// data.
    newest: Revision,
    /// The loss of data was logged.
    is_loss_logged: bool,
    in_doubt: Option<InDoubt>,
    feeds: Feeds,
    beats: Beats,
    wakeups: Option<Wakeups>,
    wake_sender: UnboundedSender<Wakeup>,
    wake_receiver: UnboundedReceiver<Wakeup>,
    retry_pause: Duration,
    /// Old changes may have to be removed.
    forgets: bool,
    next_beat: Instant,
    next_look: Instant,
    next_poll: Instant,
}

/// End of a worker: the caller that closes the center, if it was not dropped.
type Closing = Option<Sender<Result<()>>>;

impl Worker {
    /// Connects and opens the first session.
    pub(crate) async fn start(
        options: PostgresOptions,
        requests: UnboundedReceiver<Request>,
        session: Arc<ClientSession>,
    ) -> Result<Self, OpenError> {
        let now = Instant::now();
        let (store, opened, sent) = with_retry(&options, first_session).await?;
        let (wake_sender, wake_receiver) = unbounded_channel();
        let mut worker = Self {
            options,
            requests,
            session,
            store: Some(store),
            ns: 0,
            incarnation: 0,
            seq: 0,
            newest: Revision::default(),
            is_loss_logged: false,
            in_doubt: None,
            feeds: Feeds::default(),
            beats: Beats::default(),
            wakeups: None,
            wake_sender,
            wake_receiver,
            retry_pause: Duration::ZERO,
            forgets: false,
            next_beat: now,
            next_look: now,
            next_poll: now,
        };
        worker.opened(opened, sent);
        Ok(worker)
    }

    /// Serves the center until it is closed or dropped.
    pub(crate) async fn run(mut self) {
        let closing = loop {
            let wake = tokio::time::sleep_until(self.next_wake().into());
            let closing = tokio::select! {
                request = self.requests.recv() => match request {
                    Some(first) => self.serve(first).await,
                    None => Some(None),
                },
                Some(wakeup) = self.wake_receiver.recv() => {
                    self.wake(wakeup);
                    None
                }
                () = wake => None,
            };
            if closing.is_some() {
                break closing;
            }
            // Calls that have come meanwhile do not wait until the feeds have read the changes. But
            // only once, so that the feeds go on beside any number of calls.
            if let Ok(next) = self.requests.try_recv()
                && let Some(closing) = self.serve(next).await
            {
                break Some(closing);
            }
            if let Some(closing) = self.tick().await {
                break Some(closing);
            }
        };
        let ended = self.close().await;
        drop(self);
        if let Some(caller) = closing.flatten() {
            // A caller that has stopped waiting needs no answer.
            let _ = caller.send(ended);
        }
    }

    /// Executes calls that wait, in order, until something else is due. Commits that follow each
    /// other become durable together. Returns the caller that closes the center; calls after it are
    /// dropped.
    async fn serve(&mut self, first: Request) -> Option<Closing> {
        // A call wakes this task ahead of the caller's other tasks, whose commits can share the
        // call to the server.
        tokio::task::yield_now().await;
        let mut commits = VecDeque::new();
        let mut next = Some(first);
        let mut n_served = 0;
        while let Some(request) = next {
            let waits = matches!(request, Request::Commit { .. } | Request::Watch { .. });
            if !waits {
                self.commit_all(&mut commits).await;
            }
            match request {
                Request::Commit { txn, ticket, reply } => {
                    if ticket.take() {
                        commits.push_back((txn, reply));
                    }
                }
                Request::Read { paths, reply } => drop(reply.send(self.read(&paths).await)),
                Request::Children { path, reply } => {
                    drop(reply.send(self.children(&path).await));
                }
                Request::Watch { scope, sender } => self.feeds.add(scope, sender),
                Request::Close { reply } => return Some(Some(reply)),
            }
            n_served += 1;
            // Callers that send a call with each answer would otherwise hold up the beats.
            let goes_on = n_served < MAX_BATCH && (waits || Instant::now() < self.next_wake());
            next = if goes_on { self.requests.try_recv().ok() } else { None };
        }
        self.commit_all(&mut commits).await;
        None
    }

    /// Returns the session and its incarnation, if the center is connected.
    fn incarnation(&self) -> Option<Incarnation> {
        let number = self.incarnation;
        self.session.connected().map(|session| Incarnation { session, number })
    }

    /// Records that the session lives, by a request that was sent at `sent`.
    fn acknowledge(&self, session: SessionId, sent: Instant) {
        let by = SessionConnection { session, connection: self.session.connection() };
        self.session.acknowledge(by, sent, self.options.session_timeout);
    }

    /// Returns the connection, if the center is connected.
    fn connected_store(&mut self, call: &'static str) -> Result<&mut Store> {
        self.session.check(call)?;
        self.store.as_mut().ok_or(Error::Unavailable { call })
    }

    async fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        const CALL: &str = "read";
        let answer = self.connected_store(CALL)?.read(paths).await;
        answer.map_err(|failure| self.call_failed(CALL, paths.first(), &failure))
    }

    async fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>> {
        const CALL: &str = "list children";
        let answer = self.connected_store(CALL)?.children(path).await;
        answer.map_err(|failure| self.call_failed(CALL, Some(path), &failure))
    }

    /// Returns the error of a call that has written nothing. The connection is kept if only this
    /// call was refused.
    fn call_failed(
        &mut self,
        call: &'static str,
        path: Option<&NodePath>,
        failure: &Failure,
    ) -> Error {
        failure.refusal(call, path).unwrap_or_else(|| {
            self.failed(failure);
            Error::Unavailable { call }
        })
    }

    fn wake(&mut self, wakeup: Wakeup) {
        match wakeup {
            Wakeup::Changed(positions) => self.feeds.compare(&positions),
            Wakeup::Unknown => self.next_poll = Instant::now(),
        }
    }

    fn next_wake(&self) -> Instant {
        let mut wake = self.next_beat;
        if self.session.connected().is_some() {
            wake = wake.min(self.next_look);
            if self.feeds.has_waiting() || self.forgets {
                return Instant::now();
            }
            if !self.feeds.is_empty() {
                wake = wake.min(self.next_poll);
            }
        }
        wake
    }

    /// Does what is due. Returns the caller that closes the center while it has no connection.
    async fn tick(&mut self) -> Option<Closing> {
        if self.session.connected().is_none()
            && Instant::now() >= self.next_beat
            && let Some(closing) = self.recover().await
        {
            return Some(closing);
        }
        self.beat_if_due().await;
        let now = Instant::now();
        if now >= self.next_look {
            self.end_dead_sessions().await;
        }
        if let Err(failure) = self.follow(now).await {
            self.failed(&failure);
        }
        if self.forgets {
            self.forget_changes().await;
        }
        None
    }

    /// Looks for changes if it is time, delivers the changes that are known, and begins some of the
    /// feeds that wait.
    async fn follow(&mut self, now: Instant) -> Result<(), Failure> {
        let (Some(_), Some(store)) = (self.session.connected(), &mut self.store) else {
            return Ok(());
        };
        if now >= self.next_poll {
            self.next_poll = now + self.options.polls();
            if !self.feeds.is_empty() {
                self.feeds.compare(&store.positions().await?);
            }
        }
        if self.feeds.has_changed() {
            self.feeds.deliver(store).await?;
        }
        if self.feeds.has_waiting() {
            self.feeds.begin_some(store).await?;
        }
        Ok(())
    }

    /// Raises the counter of the session if it is time.
    async fn beat_if_due(&mut self) {
        let (Some(incarnation), Some(store)) = (self.incarnation(), &mut self.store) else {
            return;
        };
        let sent = Instant::now();
        if sent < self.next_beat {
            return;
        }
        match store.beat(incarnation, self.newest).await {
            Ok(position) => {
                self.acknowledge(incarnation.session, sent);
                self.next_beat = sent + self.options.session_timeout / 4;
                self.newest = self.newest.max(position);
                self.retry_pause = Duration::ZERO;
                self.forgets = true;
            }
            Err(failure) => self.failed(&failure),
        }
        self.feeds.clean_up();
    }

    /// Removes some old changes. A failure is no reason to give a working connection up: the next
    /// beat leads to another attempt.
    async fn forget_changes(&mut self) {
        let (Some(_), Some(store)) = (self.session.connected(), &mut self.store) else { return };
        match store.forget_changes().await {
            Ok(may_have_more) => self.forgets = may_have_more,
            Err(Failure::Refused { cause, code }) => {
                self.forgets = false;
                tracing::warn!(cause, code, "old changes were not removed");
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// Ends the sessions of other centers that have ended without saying so.
    async fn end_dead_sessions(&mut self) {
        let (Some(own), Some(store)) = (self.session.connected(), &mut self.store) else { return };
        let started = Instant::now();
        self.next_look = started + LOOK_INTERVAL.min(self.options.session_timeout / 8);
        let mut dead = match store.beats().await {
            Ok(beats) => self.beats.observe(started, Instant::now(), beats),
            Err(failure) => return self.failed(&failure),
        };
        dead.retain(|beat| beat.session != own);
        for beat in dead {
            // The next look finds the others again.
            if Instant::now() >= self.next_beat {
                return;
            }
            self.end_session_of_other(beat).await;
        }
    }

    async fn end_session_of_other(&mut self, Beat { session, count, .. }: Beat) {
        let (Some(_), Some(store)) = (self.session.connected(), &mut self.store) else { return };
        match store.end_session(session, Some(count)).await {
            Ok(Some(trees)) => {
                tracing::warn!(%session, "ended a session that gave no sign of life");
                trees.iter().for_each(|tree| self.feeds.mark(tree));
            }
            // It has raised its counter, or another center has ended it.
            Ok(None) => {}
            // Another transaction may hold its nodes, which is no reason to give the own session
            // up. The next look tries again.
            Err(Failure::Refused { cause, .. }) => {
                tracing::warn!(%session, cause, "a session without a sign of life was not ended");
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// Gives the connection up, or reports that the session is over.
    fn failed(&mut self, failure: &Failure) {
        let Some(session) = self.session.connected() else { return };
        self.retry_later();
        match failure {
            Failure::SessionOver => self.lose(session),
            Failure::NotDone(cause) | Failure::Refused { cause, .. } | Failure::Unknown(cause) => {
                tracing::warn!(%session, cause, "no connection to the database");
                // Closing the socket ends the transaction on the server, if it still runs.
                self.store = None;
                self.session.suspend(self.session.connection());
            }
        }
    }
}
