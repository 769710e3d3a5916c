//! The dataflow job: fetch records, process them in batches, and again as long as there are any.

mod progress;

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use lite::{JavaFields, JavaJobType, Job, JobConfig, JobError, ShardingContext};

pub use progress::{Progress, ProgressBoard};

/// What a dataflow does: where its records come from, and what is done with them.
///
/// # Examples
/// ```
/// use async_trait::async_trait;
/// use job_types::Dataflow;
/// use lite::{JobError, ShardingContext};
///
/// /// Orders that nobody has confirmed yet; each item has those of one region.
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
///     async fn process(&self, context: &ShardingContext, batch: Vec<u64>) -> Result<(), JobError> {
///         println!("confirm {batch:?} under token {}", context.fencing_token());
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait Dataflow: Send + Sync + 'static {
    /// One of the things to work on.
    type Record: Send + 'static;

    /// Returns what is to be worked on next; nothing if there is nothing (more) to do.
    ///
    /// It is called again when all that it returned has been processed, so that it need not remember what is under way.
    ///
    /// # Errors
    /// Any error ends the run as failed.
    async fn fetch(&self, context: &ShardingContext) -> Result<Vec<Self::Record>, JobError>;

    /// Processes some of what was fetched.
    ///
    /// # Errors
    /// Any error ends the run as failed: batches under way are finished, and no others are begun.
    async fn process(
        &self,
        context: &ShardingContext,
        batch: Vec<Self::Record>,
    ) -> Result<(), JobError>;
}

/// Whether a dataflow fetches again after it has processed what there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// Fetches once per fire.
    Never,
    /// Fetches until there is nothing left.
    Always,
    /// As the job's stored configuration says, `streamingProcess` in ElasticJob 2.1.5 and the property `streaming.process` in
    /// 3.x; never, if it says nothing. A run ends after what it has fetched when this is switched off.
    #[default]
    AsConfigured,
}

/// A job made of a [`Dataflow`].
///
/// | option | default |
/// |---|---|
/// | [`streaming`](Self::streaming) | as the configuration says |
/// | [`batch_size`](Self::batch_size) | all that was fetched is one batch |
/// | [`concurrency`](Self::concurrency) | one batch after the other |
///
/// ```text
/// one-shot:   fetch -> [batch][batch][batch]
/// streaming:  fetch -> [batch][batch][batch] -> fetch -> [batch] -> fetch: nothing
/// ```
///
/// A streaming run comes to an end, as a success, before the next fetch when
/// [`ShardingContext::should_wind_down`] is true: the item is to move to another instance, the instance leaves or is paused, or
/// the item or server is disabled. The next owner goes on at its next fire. A run that is cancelled begins no more
/// batches and is *interrupted*.
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
/// #     async fn fetch(&self, _: &lite::ShardingContext) -> Result<Vec<u64>, lite::JobError> { Ok(Vec::new()) }
/// #     async fn process(&self, _: &lite::ShardingContext, _: Vec<u64>) -> Result<(), lite::JobError> { Ok(()) }
/// # }
///
/// let four = NonZeroUsize::new(4).ok_or("zero")?;
/// let job = DataflowJob::new(Orders).streaming(Streaming::Always).batch_size(four).concurrency(four);
/// let board = job.progress();
/// assert_eq!(board.all(), []);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DataflowJob<F> {
    flow: Arc<F>,
    streaming: Streaming,
    batch_size: NonZeroUsize,
    concurrency: NonZeroUsize,
    board: ProgressBoard,
}

impl<F: Dataflow> DataflowJob<F> {
    /// Makes a job of a dataflow.
    #[must_use]
    pub fn new(flow: F) -> Self {
        Self {
            flow: Arc::new(flow),
            streaming: Streaming::default(),
            batch_size: NonZeroUsize::MAX,
            concurrency: NonZeroUsize::MIN,
            board: ProgressBoard::default(),
        }
    }

