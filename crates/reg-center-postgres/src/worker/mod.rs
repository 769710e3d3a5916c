//! The task of a center: executes its calls, keeps its session alive and feeds its subscribers.
//! `commits` executes transactions, `recovery` makes the connections.

mod commits;
mod recovery;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::feed::FeedSender;
use reg_center::{
    Beats, Error, Node, NodePath, Result, Scope, SessionChange, SessionId, Txn, TxnOutcome,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::Sender;

use crate::error::Failure;
use crate::feeds::Feeds;
use crate::request::{Request, Shared};
use crate::store::{Incarnation, Store};
use crate::wakeups::{Wakeup, Wakeups};
use crate::{OpenError, PostgresOptions};

/// Maximum number of transactions in one call. The server remembers 64 nested transactions of each
/// connection in its fast path.
const MAX_BATCH: usize = 60;
/// Delay between two attempts to connect. It doubles with each failure.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Maximum interval at which a center looks for sessions that have ended.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

const COMMIT: &str = "commit";

pub(crate) use recovery::patience;

type Commit = (Txn, Sender<Result<TxnOutcome>>);

/// State of the connection between a center and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up(Incarnation),
    /// The server cannot be reached. The session may live on.
    Suspended(SessionId),
    /// There is no session.
    Lost,
}

/// A call whose outcome is unknown.
struct InDoubt {
    seq: u64,
    cause: String,
    commits: Vec<Commit>,
}

