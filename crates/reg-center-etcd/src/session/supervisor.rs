//! The task that keeps a center connected: it connects again, and opens a session after a loss.

use std::sync::Arc;
use std::time::Duration;

use reg_center::{Error, Result, SessionChange};
use tokio::sync::oneshot;

use super::Shared;
use super::attempt::{AttemptError, Attempted, Context};
use super::link::Link;
use super::open::Held;
use crate::client::{Failure, Refusal};
use crate::keys::Keys;
use crate::{ConnectError, EtcdOptions};

/// Delay between two attempts, doubled after each up to the maximum.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The connections of one center, one after the other.
pub(crate) struct Supervisor {
    options: EtcdOptions,
    keys: Keys,
    shared: Arc<Shared>,
    held: Option<Held>,
    txn_ops: Option<usize>,
    /// Number of the next server. Attempts go to all servers in turn.
    next_target: usize,
}

impl Supervisor {
    pub(crate) fn new(options: EtcdOptions, keys: Keys, shared: Arc<Shared>) -> Self {
        // Centers begin with different servers, so that all servers get connections.
        let next_target = fastrand::usize(..usize::MAX / 2);
        Self { options, keys, shared, held: None, txn_ops: None, next_target }
    }

    /// Opens the first connection and session.
    ///
    /// Tries all servers until the connect timeout. Ends earlier if all of them refuse.
    pub(crate) async fn start(&mut self) -> Result<Arc<Link>, ConnectError> {
        self.options.validate()?;
        let n_targets = self.options.targets()?.len();
        let limit = self.options.wanted_connect_timeout();
        let mut last = None;
        let first = async {
            let mut pause = FIRST_PAUSE;
            loop {
                let mut all_final = true;
                for _ in 0..n_targets {
                    match self.attempt().await {
                        Ok(link) => return Ok(link),
                        Err(error) => {
                            all_final &= error.is_final();
                            last = Some(error);
                        }
                    }
                }
                if all_final {
                    return Err(());
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        };
        match tokio::time::timeout(limit, first).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(())) | Err(_) => {
                let none = || AttemptError::Failed("no server has answered".to_owned());
                Err(last.unwrap_or_else(none).into_connect_error())
            }
        }
    }

    /// Keeps the center connected until it is closed or dropped. Then ends the session, and reports
    /// the result to `closed`.
    pub(crate) async fn run(mut self, mut link: Arc<Link>, closed: oneshot::Sender<Result<()>>) {
        let shared = Arc::clone(&self.shared);
        let ended = loop {
            tokio::select! {
                () = shared.closing.cancelled() => break end(&link).await,
                () = link.ended() => self.suspend(&link),
            }
            tokio::select! {
                () = shared.closing.cancelled() => {
                    break Err("there is no connection".to_owned());
                }
                next = self.connect_again() => link = next,
            }
        };
        shared.lease.end();
        shared.link.send_replace(None);
        link.fail("the center is closed");
        shared.hub.publish(SessionChange::Closed);
        // A caller that has stopped waiting needs no answer.
        let _ = closed.send(ended.map_err(|cause| {
            tracing::warn!(cause, "the session ends by its timeout");
            Error::Unavailable { call: "close" }
        }));
    }

    fn suspend(&self, link: &Link) {
        let session = link.session;
        tracing::warn!(%session, cause = link.cause(), "connection lost");
        self.shared.link.send_replace(None);
        self.shared.hub.publish(SessionChange::Suspended { session });
    }

    async fn connect_again(&mut self) -> Arc<Link> {
        let mut pause = FIRST_PAUSE;
        let mut logged = None;
        loop {
            match self.attempt().await {
                Ok(link) => return link,
                Err(error) => {
                    let is_final = error.is_final();
                    let cause = error.into_connect_error();
                    if is_final && logged.as_ref() != Some(&cause) {
                        tracing::error!(%cause, "the registry cannot be used");
                        logged = Some(cause);
                    } else {
                        tracing::debug!(%cause, "still no connection");
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Tries the next server once.
    async fn attempt(&mut self) -> Result<Arc<Link>, AttemptError> {
        let targets = self.options.targets().map_err(AttemptError::Options)?;
        let target = &targets[self.next_target % targets.len()];
        self.next_target += 1;
        loop {
            let context = Context {
                options: &self.options,
                keys: &self.keys,
                shared: &self.shared,
                txn_ops: self.txn_ops,
            };
            let attempted =
                context.attempt(target, self.held).await.map_err(|error| match error {
                    AttemptError::Failed(cause) => {
                        AttemptError::Failed(format!("{}: {cause}", target.address()))
                    }
                    error @ (AttemptError::Options(_)
                    | AttemptError::Refused(_)
                    | AttemptError::Replaced(_)) => error,
                })?;
            match attempted {
                Attempted::Connected(link, held) => {
                    self.connected(&link, held);
                    return Ok(link);
                }
                Attempted::SessionLost => self.lose(),
            }
        }
    }

    fn connected(&mut self, link: &Arc<Link>, held: Held) {
        let (session, timeout) = (held.id, held.timeout);
        if self.held.is_none() {
            self.shared.lease.begin(session, held.since, timeout);
        }
        self.held = Some(held);
        self.txn_ops = Some(link.txn_ops);
        self.shared.link.send_replace(Some(Arc::clone(link)));
        tracing::info!(%session, timeout_ms = timeout.as_millis(), "connected");
        self.shared.hub.publish(SessionChange::Connected { session, timeout });
    }

    fn lose(&mut self) {
        let Some(held) = self.held.take() else { return };
        tracing::warn!(session = %held.id, "session lost");
        self.shared.lease.end();
        self.shared.hub.publish(SessionChange::Lost { session: held.id });
    }
}

async fn end(link: &Link) -> Result<(), String> {
    match link.end_session().await {
        Ok(()) | Err(Failure::Refused(Refusal::LeaseNotFound, _)) => Ok(()),
        Err(failure) => Err(failure.cause().to_owned()),
    }
}
