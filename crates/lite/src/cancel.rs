//! Cancels runs of a job from a program, on whatever instance they run.

use std::collections::BTreeSet;
use std::sync::Arc;

use coordination::{
    CancelRequest, FencingToken, FireTime, JobConfig, JobName, Layout, NodeKind, OperatorStep,
    Slot, decode_ledger,
};
use reg_center::{NodePath, TxnOutcome};
use sharding::ShardingItem;

use crate::seams::Seams;
use crate::{Error, JobHandle, JobStatus, Result};

/// Number of attempts to write while the item's record keeps changing.
const MAX_TRIES: u32 = 16;

impl JobHandle {
    /// Cancels the unfinished runs of some items, or of all with `None`, on any instance. Runs of
    /// items beyond a lowered number of items are among them.
    ///
    /// Returns the items whose run has the request in its record now; an item without a run is not
    /// among them. The instance that runs such an item lets its cancellation token fire and drops
    /// its future after the [grace](crate::Registration::shutdown_grace). No instance takes the run
    /// over, and its outcome is [`Cancelled`](crate::Outcome::Cancelled) unless its code returns
    /// before. The next fire of the item runs as usual, and so does a noted misfire.
    ///
    /// The record names this instance as the author, and `why` as the reason: one line, of which
    /// 512 bytes are stored. A call that failed can be repeated: a run has one request at most.
    /// Each item takes a read and, if it runs, a write, one item after the other. With `None` the
    /// items are listed first, by one more read.
    ///
    /// # Errors
    /// [`Error::CannotCancel`] if the job is not monitored, has no valid configuration, or has no
    /// such item and no run of it, if `why` is blank, or if a record cannot be read or changes all
    /// the time; [`Error::Registry`]; [`Error::Stopped`] if the job has ended.
    ///
    /// # Cancel safety
    /// The requests are written even if the future is dropped.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::{JobBuilder, JobEvent, Outcome, Scheduler, job_fn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// # let scheduler = Scheduler::builder(registry).build()?;
    /// let job = job_fn(|context| async move {
    ///     context.cancelled().await;
    ///     Err("stopped half-way".into())
    /// });
    /// let handle = scheduler.schedule(JobBuilder::new("report", 1).build()?, job).await?;
    /// let mut events = handle.events();
    /// handle.trigger().await?;
    /// while let Some(record) = events.next().await {
    ///     match record.event {
    ///         JobEvent::Claimed { .. } => {
    ///             let items = handle.cancel(None, "wrong month").await?;
    ///             assert_eq!(items.len(), 1);
    ///         }
    ///         JobEvent::Settled { outcome, .. } => {
    ///             assert_eq!(outcome, Outcome::Cancelled);
    ///             break;
    ///         }
    ///         _ => {}
    ///     }
    /// }
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn cancel(
        &self,
        items: Option<&BTreeSet<ShardingItem>>,
        why: &str,
    ) -> Result<BTreeSet<ShardingItem>> {
        self.cancel_runs(items.cloned(), None, why).await
    }

