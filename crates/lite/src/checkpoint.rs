//! Checkpoints: how far the code of an item has come, stored for the item's next run.

use std::sync::Arc;

use bytes::Bytes;
use coordination::FencingToken;
use sharding::ShardingItem;

use crate::run_node::RunNode;

/// The checkpoint of an item: bytes that its code saves, and loads again in its next run on any
/// instance.
///
/// The checkpoint is a node of the registry. Each write is a transaction that also checks the
/// item's ledger record. A run that was taken over can therefore not write: the next run loads the
/// last checkpoint saved before the takeover, and the former run never overwrites it.
///
/// Every save is a write to the registry that all instances of the job are notified of. Save once
/// per batch or per second, not once per record, and at most some kilobytes. The checkpoint exists
/// as long as the job, even while the job has fewer items.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// # use lite::{JobBuilder, Scheduler, job_fn};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// # let scheduler = Scheduler::builder(registry).build()?;
/// let job = job_fn(|context| async move {
///     let checkpoint = context.checkpoint();
///     let done = checkpoint.load().await?;
///     let mut line: u64 = done.map_or(Ok(0), |done| String::from_utf8_lossy(&done).parse())?;
///     while line < 3_000 && !context.should_wind_down() {
///         line += 1_000; // Work on these, then say so.
///         checkpoint.save(line.to_string()).await?;
///     }
///     Ok(())
/// });
/// # scheduler.schedule(JobBuilder::new("report", 1).build()?, job).await?;
/// # scheduler.abort();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    node: Arc<RunNode>,
}

/// Why a checkpoint could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The run is no longer the item's current one: another instance may have taken it over.
    /// Nothing was written, and later saves fail too. The code should end.
    #[error("item {item} is not run under token {token} any more; its checkpoint is left alone")]
    Fenced {
        /// The item.
        item: ShardingItem,
        /// The token of the run that was fenced.
        token: u64,
    },
    /// The job is not monitored, so the registry cannot distinguish its runs.
    #[error("checkpoints need monitor_execution")]
    Unmonitored,
    /// The item's ledger record cannot be read, or it changed during every attempt to write.
    #[error("item {item}: nothing can be written beside its record: {reason}")]
    Record {
        /// The item.
        item: ShardingItem,
        /// Why the record prevents the write.
        reason: String,
    },
    /// The registry did not answer, or rejected the request. If the outcome of a write is unknown,
    /// it may have happened. Saving the same bytes again is safe.
    #[error("item {item}: the registry failed")]
    Registry {
        /// The item.
        item: ShardingItem,
        /// The error of the registry.
        #[source]
        source: reg_center::Error,
    },
}

impl Checkpoint {
    pub(crate) fn new(node: RunNode) -> Self {
        Self { node: Arc::new(node) }
    }

    /// Returns the last saved checkpoint of this or an earlier run; `None` if none was saved or it
    /// was cleared.
    ///
    /// # Errors
    /// [`CheckpointError::Registry`].
    ///
    /// # Cancel safety
    /// The future can be dropped, and the method called again.
    pub async fn load(&self) -> Result<Option<Vec<u8>>, CheckpointError> {
        // This client may still be behind the write of another instance.
        self.node.sync().await?;
        let found = self.node.read().await?;
        Ok(found.map(|node| node.data.to_vec()).filter(|data| !data.is_empty()))
    }

    /// Saves how far the code has come. When this returns, every later run of the item loads it.
    ///
    /// # Errors
    /// [`CheckpointError::Fenced`] if the run is no longer the item's current one, or another
    /// [`CheckpointError`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the write goes on and its outcome is unknown.
    pub async fn save(&self, data: impl Into<Vec<u8>>) -> Result<(), CheckpointError> {
        if self.node.run.token == FencingToken::UNFENCED {
            return Err(CheckpointError::Unmonitored);
        }
        self.node.write(Bytes::from(data.into())).await
    }

    /// Removes the checkpoint: the next run loads `None`.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    ///
    /// # Cancel safety
    /// As [`save`](Self::save).
    pub async fn clear(&self) -> Result<(), CheckpointError> {
        self.save(Vec::new()).await
    }
}
