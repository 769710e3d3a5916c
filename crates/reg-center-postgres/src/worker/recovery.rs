//! Connections of a worker: the first one, the next ones, and the end.

use std::time::{Duration, Instant};

use reg_center::{Committed, Error, Result, Revision, SessionId, TxnOutcome};

use super::{COMMIT, Closing, InDoubt, RETRY_PAUSES, Worker};
use crate::error::{DATA_LOST, Failure, NO_RIGHT};
use crate::request::Request;
use crate::store::{Incarnation, Opened, Resumed, Store};
use crate::wakeups::Wakeups;
use crate::{Notify, OpenError, PostgresOptions};

/// End of an attempt to connect.
enum Attempt {
    Connected(Store),
    Failed(OpenError),
    /// The center was closed or dropped meanwhile.
    Closing(Closing),
}

impl Worker {
    /// Opens a session on the present connection.
    pub(super) async fn open_session(&mut self) -> Result<(), Failure> {
        let timeout = self.options.session_timeout;
        let Some(store) = &mut self.store else { return Err(no_connection()) };
        let sent = Instant::now();
        let opened = store.open_session(timeout, self.newest).await?;
        self.opened(opened, sent);
        Ok(())
    }

    /// Begins a session that was opened by a request that was sent at `sent`.
    pub(super) fn opened(&mut self, opened: Opened, sent: Instant) {
        self.ns = opened.ns;
        self.newest = self.newest.max(opened.position);
        let is_known =
            self.wakeups.as_ref().is_some_and(|wakeups| wakeups.channel == opened.channel);
        if self.options.notify == Notify::On && !is_known {
            let sender = self.wake_sender.clone();
            self.wakeups = Some(Wakeups::start(&self.options, opened.channel, sender));
        }
        self.connected(opened.incarnation, sent);
    }

    /// Reports a connection. The feeds get new snapshots afterwards, between beats and calls.
    fn connected(&mut self, incarnation: Incarnation, sent: Instant) {
        self.feeds.restart();
        let (timeout, session) = (self.options.session_timeout, incarnation.session);
        self.incarnation = incarnation.number;
        self.is_loss_logged = false;
        self.next_beat = sent + timeout / 4;
        // Changes between the snapshots and the next notification are found by a poll.
        self.next_poll = Instant::now();
        tracing::info!(%session, timeout_ms = timeout.as_millis(), "connected");
        self.acknowledge(session, sent);
    }

    /// Tries to reach the server again.
    pub(super) async fn recover(&mut self) -> Option<Closing> {
        if self.store.is_none() {
            match self.reconnect().await {
                Attempt::Connected(store) => self.store = Some(store),
                Attempt::Closing(closing) => return Some(closing),
                Attempt::Failed(error) => {
                    tracing::debug!(%error, "the database still cannot be reached");
                    self.retry_later();
                    return None;
                }
            }
        }
        let recovered = match self.session.id() {
            Some(session) => self.resume(session).await,
            None => self.open_session().await,
        };
        if let Err(failure) = recovered {
            let cause = failure.cause();
            if failure.code() == DATA_LOST && !self.is_loss_logged {
                self.is_loss_logged = true;
                tracing::error!(cause, "the registry has lost data");
            } else {
                tracing::debug!(cause, "the database still cannot be used");
            }
            self.store = None;
            self.retry_later();
        }
        None
    }

    /// Plans the next attempt to connect, the first one at once. The delay begins anew only with a
    /// beat: a connection that fails sooner must not be made again and again without a delay.
    pub(super) fn retry_later(&mut self) {
        self.next_beat = Instant::now() + self.retry_pause;
        self.retry_pause = (self.retry_pause * 2).clamp(RETRY_PAUSES[0], RETRY_PAUSES[1]);
    }

    /// Connects. Meanwhile all calls fail at once.
    async fn reconnect(&mut self) -> Attempt {
        let options = self.options.clone();
        let mut connecting = Box::pin(async move { Store::connect(&options).await });
        loop {
            let request = tokio::select! {
                connected = &mut connecting => return match connected {
                    Ok(store) => Attempt::Connected(store),
                    Err(error) => Attempt::Failed(error),
                },
                request = self.requests.recv() => request,
            };
            match request {
                None => return Attempt::Closing(None),
                Some(Request::Close { reply }) => return Attempt::Closing(Some(reply)),
                Some(request) => self.refuse(request),
            }
        }
    }