    /// Cancels the unfinished runs of all items for one fire, on any instance.
    ///
    /// A scheduled fire has its scheduled fire time. A manual run has the time of its request, and
    /// a run of a backfill its past fire or its [`run_time`](crate::ShardingContext::run_time). A
    /// run that stands for several fires is one of them. In all else it is
    /// [`cancel`](Self::cancel).
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel). [`Error::CannotCancel`], too, if an item notes the fire as a
    /// misfire, because it would run the fire afterwards.
    ///
    /// # Cancel safety
    /// The requests are written even if the future is dropped.
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobEvent, JobHandle, Outcome};
    /// /// Cancels the runs of the other items for a fire that fails in one item.
    /// async fn all_or_nothing(handle: &JobHandle) -> lite::Result<()> {
    ///     let mut events = handle.events();
    ///     while let Some(record) = events.next().await {
    ///         let JobEvent::Settled { item, fire, outcome, .. } = record.event else { continue };
    ///         if outcome == Outcome::Failed {
    ///             handle.cancel_fire(fire, &format!("item {item} has failed")).await?;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub async fn cancel_fire(&self, fire: FireTime, why: &str) -> Result<BTreeSet<ShardingItem>> {
        self.cancel_runs(None, Some(fire), why).await
    }

    /// Cancels the runs of these items, or of all, for one fire or for any.
    async fn cancel_runs(
        &self,
        items: Option<BTreeSet<ShardingItem>>,
        fire: Option<FireTime>,
        why: &str,
    ) -> Result<BTreeSet<ShardingItem>> {
        let canceller = self.canceller(&self.status().await?, fire, why)?;
        let written = self.seams().detach(async move { canceller.cancel_all(items).await });
        written.await.map_err(|_| Error::Stopped { job: self.name().clone() })?
    }

    /// Checks the request except for its items.
    fn canceller(
        &self,
        status: &JobStatus,
        fire: Option<FireTime>,
        why: &str,
    ) -> Result<Canceller> {
        let job = self.name().clone();
        let refused = |reason: String| Error::CannotCancel { job: job.clone(), reason };
        let config = monitored(status).map_err(|reason| refused(reason.to_owned()))?;
        let by = status.instance.as_ref().map_or("a program", |id| id.as_str()).to_owned();
        // Only the texts are checked here.
        if CancelRequest::new(FencingToken(0), &by, why, 0).is_none() {
            return Err(refused("the reason is blank; valid is a text".to_owned()));
        }
        let layout = Layout::new(&job).speaking(config.java.dialect());
        let (total, why) = (config.sharding_total_count, why.to_owned());
        Ok(Canceller { job, seams: self.seams().clone(), layout, total, by, why, fire })
    }
}

/// Returns the configuration of a job whose runs have records.
fn monitored(status: &JobStatus) -> std::result::Result<&Arc<JobConfig>, &'static str> {
    let config = status.config.as_ref().ok_or("it has no valid configuration yet")?;
    if config.monitor_execution {
        return Ok(config);
    }
    Err("it is not monitored, so that its runs have no records; set monitor_execution, or shut \
         the instance down")
}

/// Writes requests to cancel runs.
struct Canceller {
    job: JobName,
    seams: Seams,
    layout: Layout,
    /// Number of items by the configuration.
    total: u32,
    by: String,
    why: String,
    /// The only fire whose runs are cancelled; `None` for the runs of all fires.
    fire: Option<FireTime>,
}

impl Canceller {
    /// Rejects a fire that items have noted: they would run it after its cancellation.
    async fn check_not_noted(&self, items: &BTreeSet<ShardingItem>, fire: FireTime) -> Result<()> {
        for item in items {
            let (slot, path) = (Slot::of(*item), self.layout.ledger_path(*item));
            if self.read(slot, &path).await?.is_some_and(|(ledger, _)| ledger.has_noted(fire)) {
                return Err(self.refused(format!(
                    "the fire of {fire} waits as a misfire at item {item}, which runs it once it \
                     is free; cancel the run of the item"
                )));
            }
        }
        Ok(())
    }

    async fn cancel_all(
        self,
        named: Option<BTreeSet<ShardingItem>>,
    ) -> Result<BTreeSet<ShardingItem>> {
        // This client may still be behind the claims of other instances.
        let synced = self.seams.registry.sync().await;
        synced.map_err(|source| self.failed("cancelling runs".to_owned(), source))?;
        for item in named.iter().flatten().filter(|item| item.index() >= self.total) {
            if !self.runs(*item).await? {
                let last = self.total.saturating_sub(1);
                return Err(self.refused(format!("it has no item {item}; valid are 0 to {last}")));
            }
        }
        let items = match named {
            Some(named) => named,
            None => self.recorded().await?,
        };
        if let Some(fire) = self.fire {
            self.check_not_noted(&items, fire).await?;
        }
        let mut cancelled = BTreeSet::new();
        for item in items {
            let (mut any, further_slots) = self.cancel(item).await?;
            for number in 1..=further_slots {
                any |= self.cancel(Slot { item, number }.key()).await?.0;
            }
            if any {
                cancelled.insert(item);
            }
        }
        Ok(cancelled)
    }

