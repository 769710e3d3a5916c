//! The log of former configurations, which gets a document that a registration overwrites.

use coordination::{FormerConfig, FormerConfigs, Layout, NodeKind, OperatorStep};
use reg_center::{Node, Txn};

use super::ConfigStore;
use crate::Result;

/// Reason of the replacement in the log.
const WHY: &str = "registration by a program with overwrite";

impl ConfigStore<'_> {
    /// Returns the operations that keep a document which is to be overwritten, for the transaction
    /// that does so. It is kept whatever it differs in: `config_periods` compares the number of
    /// entries with that of writes.
    ///
    /// One that is not text, or too large for the log, cannot be kept, and a log that cannot be
    /// read stays as it is. The replacement is not on record then, but the job runs.
    pub(super) async fn keep_former(&self, layout: &Layout, replaced: &Node) -> Result<Txn> {
        let job = &self.local.job_name;
        let Some(document) = FormerConfigs::storable(&replaced.data) else {
            tracing::warn!(%job, "the overwritten configuration is not kept: it is no text, or too large");
            return Ok(Txn::new());
        };
        let node = self.read(&layout.path(&NodeKind::FormerConfigs)).await?;
        let log = node.map(|node| layout.read_former_configs(&node)).transpose();
        let (mut log, expect) = match log {
            Ok(None) => (FormerConfigs::default(), None),
            Ok(Some(log)) => (log.value, Some(log.version)),
            Err(error) => {
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
