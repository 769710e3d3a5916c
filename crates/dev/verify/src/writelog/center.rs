//! A client that logs its transactions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use reg_center::{
    ConflictReason, Delegate, Error, Lifetime, Limits, NodePath, RegistryCenter, Result,
    SessionChange, SessionId, Txn, TxnOutcome,
};
use serde::Serialize;
use tokio::sync::Mutex;

use super::entry::{LoggedOp, LoggedSession, LoggedTxn};
use super::{SESSIONS, WRITES};
use crate::clock::monotonic_ns;

/// Part of a transaction's bytes that its log may need: its data again, with quotes escaped.
const LOG_SHARE: usize = 4;

/// A registry centre that logs its transactions in the registry.
pub struct LoggedCenter {
    inner: Arc<dyn RegistryCenter>,
    /// Name of the process in the history.
    process: String,
    /// Distinguishes the nodes of this centre from those of all others.
    prefix: String,
    next: AtomicU64,
    /// The session whose node exists.
    announced: Mutex<Option<SessionId>>,
}

impl LoggedCenter {
    /// Wraps a centre. `process` is the name of the process in the history, and empty for an
    /// operator. `prefix` is unique among all centres of a run.
    #[must_use]
    pub fn new(inner: Arc<dyn RegistryCenter>, process: &str, prefix: &str) -> Self {
        let (process, prefix) = (process.to_owned(), prefix.to_owned());
        Self { inner, process, prefix, next: AtomicU64::new(0), announced: Mutex::new(None) }
    }

    /// Returns the session of a transaction, whose node exists.
    async fn announce(&self, bound: Option<SessionId>) -> Result<SessionId> {
        let session = match (bound, self.inner.session()) {
            (Some(session), _) | (None, Some(SessionChange::Connected { session, .. })) => session,
            _ => return Err(Error::Unavailable { call: "commit" }),
        };
        let mut announced = self.announced.lock().await;
        if *announced != Some(session) {
            let path = NodePath::parse(&format!("{SESSIONS}/{}", session.0))?;
            let process = self.process.clone();
            let data = json(&LoggedSession { sent_ns: monotonic_ns(), process })?;
            let begin = Txn::new().in_session(session).create(path, data, Lifetime::Ephemeral);
            match self.inner.commit(begin).await? {
                TxnOutcome::Committed(_) => {}
                // The reply to an earlier attempt was lost.
                TxnOutcome::Conflict(conflict) if conflict.reason == ConflictReason::Exists => {}
                TxnOutcome::Conflict(conflict) => {
                    let cause = format!("the session's node: {conflict}");
                    return Err(Error::Rejected { call: "commit", cause });
                }
            }
            *announced = Some(session);
        }
        Ok(session)
    }
}

fn json(data: &impl Serialize) -> Result<String> {
    serde_json::to_string(data)
        .map_err(|error| Error::Rejected { call: "commit", cause: error.to_string() })
}

impl fmt::Debug for LoggedCenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoggedCenter").field(&self.inner).finish()
    }
}

#[async_trait]
impl Delegate for LoggedCenter {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.inner
    }

    fn limits(&self) -> Limits {
        let Limits { max_ops, max_bytes } = self.inner.limits();
        Limits { max_ops: max_ops - 1, max_bytes: max_bytes / LOG_SHARE }
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        Delegate::limits(self).admit(&txn)?;
        let ops: Vec<LoggedOp> = txn.ops().iter().filter_map(LoggedOp::of).collect();
        if !ops.iter().any(LoggedOp::writes) {
            return self.inner.commit(txn).await;
        }
        let session = self.announce(txn.session()).await?;
        let logged = json(&LoggedTxn { sent_ns: monotonic_ns(), session: session.0, ops })?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = NodePath::parse(&format!("{WRITES}/{}-{number}", self.prefix))?;
        // The last operation, so that conflicts keep their index.
        let txn = txn.in_session(session).create(path, logged, Lifetime::Persistent);
        let mut outcome = self.inner.commit(txn).await?;
        if let TxnOutcome::Committed(committed) = &mut outcome {
            committed.stats.pop();
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use reg_center::{Conflict, MemoryRegistry};

    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    /// Returns a logged centre, and another client of its registry.
    fn logged() -> (Arc<dyn RegistryCenter>, impl RegistryCenter) {
        let registry = MemoryRegistry::new();
        let center = LoggedCenter::new(Arc::new(registry.connect()), "a", "a.0");
        (Arc::new(center), registry.connect())
    }

    #[tokio::test]
    async fn transaction_is_logged_only_if_it_happens() {
        let (center, other) = logged();
        let create = || Txn::new().create(path("/job/a"), "x", Lifetime::Persistent);
        let Ok(TxnOutcome::Committed(committed)) = center.commit(create()).await else {
            panic!("the node did not exist")
        };
        assert_eq!(committed.stats.len(), 1, "the node of the log is not the caller's");
        let refused = center.commit(create().check_exists(path("/job"))).await.unwrap();
        let expected = Conflict { index: 0, reason: ConflictReason::Exists };
        assert_eq!(refused, TxnOutcome::Conflict(expected));
        let read_only = Txn::new().check_exists(path("/job/a"));
        assert!(center.commit(read_only).await.unwrap().is_committed());
        let names = other.children(&path(WRITES)).await.unwrap().unwrap();
        assert_eq!(names, ["a.0-0"]);
        let sessions = other.children(&path(SESSIONS)).await.unwrap().unwrap();
        assert_eq!(sessions.len(), 1);
        center.close().await.unwrap();
        assert_eq!(other.children(&path(SESSIONS)).await.unwrap().unwrap(), [""; 0]);
    }
}