    /// Returns the items that have a record. Records stay when the number of items is lowered.
    async fn recorded(&self) -> Result<BTreeSet<ShardingItem>> {
        let first = self.layout.ledger_path(ShardingItem::new(0));
        let Some(root) = first.parent() else { return Ok(BTreeSet::new()) };
        let names = self.seams.registry.children(&root).await;
        let names = names.map_err(|source| self.failed("listing the runs".to_owned(), source))?;
        let path = |name: &String| root.join(name).ok();
        let kinds = names.iter().flatten().filter_map(path).filter_map(|it| self.layout.parse(&it));
        let items = kinds.filter_map(|kind| {
            if let NodeKind::Ledger(key) = kind { Some(Slot::of(key).item) } else { None }
        });
        Ok(items.collect())
    }

    /// Returns true if a slot of the item has an unfinished run. The record of the item names its
    /// last slot.
    async fn runs(&self, item: ShardingItem) -> Result<bool> {
        let (mut number, mut further_slots) = (0, 0);
        while number <= further_slots {
            let slot = Slot { item, number };
            let read = self.read(slot, &self.layout.ledger_path(slot.key())).await?;
            if let Some((ledger, _)) = read {
                if ledger.is_busy() {
                    return Ok(true);
                }
                further_slots = further_slots.max(ledger.further_slots);
            }
            number += 1;
        }
        Ok(false)
    }

    /// Writes a request for the present run of an item, or of the slot with this key. Returns false
    /// if it has none, and the number of further slots that the record names.
    async fn cancel(&self, key: ShardingItem) -> Result<(bool, u32)> {
        let (slot, path) = (Slot::of(key), self.layout.ledger_path(key));
        // A later attempt must not cancel the next run.
        let mut run = None;
        for _ in 0..MAX_TRIES {
            let Some((ledger, version)) = self.read(slot, &path).await? else {
                return Ok((false, 0));
            };
            let further = ledger.further_slots;
            if !ledger.is_busy() || *run.get_or_insert(ledger.token) != ledger.token {
                return Ok((false, further));
            }
            if self.fire.is_some_and(|fire| !ledger.run().is_some_and(|run| run.stands_for(fire))) {
                return Ok((false, further));
            }
            if ledger.cancels().is_some() {
                return Ok((true, further));
            }
            let at_ms = self.seams.clock.wall().as_millisecond();
            let request = CancelRequest::new(ledger.token, &self.by, &self.why, at_ms);
            let Some(next) = request.and_then(|request| ledger.with_cancel_request(request)) else {
                return Ok((false, further));
            };
            let step = OperatorStep::RequestCancel { item: key, ledger: Box::new(next), version };
            let txn = self.layout.change(&[step]).labelled("cancel");
            match self.seams.registry.commit(txn).await {
                Ok(TxnOutcome::Committed(_)) => return Ok((true, further)),
                // The next read shows what has changed, or whether the request was written.
                Ok(TxnOutcome::Conflict(_)) => {}
                Err(error) if error.is_unknown() => {}
                Err(source) => return Err(self.failed(format!("cancelling item {slot}"), source)),
            }
        }
        Err(self.refused(format!("the record of item {slot} has changed {MAX_TRIES} times")))
    }

    async fn read(
        &self,
        slot: Slot,
        path: &NodePath,
    ) -> Result<Option<(coordination::Ledger, reg_center::Version)>> {
        let node = self.seams.registry.read(path).await;
        let node = node
            .map_err(|source| self.failed(format!("reading the record of item {slot}"), source))?;
        let Some(node) = node else { return Ok(None) };
        let ledger = decode_ledger(&node.data);
        let ledger =
            ledger.map_err(|error| self.refused(format!("the record of item {slot}: {error}")))?;
        Ok(Some((ledger, node.stat.version)))
    }

    fn failed(&self, act: String, source: reg_center::Error) -> Error {
        Error::Registry { job: self.job.clone(), act, source }
    }

    fn refused(&self, reason: String) -> Error {
        Error::CannotCancel { job: self.job.clone(), reason }
    }
}