pub(crate) struct Worker {
    options: PostgresOptions,
    requests: UnboundedReceiver<Request>,
    shared: Arc<Shared>,
    store: Option<Store>,
    /// Number of the registry in the schema.
    ns: i32,
    link: Link,
    /// Number of the last call with transactions.
    seq: u64,
    in_doubt: Option<InDoubt>,
    feeds: Feeds,
    beats: Beats,
    wakeups: Option<Wakeups>,
    wake_sender: UnboundedSender<Wakeup>,
    wake_receiver: UnboundedReceiver<Wakeup>,
    retry_pause: Duration,
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
        shared: Arc<Shared>,
    ) -> Result<Self, OpenError> {
        let now = Instant::now();
        let store = Store::connect(&options).await?;
        let server = options.server();
        let (wake_sender, wake_receiver) = unbounded_channel();
        let mut worker = Self {
            options,
            requests,
            shared,
            store: Some(store),
            ns: 0,
            link: Link::Lost,
            seq: 0,
            in_doubt: None,
            feeds: Feeds::default(),
            beats: Beats::default(),
            wakeups: None,
            wake_sender,
            wake_receiver,
            retry_pause: RETRY_PAUSES[0],
            next_beat: now,
            next_look: now,
            next_poll: now,
        };
        worker.open_session().await.map_err(|failure| {
            let cause = failure.cause().to_owned();
            match failure.code() {
                "42501" => OpenError::Refused { server, cause },
                _ => OpenError::Unreachable { server, cause },
            }
        })?;
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

    /// Executes the calls that wait, in order. Commits that follow each other become durable
    /// together. Returns the caller that closes the center; calls after it are dropped.
    async fn serve(&mut self, first: Request) -> Option<Closing> {
        let mut commits = VecDeque::new();
        let mut next = Some(first);
        while let Some(request) = next {
            if !matches!(request, Request::Commit { .. }) {
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
                Request::Watch { scope, sender } => self.watch(scope, sender).await,
                Request::Close { reply } => return Some(Some(reply)),
            }
            next = if commits.len() < MAX_BATCH { self.requests.try_recv().ok() } else { None };
        }
        self.commit_all(&mut commits).await;
        None
    }

    /// Returns the connection, if the center is connected.
    fn connected_store(&mut self, call: &'static str) -> Result<&mut Store> {
        match (&self.link, &mut self.store) {
            (Link::Up(_), Some(store)) => Ok(store),
            _ => Err(Error::Unavailable { call }),
        }
    }

    async fn read(&mut self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        const CALL: &str = "read";
        let answer = self.connected_store(CALL)?.read(paths).await;
        answer.map_err(|failure| self.unavailable(CALL, &failure))
    }

    async fn children(&mut self, path: &NodePath) -> Result<Option<Vec<String>>> {
        const CALL: &str = "list children";
        let answer = self.connected_store(CALL)?.children(path).await;
        answer.map_err(|failure| self.unavailable(CALL, &failure))
    }

    fn unavailable(&mut self, call: &'static str, failure: &Failure) -> Error {
        self.failed(failure);
        Error::Unavailable { call }
    }

    async fn watch(&mut self, scope: Scope, sender: FeedSender) {
        let store = match self.link {
            Link::Up(_) => self.store.as_mut(),
            Link::Suspended(_) | Link::Lost => None,
        };
        if let Err(failure) = self.feeds.add(scope, sender, store).await {
            self.failed(&failure);
        }
    }

    fn wake(&mut self, wakeup: Wakeup) {
        match wakeup {
            Wakeup::Changed(trees) => trees.iter().for_each(|tree| self.feeds.mark(tree)),
            Wakeup::Unknown => self.next_poll = Instant::now(),
        }
    }

    fn next_wake(&self) -> Instant {
        let mut wake = self.next_beat;
        if let Link::Up(_) = self.link {
            wake = wake.min(self.next_look);
            if !self.feeds.is_empty() {
                wake = wake.min(self.next_poll);
            }
        }
        wake
    }

    /// Does what is due. Returns the caller that closes the center while it has no connection.
    async fn tick(&mut self) -> Option<Closing> {
        let now = Instant::now();
        if now >= self.next_beat {
            match self.link {
                Link::Up(incarnation) => self.beat(incarnation).await,
                Link::Suspended(_) | Link::Lost => {
                    if let Some(closing) = self.recover().await {
                        return Some(closing);
                    }
                }
            }
        }
        if now >= self.next_look {
            self.end_dead_sessions().await;
        }
        if let Err(failure) = self.follow(now).await {
            self.failed(&failure);
        }
        None
    }

    /// Looks for changes if it is time, and delivers the changes that are known.
    async fn follow(&mut self, now: Instant) -> Result<(), Failure> {
        let (Link::Up(_), Some(store)) = (self.link, &mut self.store) else { return Ok(()) };
        if now >= self.next_poll {
            self.next_poll = now + self.options.polls();
            if !self.feeds.is_empty() {
                self.feeds.compare(&store.positions().await?);
            }
        }
        if self.feeds.has_changed() {
            self.feeds.deliver(store).await?;
        }
        Ok(())
    }

    async fn beat(&mut self, incarnation: Incarnation) {
        self.feeds.clean_up();
        let Some(store) = &mut self.store else { return };
        let sent = Instant::now();
        match store.beat(incarnation).await {
            Ok(()) => {
                let timeout = self.options.session_timeout;
                self.shared.lease.extend(incarnation.session, sent, timeout);
                self.next_beat = sent + timeout / 4;
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// Ends the sessions of other centers that have ended without saying so.
    async fn end_dead_sessions(&mut self) {
        let (Link::Up(own), Some(store)) = (self.link, &mut self.store) else { return };
        let started = Instant::now();
        self.next_look = started + LOOK_INTERVAL.min(self.options.session_timeout / 8);
        let mut trees = Vec::new();
        let ended = async {
            let beats = store.beats().await?;
            let mut dead = self.beats.observe(started, Instant::now(), beats);
            dead.retain(|beat| beat.session != own.session);
            for beat in dead {
                if let Some(changed) = store.end_session(beat.session, Some(beat.count)).await? {
                    tracing::warn!(
                        session = %beat.session,
                        "ended a session that gave no sign of life"
                    );
                    trees.extend(changed);
                }
            }
            Ok(())
        };
        let ended: Result<(), Failure> = ended.await;
        trees.iter().for_each(|tree| self.changed(tree));
        if let Err(failure) = ended {
            self.failed(&failure);
        }
    }

    /// Gives the connection up, or reports that the session is over.
    fn failed(&mut self, failure: &Failure) {
        let Link::Up(Incarnation { session, .. }) = self.link else { return };
        self.next_beat = Instant::now();
        match failure {
            Failure::SessionOver => self.lose(session),
            Failure::NotDone { cause, .. } | Failure::Unknown(cause) => {
                tracing::warn!(%session, cause, "no connection to the database");
                // Closing the socket ends the transaction on the server, if it still runs.
                self.store = None;
                self.link = Link::Suspended(session);
                self.shared.hub.publish(SessionChange::Suspended { session });
            }
        }
    }
}
