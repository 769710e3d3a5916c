//! Requests of a registration to the registry, repeated until its deadline.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reg_center::{Node, NodePath, SessionChange, Txn, TxnOutcome};

use super::ConfigStore;
use crate::seams::Elapsed;
use crate::{Error, Result};

/// Pause after an error that can pass, before the next request to the registry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

impl ConfigStore<'_> {
    pub(super) async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.ask(|| self.seams.registry.read(path), path).await
    }

    /// Returns the names of a node's children; empty if the node does not exist.
    pub(super) async fn children(&self, path: &NodePath) -> Result<Vec<String>> {
        let children = self.ask(|| self.seams.registry.children(path), path).await?;
        Ok(children.unwrap_or_default())
    }

    /// Repeats a request until the registry answers or the deadline has passed.
    async fn ask<'a, T>(
        &'a self,
        question: impl Fn() -> BoxFuture<'a, reg_center::Result<T>> + Sync,
        path: &NodePath,
    ) -> Result<T> {
        loop {
            self.connected().await?;
            match self.seams.until(self.deadline, question()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => self.pause_after(error, || format!("reading {path}")).await?,
                Err(Elapsed) => return Err(self.too_late(format!("the registry to read {path}"))),
            }
        }
    }

    /// Commits a transaction. The write goes on after the deadline.
    pub(super) async fn write(&self, txn: Txn) -> Result<()> {
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match self.seams.until(self.deadline, outcome).await {
            Ok(Ok(Ok(TxnOutcome::Committed(_) | TxnOutcome::Conflict(_)))) => Ok(()),
            Ok(Ok(Err(error))) => {
                self.pause_after(error, || "writing the configuration".to_owned()).await
            }
            // The task was dropped without an answer: the outcome is unknown, and the next read
            // shows it.
            Ok(Err(_)) => Ok(()),
            Err(Elapsed) => {
                Err(self.too_late("the registry to store the configuration".to_owned()))
            }
        }
    }

    async fn connected(&self) -> Result<()> {
        let mut sessions = self.seams.registry.session_feed();
        let connected = async {
            while let Some(change) = sessions.next().await {
                match change {
                    SessionChange::Connected { .. } => return Ok(()),
                    SessionChange::Suspended { .. } | SessionChange::Lost { .. } => {}
                    SessionChange::Closed => break,
                }
            }
            Err(self.refused(reg_center::Error::Closed, "connecting".to_owned()))
        };
        match self.seams.until(self.deadline, connected).await {
            Ok(result) => result,
            Err(Elapsed) => Err(self.too_late("a connection to the registry".to_owned())),
        }
    }

    /// Waits after an error that can pass, and returns any other error.
    async fn pause_after(&self, error: reg_center::Error, act: impl Fn() -> String) -> Result<()> {
        if !(error.is_retryable() || error.is_unknown() || error.is_session_lost()) {
            return Err(self.refused(error, act()));
        }
        tracing::debug!(%error, "retrying the request to the registry");
        let pause = self.seams.clock.monotonic() + RETRY_PAUSE;
        if pause >= self.deadline {
            return Err(self.too_late(format!("the registry, {} ({error})", act())));
        }
        self.seams.clock.sleep_until(pause).await;
        Ok(())
    }

    fn refused(&self, source: reg_center::Error, act: String) -> Error {
        Error::Registry { job: self.local.job_name.clone(), act, source }
    }

    fn too_late(&self, what: String) -> Error {
        let waited = self.deadline.saturating_sub(self.started);
        Error::Deadline { job: self.local.job_name.clone(), waited, what }
    }
}
