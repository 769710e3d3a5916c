//! The dataflow job: it fetches records and processes them in batches, until no records are left.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use lite::{JavaFields, JavaJobType, Job, JobConfig, JobError, ShardingContext};

/// Source and processing of the records of a dataflow job.
///
/// # Examples
/// ```
/// use async_trait::async_trait;
/// use job_types::Dataflow;
/// use lite::{JobError, ShardingContext};
///
/// /// Unconfirmed orders; each item has the orders of one region.
/// struct Orders;
///
/// #[async_trait]
/// impl Dataflow for Orders {
///     type Record = u64;
///
///     async fn fetch(&self, context: &ShardingContext) -> Result<Vec<u64>, JobError> {
///         let region = context.parameter().ok_or("no region for this item")?;
///         println!("open orders of {region}, at most 1 000");
///         Ok(Vec::new())
///     }
///
///     async fn process(&self, run: &ShardingContext, batch: Vec<u64>) -> Result<(), JobError> {
///         println!("confirm {batch:?} under token {}", run.fencing_token());
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Dataflow: Send + Sync + 'static {
    /// Record that the dataflow processes.
    type Record: Send + 'static;

    /// Returns the next records; an empty list if no records are left.
    ///
    /// It is called again after all returned records are processed, so that it need not remember
    /// records in progress.
    ///
    /// # Errors
    /// Any error ends the run as failed.
    async fn fetch(&self, context: &ShardingContext) -> Result<Vec<Self::Record>, JobError>;

    /// Processes a batch of fetched records.
    ///
    /// # Errors
    /// Any error ends the run as failed: batches in progress are finished, and no others are begun.
    async fn process(
        &self,
        context: &ShardingContext,
        batch: Vec<Self::Record>,
    ) -> Result<(), JobError>;
}

/// Condition for fetching again after the fetched records are processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Streaming {
    /// Fetches once per fire.
    Never,
    /// Fetches until no records are left.
    Always,
    /// Follows the job's stored configuration: `streamingProcess` in ElasticJob 2.1.5, the property
    /// `streaming.process` in 3.x. Without this setting it fetches once. If an operator turns it
    /// off during a run, the run ends after the records that it has fetched.
    #[default]
    AsConfigured,
}

/// A job that runs a [`Dataflow`].
///
/// | option | default |
/// |---|---|
/// | [`streaming`](Self::streaming) | [`Streaming::AsConfigured`] |
/// | [`batch_size`](Self::batch_size) | all fetched records in one batch |
/// | [`concurrency`](Self::concurrency) | one batch at a time |
///
/// ```text
/// one-shot:   fetch -> [batch][batch][batch]
/// streaming:  fetch -> [batch][batch][batch] -> fetch -> [batch] -> fetch: nothing
/// ```
///
/// A streaming run ends before the next fetch, as a success, if
/// [`ShardingContext::should_wind_down`] is true: the item gets another owner, the instance leaves
/// or is paused, or the item or server is disabled. The next owner continues at its next fire. A
/// cancelled run begins no more batches and is *interrupted*.
///
/// Each run reports its [progress](ShardingContext::progress): the processed records, of the
/// fetched ones unless it is streaming, and the numbers of fetches and of failed records. It stays
/// in the registry until the next run of the item. The numbers of processed and failed records of
/// all runs stay [longer](ShardingContext::count_processed). A job without monitoring has none.
///
/// # Examples
/// ```
/// use std::num::NonZeroUsize;
///
/// use job_types::{Dataflow, DataflowJob, Streaming};
/// # struct Orders;
/// # #[async_trait::async_trait]
/// # impl Dataflow for Orders {
/// #     type Record = u64;
/// #     async fn fetch(&self, _: &lite::ShardingContext) -> Result<Vec<u64>, lite::JobError> {
/// #         Ok(Vec::new())
/// #     }
/// #     async fn process(
/// #         &self,
/// #         _: &lite::ShardingContext,
/// #         _: Vec<u64>,
/// #     ) -> Result<(), lite::JobError> {
/// #         Ok(())
/// #     }
/// # }
///
/// let four = NonZeroUsize::new(4).ok_or("zero")?;
/// let job = DataflowJob::new(Orders)
///     .streaming(Streaming::Always)
///     .batch_size(four)
///     .concurrency(four);
/// # drop(job);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DataflowJob<F> {
    flow: Arc<F>,
    streaming: Streaming,
    batch_size: NonZeroUsize,
    concurrency: NonZeroUsize,
}

/// Numbers of records of one run.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Fetches, including a last one without records.
    n_fetches: u64,
    n_fetched: u64,
    /// Records in processed batches.
    n_processed: u64,
    /// Records in failed batches.
    n_failed: u64,
}

/// One run with its numbers.
struct FlowRun<'a> {
    context: &'a ShardingContext,
    counts: Mutex<Counts>,
    streams: bool,
}

