//! Definition of groups of jobs by programs.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    GroupLimits, GroupName, GroupNode, Layout, decode_group_limits, encode_group_limits,
};
use reg_center::{Lifetime, Node, NodePath, Txn, TxnOutcome};

use crate::seams::{Elapsed, Seams};
use crate::{Error, Result};

/// Pause after an error that can pass, before the next request to the registry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// Stores the limits of a group that has none, and returns the stored ones.
pub(crate) async fn define(
    seams: &Seams,
    patience: Duration,
    group: GroupName,
    limits: GroupLimits,
) -> Result<GroupLimits> {
    limits.check()?;
    let deadline = seams.clock.monotonic().saturating_add(patience);
    let definition = Definition { seams, deadline, patience, group };
    definition.store(limits).await
}

struct Definition<'a> {
    seams: &'a Seams,
    /// End of the attempts, by the monotonic clock.
    deadline: Duration,
    patience: Duration,
    group: GroupName,
}

impl Definition<'_> {
    async fn store(&self, limits: GroupLimits) -> Result<GroupLimits> {
        let path = Layout::group_path(&self.group, &GroupNode::Limits);
        loop {
            if let Some(node) = self.read(&path).await? {
                let read = decode_group_limits(&node.data);
                return read.map_err(|error| self.failed(format!("{path}: {error}")));
            }
            let data = encode_group_limits(&limits);
            let txn = Txn::new().create(path.clone(), data, Lifetime::Persistent);
            if self.write(txn).await? {
                return Ok(limits);
            }
        }
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        loop {
            match self.seams.until(self.deadline, self.seams.registry.read(path)).await {
                Ok(Ok(node)) => return Ok(node),
                Ok(Err(error)) => self.pause_after(error).await?,
                Err(Elapsed) => return Err(self.too_late()),
            }
        }
    }

    /// Commits a transaction. Returns false if it conflicted or its outcome is unknown: the next
    /// read shows the stored limits.
    async fn write(&self, txn: Txn) -> Result<bool> {
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match self.seams.until(self.deadline, outcome).await {
            Ok(Ok(Ok(TxnOutcome::Committed(_)))) => Ok(true),
            Ok(Ok(Ok(TxnOutcome::Conflict(_))) | Err(_)) => Ok(false),
            Ok(Ok(Err(error))) => self.pause_after(error).await.map(|()| false),
            Err(Elapsed) => Err(self.too_late()),
        }
    }

    /// Waits after an error that can pass, and returns any other error.
    async fn pause_after(&self, error: reg_center::Error) -> Result<()> {
        if !(error.is_retryable() || error.is_unknown() || error.is_session_lost()) {
            return Err(self.failed(error.to_string()));
        }
        tracing::debug!(%error, group = %self.group, "retrying the request to the registry");
        let pause = self.seams.clock.monotonic() + RETRY_PAUSE;
        if pause >= self.deadline {
            return Err(self.too_late());
        }
        self.seams.clock.sleep_until(pause).await;
        Ok(())
    }

    fn too_late(&self) -> Error {
        self.failed(format!("the registry did not answer within {:?}", self.patience))
    }

    fn failed(&self, reason: String) -> Error {
        Error::Group { group: self.group.clone(), reason }
    }
}
