//! Checkpoints: how far the code of an item has come, stored for the item's next run.

use std::sync::Arc;

use bytes::Bytes;
use coordination::{FencingToken, Layout, decode_ledger};
use reg_center::{Lifetime, NodePath, Txn, TxnOutcome, Version};
use sharding::{InstanceId, ShardingItem};

use crate::seams::Seams;

/// Number of attempts to write while the item's ledger record keeps changing. It changes when an
/// operator requests a run, or when a fire meets the running item.
const MAX_TRIES: u32 = 16;

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
    access: Arc<Access>,
}

/// Location of the checkpoint and identity of the run that writes it.
#[derive(Debug)]
struct Access {
    seams: Seams,
    item: ShardingItem,
    holder: InstanceId,
    token: FencingToken,
    record: NodePath,
    node: NodePath,
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
    pub(crate) fn new(
        seams: Seams,
        layout: &Layout,
        item: ShardingItem,
        holder: InstanceId,
        token: FencingToken,
    ) -> Self {
        let (record, node) = (layout.ledger_path(item), layout.checkpoint_path(item));
        Self { access: Arc::new(Access { seams, item, holder, token, record, node }) }
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
        let Access { seams, node, .. } = &*self.access;
        // This client may still be behind the write of another instance.
        seams.registry.sync().await.map_err(|source| self.access.failed(source))?;
        let found = seams.registry.read(node).await.map_err(|source| self.access.failed(source))?;
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
        let (access, data) = (Arc::clone(&self.access), Bytes::from(data.into()));
        if access.token == FencingToken::UNFENCED {
            return Err(CheckpointError::Unmonitored);
        }
        let written = access.seams.detach(Arc::clone(&access).write(data));
        let lost = |_| CheckpointError::Record {
            item: access.item,
            reason: "the runtime is shutting down".to_owned(),
        };
        written.await.map_err(lost)?
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

impl Access {
    fn failed(&self, source: reg_center::Error) -> CheckpointError {
        CheckpointError::Registry { item: self.item, source }
    }

    async fn write(self: Arc<Self>, data: Bytes) -> Result<(), CheckpointError> {
        for _ in 0..MAX_TRIES {
            let held = self.held_record().await?;
            let registry = &self.seams.registry;
            let exists = registry.read(&self.node).await.map_err(|source| self.failed(source))?;
            let txn = Txn::new().labelled("checkpoint").check_version(self.record.clone(), held);
            let txn = match exists {
                Some(_) => txn.put(self.node.clone(), data.clone()),
                None => txn.create(self.node.clone(), data.clone(), Lifetime::Persistent),
            };
            match registry.commit(txn).await.map_err(|source| self.failed(source))? {
                TxnOutcome::Committed(_) => return Ok(()),
                // The record has changed: read it again to decide whether this run still holds it.
                TxnOutcome::Conflict(_) => {}
            }
        }
        let reason = format!("it has changed {MAX_TRIES} times");
        Err(CheckpointError::Record { item: self.item, reason })
    }

    /// Returns the version of the item's ledger record if the record says that this run holds the
    /// item.
    async fn held_record(&self) -> Result<Version, CheckpointError> {
        let node = self.seams.registry.read(&self.record).await;
        let node = node.map_err(|source| self.failed(source))?;
        let fenced = CheckpointError::Fenced { item: self.item, token: self.token.0 };
        let Some(node) = node else { return Err(fenced) };
        let ledger = decode_ledger(&node.data).map_err(|error| CheckpointError::Record {
            item: self.item,
            reason: error.to_string(),
        })?;
        if !ledger.is_held(&self.holder, self.token) {
            return Err(fenced);
        }
        Ok(node.stat.version)
    }
}