    /// Sets whether it fetches again after it has processed what there was.
    #[must_use]
    pub fn streaming(self, streaming: Streaming) -> Self {
        Self { streaming, ..self }
    }

    /// Sets how many records a batch has at most.
    #[must_use]
    pub fn batch_size(self, batch_size: NonZeroUsize) -> Self {
        Self { batch_size, ..self }
    }

    /// Sets how many batches of an item are processed at the same time. They take turns in one task; code that computes for
    /// long moves itself to another thread.
    #[must_use]
    pub fn concurrency(self, concurrency: NonZeroUsize) -> Self {
        Self { concurrency, ..self }
    }

    /// Returns where the progress of all items can be read, also after the job was registered.
    #[must_use]
    pub fn progress(&self) -> ProgressBoard {
        self.board.clone()
    }

    fn goes_on(&self, context: &ShardingContext) -> bool {
        let streams = match self.streaming {
            Streaming::Never => false,
            Streaming::Always => true,
            Streaming::AsConfigured => {
                is_streaming(context.config()) && is_streaming(&context.latest_config())
            }
        };
        streams && !context.should_wind_down()
    }

    async fn run(&self, context: &ShardingContext) -> Result<(), JobError> {
        let (item, token) = (context.item(), context.fencing_token());
        loop {
            let records = self.flow.fetch(context).await?;
            self.board.note(item, token, |progress| {
                progress.n_fetches += 1;
                progress.n_fetched += records.len() as u64;
            });
            if records.is_empty() {
                return Ok(());
            }
            self.process(context, records).await?;
            if !self.goes_on(context) {
                return Ok(());
            }
            // A flow that never waits for anything must not keep others from going on.
            tokio::task::yield_now().await;
        }
    }

    /// Processes everything that was fetched, unless a batch fails or the run is cancelled. What is under way is finished
    /// in either case.
    async fn process(
        &self,
        context: &ShardingContext,
        records: Vec<F::Record>,
    ) -> Result<(), JobError> {
        let stop = AtomicBool::new(false);
        let mut rest = records.into_iter().peekable();
        let mut failed = None;
        {
            let batches = std::iter::from_fn(|| {
                let is_over = stop.load(Ordering::Relaxed) || context.is_cancelled();
                let more = !is_over && rest.peek().is_some();
                more.then(|| rest.by_ref().take(self.batch_size.get()).collect::<Vec<_>>())
            });
            let processed = stream::iter(batches).map(|batch| self.batch(context, batch));
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
            (None, Some(_)) => Err("cancelled before all that was fetched was processed".into()),
            (None, None) => Ok(()),
        }
    }

    async fn batch(
        &self,
        context: &ShardingContext,
        batch: Vec<F::Record>,
    ) -> Result<(), JobError> {
        let n_records = batch.len() as u64;
        let result = self.flow.process(context, batch).await;
        self.board.note(context.item(), context.fencing_token(), |progress| match &result {
            Ok(()) => progress.n_processed += n_records,
            Err(_) => progress.n_failed += n_records,
        });
        result
    }
}

#[async_trait]
impl<F: Dataflow> Job for DataflowJob<F> {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let (item, token) = (context.item(), context.fencing_token());
        self.board.begin(item, token);
        let result = self.run(&context).await;
        self.board.note(item, token, |progress| progress.is_over = true);
        if let Some(progress) = self.board.of(item) {
            let Progress { n_fetches, n_fetched, n_processed, n_failed, .. } = progress;
            tracing::debug!(n_fetches, n_fetched, n_processed, n_failed, "dataflow ended");
        }
        result
    }
}

/// Returns what a configuration says about streaming, as ElasticJob 2.1.5 or 3.x stores it.
fn is_streaming(config: &JobConfig) -> bool {
    match &config.java.fields {
        JavaFields::V2(java) => matches!(java.job_type, JavaJobType::Dataflow { streaming: true }),
        JavaFields::V3(java) => java
            .props
            .get("streaming.process")
            .is_some_and(|text| text.eq_ignore_ascii_case("true")),
    }
}