    /// Answers a call without a connection.
    fn refuse(&mut self, request: Request) {
        match request {
            Request::Commit { txn, reply, ticket } => {
                if ticket.take() {
                    let refused = self.session.admit(&txn).err();
                    let error = refused.unwrap_or(Error::Unavailable { call: COMMIT });
                    drop(reply.send(Err(error)));
                }
            }
            Request::Read { reply, .. } => {
                drop(reply.send(Err(Error::Unavailable { call: "read" })));
            }
            Request::Children { reply, .. } => {
                drop(reply.send(Err(Error::Unavailable { call: "list children" })));
            }
            Request::Watch { scope, sender } => self.feeds.add(scope, sender),
            Request::Close { reply } => drop(reply.send(Err(Error::Closed))),
        }
    }

    async fn resume(&mut self, session: SessionId) -> Result<(), Failure> {
        let sent = Instant::now();
        let ns = self.ns;
        let Some(store) = &mut self.store else { return Err(no_connection()) };
        match store.resume(session, ns, self.newest).await {
            Ok(resumed) => {
                self.newest = self.newest.max(resumed.position);
                self.resolve(&resumed);
                self.connected(resumed.incarnation, sent);
                Ok(())
            }
            Err(Failure::SessionOver) => {
                self.lose(session);
                self.open_session().await
            }
            Err(failure) => Err(failure),
        }
    }

    /// Answers the call whose outcome was unknown. Its transaction has ended, because the session
    /// waited for it.
    fn resolve(&mut self, resumed: &Resumed) {
        let Some(InDoubt { seq, commits, .. }) = self.in_doubt.take() else { return };
        let happened = seq == resumed.seq;
        tracing::info!(happened, n_commits = commits.len(), "resolved an unknown outcome");
        for (place, (txn, reply)) in commits.into_iter().enumerate() {
            let revision = resumed.revisions.get(place).and_then(|n| u64::try_from(*n).ok());
            let answer = match revision.filter(|_| happened) {
                Some(revision) => {
                    let revision = (revision > 0).then_some(Revision(revision));
                    if let Some(revision) = revision {
                        self.written(&txn, revision);
                    }
                    let stats = vec![None; txn.ops().len()];
                    Ok(TxnOutcome::Committed(Committed { revision, stats }))
                }
                // It was not executed, or it conflicted.
                None => Err(Error::Unavailable { call: COMMIT }),
            };
            let _ = reply.send(answer);
        }
    }

    /// Answers the call whose outcome remains unknown.
    fn give_up_doubt(&mut self) {
        if let Some(InDoubt { cause, commits, .. }) = self.in_doubt.take() {
            for (_, reply) in commits {
                let _ = reply.send(Err(Error::Unknown { call: COMMIT, cause: cause.clone() }));
            }
        }
    }

    pub(super) fn lose(&mut self, session: SessionId) {
        tracing::warn!(%session, "session lost");
        self.give_up_doubt();
        self.session.lose(session);
    }

    /// Ends the session, also without a connection if one can be made.
    pub(super) async fn close(&mut self) -> Result<()> {
        self.give_up_doubt();
        let session = self.session.close();
        self.feeds.clear();
        let ended = match session {
            Some(session) => self.end_own(session).await,
            None => Ok(()),
        };
        ended.map_err(|cause| {
            tracing::warn!(cause, "the session ends by its timeout");
            Error::Unavailable { call: "close" }
        })
    }

    async fn end_own(&mut self, session: SessionId) -> Result<(), String> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => Store::connect(&self.options).await.map_err(|error| error.to_string())?,
        };
        let ended = store.end_session(session, None).await;
        ended.map_err(|failure| failure.cause().to_owned())?;
        store.close().await;
        Ok(())
    }
}

/// Connects and opens the first session of a center. Returns the time at which the session was
/// requested, too.
pub(super) async fn first_session(
    options: PostgresOptions,
) -> Result<(Store, Opened, Instant), OpenError> {
    let mut store = Store::connect(&options).await?;
    let sent = Instant::now();
    let opened = store.open_session(options.session_timeout, Revision::default()).await;
    let opened = opened.map_err(|failure| {
        let (server, cause) = (options.server(), failure.cause().to_owned());
        match failure.code() {
            NO_RIGHT => OpenError::Refused { server, cause },
            _ => OpenError::Unreachable { server, cause },
        }
    })?;
    Ok((store, opened, sent))
}

fn no_connection() -> Failure {
    Failure::not_done("no connection")
}

/// Limit of a call: the request itself, and the connection before it.
pub(crate) fn patience(request_timeout: Duration) -> Duration {
    request_timeout * 3
}
