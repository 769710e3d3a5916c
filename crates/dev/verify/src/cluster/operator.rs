//! Operator actions, as plain writes to the registry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coordination::{
    GroupLimits, GroupName, GroupNode, JobName, Layout, NodeKind, encode_config,
    encode_group_limits,
};
use jiff::Timestamp;
use lite::JobConfig;
use reg_center::{ConflictReason, Lifetime, Node, NodePath, RegistryCenter, Txn, TxnOutcome};
use testkit::harness::ClusterError;

use super::harness;

/// Time limit of an operator action, because the registry may be down for a while.
const PATIENCE: Duration = Duration::from_secs(60);
/// Delay before the next attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// An operator with a registry session.
#[derive(Debug)]
pub(super) struct Operator {
    center: Arc<dyn RegistryCenter>,
    layout: Layout,
    root: NodePath,
}

impl Operator {
    pub(super) fn new(center: Arc<dyn RegistryCenter>, job: &JobName) -> Self {
        let layout = Layout::new(job);
        Self { center, root: layout.root(), layout }
    }

    pub(super) async fn close(&self) {
        // The session expires if it cannot be closed, and it owns no nodes.
        if let Err(error) = self.center.close().await {
            tracing::warn!(%error, "the operator's session could not be closed");
        }
    }

    pub(super) async fn configure(&self, config: &JobConfig) -> Result<(), ClusterError> {
        self.write("config", &encode_config(config)).await
    }

    /// Sets the data of a node, and creates it if it does not exist.
    pub(super) async fn write(&self, below_job: &str, data: &str) -> Result<(), ClusterError> {
        self.write_at(self.path(below_job)?, data).await
    }

    /// Stores the limits of a group.
    pub(super) async fn set_group(
        &self,
        group: &GroupName,
        limits: &GroupLimits,
    ) -> Result<(), ClusterError> {
        let path = Layout::group_path(group, &GroupNode::Limits);
        self.write_at(path, &encode_group_limits(limits)).await
    }

    async fn write_at(&self, path: NodePath, data: &str) -> Result<(), ClusterError> {
        let (what, data) = (path.to_string(), data.to_owned());
        let put = Txn::new().put(path.clone(), data.clone());
        let create = Txn::new().create(path, data, Lifetime::Persistent);
        loop {
            for txn in [put.clone(), create.clone()] {
                match self.commit(&what, txn).await? {
                    None => return Ok(()),
                    Some(ConflictReason::Absent | ConflictReason::Exists) => {}
                    Some(other) => return Err(conflict(&what, other)),
                }
            }
        }
    }

    /// Deletes a node if it exists.
    pub(super) async fn delete(&self, below_job: &str) -> Result<bool, ClusterError> {
        match self.commit(below_job, Txn::new().delete(self.path(below_job)?)).await? {
            None => Ok(true),
            Some(ConflictReason::Absent) => Ok(false),
            Some(other) => Err(conflict(below_job, other)),
        }
    }

    /// Requests a run from every instance, and returns the number of instances. An instance that
    /// leaves need not run.
    pub(super) async fn trigger(&self) -> Result<usize, ClusterError> {
        let instances = self.path("instances")?;
        let deadline = Instant::now() + PATIENCE;
        let names = loop {
            match self.center.children(&instances).await {
                Ok(names) => break names.unwrap_or_default(),
                Err(error) => self.wait_or("list instances", error, deadline).await?,
            }
        };
        let mut n_asked = 0;
        for name in names {
            let below_job = format!("instances/{name}");
            let put = Txn::new().put(self.path(&below_job)?, "TRIGGER");
            n_asked += usize::from(self.commit(&below_job, put).await?.is_none());
        }
        Ok(n_asked)
    }

    /// Commits the write that `plan` returns for the present node and the operator's clock. Returns
    /// false if it returns none.
    pub(super) async fn change(
        &self,
        what: &str,
        kind: &NodeKind,
        plan: impl Fn(&Layout, Option<&Node>, i64) -> Option<Txn> + Send + Sync,
    ) -> Result<bool, ClusterError> {
        let path = self.layout.path(kind);
        let deadline = Instant::now() + PATIENCE;
        // A conflict may be the write's own effect, if its first reply was lost.
        let mut was_sent = false;
        loop {
            let node = match self.center.read(&path).await {
                Ok(node) => node,
                Err(error) => {
                    self.wait_or(what, error, deadline).await?;
                    continue;
                }
            };
            let now = Timestamp::now().as_millisecond();
            let Some(txn) = plan(&self.layout, node.as_ref(), now) else { return Ok(was_sent) };
            was_sent = true;
            match self.commit(what, txn).await? {
                None => return Ok(true),
                Some(ConflictReason::VersionMismatch | ConflictReason::Exists) => {}
                Some(other) => return Err(conflict(what, other)),
            }
        }
    }

    fn path(&self, below_job: &str) -> Result<NodePath, ClusterError> {
        NodePath::parse(&format!("{}/{below_job}", self.root))
            .map_err(|error| harness("name a node", error))
    }

    /// Commits, with retries while the registry is down. All operator actions may happen twice.
    async fn commit(&self, what: &str, txn: Txn) -> Result<Option<ConflictReason>, ClusterError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.center.commit(txn.clone()).await {
                Ok(TxnOutcome::Committed(_)) => return Ok(None),
                Ok(TxnOutcome::Conflict(conflict)) => return Ok(Some(conflict.reason)),
                Err(error) => self.wait_or(what, error, deadline).await?,
            }
        }
    }

    async fn wait_or(
        &self,
        what: &str,
        error: reg_center::Error,
        deadline: Instant,
    ) -> Result<(), ClusterError> {
        if !error.is_retryable() || Instant::now() >= deadline {
            return Err(harness(format!("operator: {what}"), error));
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

fn conflict(what: &str, reason: ConflictReason) -> ClusterError {
    harness(format!("operator: {what}"), std::io::Error::other(reason.to_string()))
}