impl FlowRun<'_> {
    /// Changes the numbers and reports them.
    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let Counts { n_fetches, n_fetched, n_processed, n_failed } = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut counts);
            *counts
        };
        let message = format!("{n_fetched} fetched in {n_fetches} fetches, {n_failed} failed");
        let total = (!self.streams).then_some(n_fetched);
        // Without monitoring the registry cannot distinguish the runs, and has no progress.
        let _ = self.context.progress(n_processed, total, &message);
    }
}

impl<F: Dataflow> DataflowJob<F> {
    /// Creates a job that runs a dataflow.
    #[must_use]
    pub fn new(flow: F) -> Self {
        Self {
            flow: Arc::new(flow),
            streaming: Streaming::default(),
            batch_size: NonZeroUsize::MAX,
            concurrency: NonZeroUsize::MIN,
        }
    }

    /// Sets the condition for fetching again after the fetched records are processed.
    #[must_use]
    pub fn streaming(self, streaming: Streaming) -> Self {
        Self { streaming, ..self }
    }

    /// Sets the maximum number of records in a batch.
    #[must_use]
    pub fn batch_size(self, batch_size: NonZeroUsize) -> Self {
        Self { batch_size, ..self }
    }

    /// Sets the number of batches of an item that are processed concurrently.
    ///
    /// All batches share one task. Code with long computations must move them to another thread.
    #[must_use]
    pub fn concurrency(self, concurrency: NonZeroUsize) -> Self {
        Self { concurrency, ..self }
    }

    fn streams(&self, context: &ShardingContext) -> bool {
        match self.streaming {
            Streaming::Never => false,
            Streaming::Always => true,
            Streaming::AsConfigured => {
                is_streaming(context.config()) && is_streaming(&context.latest_config())
            }
        }
    }

    fn fetches_again(&self, context: &ShardingContext) -> bool {
        self.streams(context) && !context.should_wind_down()
    }

    async fn run(&self, run: &FlowRun<'_>) -> Result<(), JobError> {
        loop {
            let records = self.flow.fetch(run.context).await?;
            run.count(|counts| {
                counts.n_fetches += 1;
                counts.n_fetched += records.len() as u64;
            });
            if records.is_empty() {
                return Ok(());
            }
            self.process(run, records).await?;
            if !self.fetches_again(run.context) {
                return Ok(());
            }
            // A flow that never awaits anything must not starve other tasks.
            tokio::task::yield_now().await;
        }
    }

    /// Processes all fetched records in batches, unless a batch fails or the run is cancelled.
    /// Batches in progress are finished in either case.
    async fn process(&self, run: &FlowRun<'_>, records: Vec<F::Record>) -> Result<(), JobError> {
        let stop = AtomicBool::new(false);
        let mut rest = records.into_iter().peekable();
        let mut failed = None;
        {
            let batches = std::iter::from_fn(|| {
                let is_over = stop.load(Ordering::Relaxed) || run.context.is_cancelled();
                let has_next = !is_over && rest.peek().is_some();
                has_next.then(|| rest.by_ref().take(self.batch_size.get()).collect::<Vec<_>>())
            });
            let processed = stream::iter(batches).map(|batch| self.process_batch(run, batch));
            let mut processed = pin!(processed.buffer_unordered(self.concurrency.get()));
            while let Some(result) = processed.next().await {
                if let Err(error) = result {
                    stop.store(true, Ordering::Relaxed);
                    failed.get_or_insert(error);
                }
            }
        }
        match (failed, rest.peek()) {
            (Some(error), _) => Err(error),
            (None, Some(_)) => Err("cancelled before all fetched records were processed".into()),
            (None, None) => Ok(()),
        }
    }

    async fn process_batch(
        &self,
        run: &FlowRun<'_>,
        batch: Vec<F::Record>,
    ) -> Result<(), JobError> {
        let n_records = batch.len() as u64;
        let result = self.flow.process(run.context, batch).await;
        let (succeeded, failed) = if result.is_ok() { (n_records, 0) } else { (0, n_records) };
        run.count(|counts| {
            counts.n_processed += succeeded;
            counts.n_failed += failed;
        });
        let _ = run.context.count_processed(succeeded, failed);
        result
    }
}

#[async_trait]
impl<F: Dataflow> Job for DataflowJob<F> {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let (counts, streams) = (Mutex::default(), self.streams(&context));
        let run = FlowRun { context: &context, counts, streams };
        let result = self.run(&run).await;
        let counts = *run.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let Counts { n_fetches, n_fetched, n_processed, n_failed } = counts;
        tracing::debug!(n_fetches, n_fetched, n_processed, n_failed, "dataflow ended");
        result
    }
}

/// Returns true if a configuration of ElasticJob 2.1.5 or 3.x turns streaming on.
fn is_streaming(config: &JobConfig) -> bool {
    match &config.java.fields {
        JavaFields::V2(java) => matches!(java.job_type, JavaJobType::Dataflow { streaming: true }),
        JavaFields::V3(java) => java
            .props
            .get("streaming.process")
            .is_some_and(|text| text.eq_ignore_ascii_case("true")),
    }
}
