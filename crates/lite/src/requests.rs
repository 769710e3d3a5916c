//! Requests to the registry that are repeated until a deadline.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reg_center::{Node, NodePath, SessionChange, Txn, TxnOutcome};

use crate::seams::{Elapsed, Seams};

/// Pause after an error that can pass, before the next request to the registry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The requests of one action, such as the registration of a job.
#[derive(Clone, Copy)]
pub(crate) struct Requests<'a> {
    pub(crate) seams: &'a Seams,
    /// Start of the action, by the monotonic clock.
    pub(crate) started: Duration,
    /// End of the attempts, by the monotonic clock.
    pub(crate) deadline: Duration,
}

/// Reason why a request has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The registry refuses the request. `act` says what was done, such as `reading /job/config`.
    Refused { act: String, source: reg_center::Error },
    /// The deadline has passed. `what` says what the action waited for.
    TooLate { what: String, waited: Duration },
}

type Answer<T> = std::result::Result<T, Unanswered>;

impl<'a> Requests<'a> {
    pub(crate) async fn read(&self, path: &NodePath) -> Answer<Option<Node>> {
        self.ask(|| self.seams.registry.read(path), path).await
    }

    /// Returns the names of a node's children; empty if the node does not exist.
    pub(crate) async fn children(&self, path: &NodePath) -> Answer<Vec<String>> {
        let children = self.ask(|| self.seams.registry.children(path), path).await?;
        Ok(children.unwrap_or_default())
    }

    /// Repeats a request until the registry answers or the deadline has passed.
    async fn ask<T>(
        &self,
        question: impl Fn() -> BoxFuture<'a, reg_center::Result<T>> + Sync,
        path: &NodePath,
    ) -> Answer<T> {
        loop {
            self.connected().await?;
            match self.seams.until(self.deadline, question()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => self.pause_after(error, || format!("reading {path}")).await?,
                Err(Elapsed) => return Err(self.too_late(format!("the registry to read {path}"))),
            }
        }
    }

    /// Commits a transaction, which `what` names, such as `the configuration`. The write goes on
    /// after the deadline.
    ///
    /// Returns false if the transaction conflicted or its outcome is unknown: the next read shows
    /// what is stored.
    pub(crate) async fn write(&self, txn: Txn, what: &str) -> Answer<bool> {
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match self.seams.until(self.deadline, outcome).await {
            Ok(Ok(Ok(TxnOutcome::Committed(_)))) => Ok(true),
            // An error of the task: it was dropped without an answer.
            Ok(Ok(Ok(TxnOutcome::Conflict(_))) | Err(_)) => Ok(false),
            Ok(Ok(Err(error))) => {
                self.pause_after(error, || format!("writing {what}")).await.map(|()| false)
            }
            Err(Elapsed) => Err(self.too_late(format!("the registry to store {what}"))),
        }
    }

    async fn connected(&self) -> Answer<()> {
        let mut sessions = self.seams.registry.session_feed();
        let connected = async {
            while let Some(change) = sessions.next().await {
                match change {
                    SessionChange::Connected { .. } => return Ok(()),
                    SessionChange::Suspended { .. } | SessionChange::Lost { .. } => {}
                    SessionChange::Closed => break,
                }
            }
            let act = "connecting".to_owned();
            Err(Unanswered::Refused { act, source: reg_center::Error::Closed })
        };
        match self.seams.until(self.deadline, connected).await {
            Ok(result) => result,
            Err(Elapsed) => Err(self.too_late("a connection to the registry".to_owned())),
        }
    }

    /// Waits after an error that can pass, and returns any other error.
    async fn pause_after(&self, source: reg_center::Error, act: impl Fn() -> String) -> Answer<()> {
        if !(source.is_retryable() || source.is_unknown() || source.is_session_lost()) {
            return Err(Unanswered::Refused { act: act(), source });
        }
        tracing::debug!(error = %source, "retrying the request to the registry");
        let pause = self.seams.clock.monotonic() + RETRY_PAUSE;
        if pause >= self.deadline {
            return Err(self.too_late(format!("the registry, {} ({source})", act())));
        }
        self.seams.clock.sleep_until(pause).await;
        Ok(())
    }

    fn too_late(&self, what: String) -> Unanswered {
        Unanswered::TooLate { what, waited: self.deadline.saturating_sub(self.started) }
    }
}
