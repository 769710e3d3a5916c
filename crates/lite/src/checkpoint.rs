//! How far the code of an item has come, for whoever runs the item next.

use std::sync::Arc;

use bytes::Bytes;
use coordination::{FencingToken, Layout, decode_ledger};
use reg_center::{Lifetime, NodePath, Txn, TxnOutcome, Version};
use sharding::{InstanceId, ShardingItem};

use crate::seams::Seams;

/// How often a write is tried again when the item's record has changed meanwhile, as it does when an operator asks for a
/// run or a fire meets the running item.
const MAX_TRIES: u32 = 16;

/// The checkpoint of an item: bytes that its code saves as it goes on, and finds again in its next run, here or elsewhere.
///
/// It is a node of the registry, written in a transaction with a check of the item's record. So there is no moment at
/// which a run that was taken over could still write: its successor reads what was saved last before the takeover, and
/// nothing is ever written over what the successor has saved.
///
/// Every save is a write to the registry that all instances of the job hear of: save once per batch or second, not for each
/// record, and no more than some kilobytes. The checkpoint stays for as long as the job does, also while the job has fewer
/// items.
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

/// Where the checkpoint is, and on whose behalf it is written.
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
    /// The run is not the item's current one any more: somebody else may have taken it over. Nothing was written, and
    /// nothing will be: the code should end.
    #[error("item {item} is not run under token {token} any more; its checkpoint is left alone")]
    Fenced {
        /// Which item.
        item: ShardingItem,
        /// The token of the run that was fenced.
        token: u64,
    },
    /// The job is not monitored, so that nothing tells runs from each other.
    #[error("checkpoints need monitor_execution")]
    Unmonitored,
    /// The item's record cannot be read, or changed so often that nothing could be written.
    #[error("item {item}: nothing can be written beside its record: {reason}")]
    Record {
        /// Which item.
        item: ShardingItem,
        /// What is wrong.
        reason: String,
    },
    /// The registry has not answered, or refused. A write may have happened if it says that nobody knows; to write the
    /// same again is harmless.
    #[error("item {item}: the registry failed")]
    Registry {
        /// Which item.
        item: ShardingItem,
        /// What the registry said.
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

    /// Reads what was saved last, by this run or by any before it; `None` if nothing ever was, or it was cleared.
    ///
    /// # Errors
    /// [`CheckpointError::Registry`].
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub async fn load(&self) -> Result<Option<Vec<u8>>, CheckpointError> {
        let Access { seams, node, .. } = &*self.access;
        // What another instance has written need not be visible here yet.
        seams.registry.sync().await.map_err(|source| self.access.failed(source))?;
        let found = seams.registry.read(node).await.map_err(|source| self.access.failed(source))?;
        Ok(found.map(|node| node.data.to_vec()).filter(|data| !data.is_empty()))
    }

    /// Saves how far the code has come. When this returns, everybody who runs the item later will read it.
    ///
    /// # Errors
    /// [`CheckpointError::Fenced`] if the run is not the item's current one any more; [`CheckpointError`] tells the rest.
    ///
    /// # Cancel safety
    /// If the future is dropped, the write goes on, and nobody knows whether it has happened.
    pub async fn save(&self, data: impl Into<Vec<u8>>) -> Result<(), CheckpointError> {
        let (access, data) = (Arc::clone(&self.access), Bytes::from(data.into()));
        if access.token == FencingToken(0) {
            return Err(CheckpointError::Unmonitored);
        }
        let written = access.seams.detach(Arc::clone(&access).write(data));
        let lost = |_| CheckpointError::Record {
            item: access.item,
            reason: "the runtime is shutting down".to_owned(),
        };
        written.await.map_err(lost)?
    }

    /// Forgets what was saved: the next run finds nothing.
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
                // The record has changed: what it says now decides.
                TxnOutcome::Conflict(_) => {}
            }
        }
        let reason = format!("it has changed {MAX_TRIES} times");
        Err(CheckpointError::Record { item: self.item, reason })
    }

    /// Returns the version of the item's record, which says that this run holds the item.
    async fn held_record(&self) -> Result<Version, CheckpointError> {
        let node = self.seams.registry.read(&self.record).await;
        let node = node.map_err(|source| self.failed(source))?;
        let fenced = CheckpointError::Fenced { item: self.item, token: self.token.0 };
        let Some(node) = node else { return Err(fenced) };
        let ledger = decode_ledger(&node.data)
            .map_err(|reason| CheckpointError::Record { item: self.item, reason })?;
        match ledger.is_held(&self.holder, self.token) {
            true => Ok(node.stat.version),
            false => Err(fenced),
        }
    }
}
