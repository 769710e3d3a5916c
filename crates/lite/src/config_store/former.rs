//! The log of former configurations, which gets a document that a registration overwrites.

use coordination::{FormerConfig, Layout, NodeKind, OperatorStep};
use reg_center::{Node, Txn};

use super::ConfigStore;
use crate::Result;

/// Reason of the replacement in the log.
const WHY: &str = "registration by a program with overwrite";

impl ConfigStore<'_> {
    /// Returns the operations that keep a document which is to be overwritten, for the transaction
    /// that does so. One that is not text cannot be kept.
    ///
    /// A log that cannot be read stays as it is: the replacement is not on record then, but the job
    /// runs.
    pub(super) async fn keep_former(&self, layout: &Layout, replaced: &Node) -> Result<Txn> {
        let Ok(document) = std::str::from_utf8(&replaced.data) else { return Ok(Txn::new()) };
        let node = self.read(&layout.path(&NodeKind::FormerConfigs)).await?;
        let log = node.map(|node| layout.read_former_configs(&node)).transpose();
        let (mut log, expect) = match log {
            Ok(None) => Default::default(),
            Ok(Some(log)) => (log.value, Some(log.version)),
            Err(error) => {
                let job = &self.local.job_name;
                tracing::warn!(%job, %error, "the overwritten configuration is not kept");
                return Ok(Txn::new());
            }
        };
        log.push(FormerConfig {
            document: document.to_owned(),
            replaced_ms: self.seams.clock.wall().as_millisecond(),
            who: self.server.to_string(),
            why: WHY.to_owned(),
        });
        Ok(layout.change(&[OperatorStep::SetFormerConfigs { log, expect }]))
    }
}
