//! A node that the code of a run writes beside its item's record: the checkpoint or the progress.

use std::sync::Arc;

use bytes::Bytes;
use coordination::{Layout, RunWriteError, RunWriter};
use reg_center::{Node, NodePath, TxnOutcome};

use crate::CheckpointError;
use crate::seams::Seams;

/// Number of attempts to write while the item's ledger record keeps changing. It changes when an
/// operator requests a run, or when a fire meets the running item.
const MAX_TRIES: u32 = 16;

/// Location of the node and identity of the run that writes it.
#[derive(Debug)]
pub(crate) struct RunNode {
    pub(crate) seams: Seams,
    pub(crate) layout: Layout,
    pub(crate) run: RunWriter,
    pub(crate) node: NodePath,
    /// Label of the transactions.
    pub(crate) label: &'static str,
}

impl RunNode {
    fn failed(&self, source: reg_center::Error) -> CheckpointError {
        CheckpointError::Registry { item: self.run.slot.item, source }
    }

    /// Waits until reads show all earlier writes of other instances.
    pub(crate) async fn sync(&self) -> Result<(), CheckpointError> {
        self.seams.registry.sync().await.map_err(|source| self.failed(source))
    }

    pub(crate) async fn read(&self) -> Result<Option<Node>, CheckpointError> {
        let node = self.seams.registry.read(&self.node).await;
        node.map_err(|source| self.failed(source))
    }

    /// Writes the node in a task of its own, so that a caller that stops waiting does not stop it.
    pub(crate) async fn write(self: &Arc<Self>, data: Bytes) -> Result<(), CheckpointError> {
        let written = self.seams.detach(Arc::clone(self).write_to_end(data));
        let lost = |_| CheckpointError::Record {
            item: self.run.slot.item,
            reason: "the runtime is shutting down".to_owned(),
        };
        written.await.map_err(lost)?
    }

    async fn write_to_end(self: Arc<Self>, data: Bytes) -> Result<(), CheckpointError> {
        let (registry, item) = (&self.seams.registry, self.run.slot.item);
        let record = self.layout.ledger_path(self.run.slot.key());
        for _ in 0..MAX_TRIES {
            let held = registry.read(&record).await.map_err(|source| self.failed(source))?;
            let exists = self.read().await?.is_some();
            let (node, data) = (&self.node, data.clone());
            let txn = self.layout.write_of_run(&self.run, held.as_ref(), node, data, exists);
            let txn = txn.map_err(|error| self.refused(error))?.labelled(self.label);
            match registry.commit(txn).await.map_err(|source| self.failed(source))? {
                TxnOutcome::Committed(_) => return Ok(()),
                // The record has changed: read it again to decide whether this run still holds it.
                TxnOutcome::Conflict(_) => {}
            }
        }
        let reason = format!("it has changed {MAX_TRIES} times");
        Err(CheckpointError::Record { item, reason })
    }

    fn refused(&self, error: RunWriteError) -> CheckpointError {
        let item = self.run.slot.item;
        let reason = match error {
            RunWriteError::NotHeld => {
                return CheckpointError::Fenced { item, token: self.run.token.0 };
            }
            RunWriteError::Record(error) => error.to_string(),
            _ => format!("{error:?}"),
        };
        CheckpointError::Record { item, reason }
    }
}
