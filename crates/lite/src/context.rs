//! The context of a run, which the code of the job receives.

use std::sync::Arc;

use coordination::{
    FencingToken, FireRange, FireTime, JobConfig, JobName, Layout, NodeKind, OutcomeCounts,
    Progress, RequestParameter, RunSource, RunWriter, StartItem, push_java_json, task_id,
};
use jiff::Timestamp;
use reg_center::Version;
use sharding::{InstanceId, ShardingItem, ShardingItemParameters};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cancellation::Cancellation;
use crate::output::{LoggedRun, RunLog};
use crate::progress::{self, LastReports, ProgressWriter};
use crate::run_node::RunNode;
use crate::seams::Seams;
use crate::wind_down::RunUpdates;
use crate::{Checkpoint, ProgressError};

/// Context of one run: the item, the fire, the source and the fencing token.
///
/// Its values stay as they were when the run began, even if the job is reconfigured meanwhile.
/// Clones are cheap and share the cancellation.
#[derive(Clone, Debug)]
pub struct ShardingContext {
    run: Arc<Facts>,
    cancellation: CancellationToken,
    attempt: u32,
    updates: watch::Receiver<RunUpdates>,
}

#[derive(Debug)]
struct Facts {
    start: StartItem,
    parameter: Option<String>,
    seams: Seams,
    reports: LastReports,
    log: Arc<LoggedRun>,
}

impl ShardingContext {
    pub(crate) fn new(
        start: StartItem,
        cancellation: &Cancellation,
        updates: watch::Receiver<RunUpdates>,
        seams: Seams,
        log: Arc<LoggedRun>,
    ) -> Self {
        let parameters = ShardingItemParameters::parse(&start.config.sharding_item_parameters);
        // A configuration with unreadable parameters is rejected before it starts any run.
        let parameter = parameters.ok().and_then(|all| all.get(start.item).map(str::to_owned));
        let run = Arc::new(Facts { start, parameter, seams, reports: LastReports::default(), log });
        let cancellation = cancellation.cancel.clone();
        Self { run, cancellation, attempt: 1, updates }
    }

    /// Sets the number of the attempt within this run, counted from 1.
    pub(crate) fn in_attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// Replaces the cancellation token by a child of the former one.
    pub(crate) fn cancelled_by(self, cancellation: CancellationToken) -> Self {
        Self { cancellation, ..self }
    }

    fn start(&self) -> &StartItem {
        &self.run.start
    }

    /// Returns the configuration of the run, the same from its start to its end.
    #[must_use]
    pub fn config(&self) -> &JobConfig {
        &self.start().config
    }

    /// Returns the registry version of that configuration.
    #[must_use]
    pub fn config_version(&self) -> Version {
        self.start().config_version
    }

    /// Returns the name of the job.
    #[must_use]
    pub fn job_name(&self) -> &JobName {
        &self.config().job_name
    }

    /// Returns the sharding item to work on, `0..sharding_total_count`.
    #[must_use]
    pub fn item(&self) -> ShardingItem {
        self.start().item
    }

    /// Returns the number of the slot of the item that the run has: 0 for the first slot, 1 to 15
    /// for the further ones of a job with `overlap = parallel n`.
    ///
    /// Runs of an item at the same time have different slots. Tokens, checkpoints and progress
    /// belong to the slot.
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.start().slot
    }

    /// Returns the parameter of this item from the configuration, as in `0=Beijing,1=Shanghai`.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        self.run.parameter.as_deref()
    }

    /// Returns the number of items of the job, over all instances.
    #[must_use]
    pub fn sharding_total_count(&self) -> u32 {
        self.config().sharding_total_count
    }

    /// Returns the job parameter from the configuration, the same for all runs; empty if there is
    /// none.
    #[must_use]
    pub fn job_parameter(&self) -> &str {
        &self.config().job_parameter
    }

    /// Returns the parameter of the manual request that this run answers; `None` for scheduled
    /// runs, and for requests without a parameter. [`job_parameter`](Self::job_parameter), the same
    /// for every run, is independent of it. All attempts of the run and a takeover have the same
    /// value.
    #[must_use]
    pub fn request_parameter(&self) -> Option<&str> {
        self.start().request_parameter.as_ref().map(RequestParameter::as_str)
    }

    /// Returns the *scheduled* fire time, which identifies the fire. It is never the time at which
    /// the run started. For a manual run it is the time of the request. For a run of a backfill it
    /// is the past fire that runs again, so that the code does what it would have done then.
    #[must_use]
    pub fn fire_time(&self) -> Timestamp {
        timestamp(self.fire())
    }

    /// Returns the time that records, events and histories name the run by. It is
    /// [`fire_time`](Self::fire_time), except for a run of a backfill: such a run has a time near
    /// that of the request of the backfill.
    #[must_use]
    pub fn run_time(&self) -> Timestamp {
        timestamp(self.start().fire)
    }

    fn fire(&self) -> FireTime {
        let start = self.start();
        start.past_fire.unwrap_or(start.fire)
    }

    /// Returns why the item runs: the schedule, a misfire, a takeover, a manual request or a
    /// backfill.
    #[must_use]
    pub fn source(&self) -> RunSource {
        self.start().source
    }

    /// Returns the range of fires that this run stands for, if it stands for more than its own.
    #[must_use]
    pub fn merged(&self) -> Option<FireRange> {
        self.start().merged
    }

    /// Returns the id of the instance that holds the run, in the session of the claim.
    #[must_use]
    pub fn instance(&self) -> &InstanceId {
        &self.start().holder
    }

    /// Returns the fencing token, which is greater than that of every earlier run of the item. 0 if
    /// the job is not monitored.
    ///
    /// Send it to the store with every effect. The store rejects a token smaller than the greatest
    /// one that it has seen for the item. Register the token *before* reading the data to be
    /// changed. Without such a store two runs of an item can overlap, because a process that was
    /// paused does not know that it lost the run.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.token().0
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.start().token
    }

    /// Returns `job/item/fire`, the same for every run of one fire of an item, also in a backfill.
    /// Use it as a deduplication key.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.job_name(), self.item(), self.fire().0)
    }

    /// Returns `job/item/fire/token`, unique for each run.
    #[must_use]
    pub fn execution_id(&self) -> String {
        format!("{}/{}", self.idempotency_key(), self.fencing_token())
    }

    /// Returns the task id as ElasticJob writes it: `{job}@-@{item}@-@READY@-@{ip}@-@{life}`.
    #[must_use]
    pub fn task_id(&self) -> String {
        task_id(self.job_name(), self.item(), self.instance())
    }

    /// Returns the number of this attempt within the run, counted from 1. It is more than 1 only
    /// with a [`RetryPolicy`](crate::RetryPolicy). All attempts have the same fire, token and
    /// execution id.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the checkpoint of the item, from which the run can continue. Saving needs
    /// [`monitor_execution`](crate::JobBuilder::monitor_execution).
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::new(self.node(&NodeKind::Checkpoint(self.start().slot().key()), "checkpoint"))
    }

    /// Reports how far the run has come, for operators: the number of finished steps, the number of
    /// all steps if it is known, and a message of one line.
    ///
    /// The call only keeps the report. It is written to the registry while the code awaits, at most
    /// once a second; later reports replace earlier ones meanwhile. The last report is written
    /// before the end of the run is recorded, which waits for that up to one second. Only the run
    /// that holds the item writes. A run whose session is in doubt writes nothing more.
    ///
    /// `ejob job`, `ejob top` and the console show it. No decision depends on it: to continue from
    /// where a run has stopped, save a [`checkpoint`](Self::checkpoint).
    ///
    /// # Errors
    /// [`ProgressError`]: `done` is above the total, the message has more than 256 bytes or a
    /// control character, or the job is not monitored.
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobError, ShardingContext};
    /// async fn copy(context: &ShardingContext, tables: &[&str]) -> Result<(), JobError> {
    ///     for (done, table) in (0..).zip(tables) {
    ///         context.progress(done, tables.len() as u64, &format!("copying {table}"))?;
    ///         // Copy the table.
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn progress(
        &self,
        done: u64,
        total: impl Into<Option<u64>>,
        message: &str,
    ) -> Result<(), ProgressError> {
        let progress = Progress::new(done, total.into(), message)?;
        progress::report(&self.run.reports, self.token(), self.wall_ms(), progress)
    }

    /// Adds to the numbers of records that the runs of the item have processed, for operators.
    ///
    /// The numbers are stored with the [`progress`](Self::progress), in the same writes. They
    /// outlast the run, its process and the owner of the item, and end with the job. The records of
    /// the last second of a killed process are not counted. If the run reports no progress, its
    /// progress is the number of records that it has processed successfully.
    ///
    /// `ejob job`, the HTTP API and the console show the numbers of each item and of the job.
    /// [`DataflowJob`](../job_types/struct.DataflowJob.html) counts by itself.
    ///
    /// # Errors
    /// [`ProgressError::Unmonitored`].
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobError, ShardingContext};
    /// # fn send(order: u64) -> Result<(), JobError> { Ok(()) }
    /// async fn send_all(context: &ShardingContext, orders: &[u64]) -> Result<(), JobError> {
    ///     for order in orders {
    ///         match send(*order) {
    ///             Ok(()) => context.count_processed(1, 0)?,
    ///             Err(_) => context.count_processed(0, 1)?,
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn count_processed(&self, succeeded: u64, failed: u64) -> Result<(), ProgressError> {
        let added = OutcomeCounts { succeeded, failed };
        progress::count(&self.run.reports, self.token(), self.wall_ms(), added)
    }

    fn wall_ms(&self) -> i64 {
        self.run.seams.clock.wall().as_millisecond()
    }

    /// Returns the log of the run, whose lines a history keeps for operators: `ejob logs` and the
    /// console show them, while the run goes on and afterwards.
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobError, ShardingContext};
    /// async fn copy(context: ShardingContext) -> Result<(), JobError> {
    ///     let log = context.log();
    ///     log.line(format!("copying item {}", context.item()));
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn log(&self) -> RunLog {
        self.run.log.log(self.attempt)
    }

    /// Returns the writer of the reports.
    pub(crate) fn progress_writer(&self, cancellation: &Cancellation) -> ProgressWriter {
        ProgressWriter {
            node: Arc::new(self.node(&NodeKind::Progress(self.start().slot().key()), "progress")),
            reports: self.run.reports.subscribe(),
            abandon: cancellation.abandon.clone(),
        }
    }

    fn node(&self, kind: &NodeKind, label: &'static str) -> RunNode {
        let layout = Layout::new(self.job_name());
        let StartItem { holder, token, .. } = self.start();
        let run = RunWriter { slot: self.start().slot(), holder: holder.clone(), token: *token };
        RunNode { seams: self.run.seams.clone(), node: layout.path(kind), layout, run, label }
    }

    /// Returns the context in the form that ElasticJob passes to scripts and HTTP endpoints.
    ///
    /// It is one line of JSON, byte for byte, with the fields in the same order.
    /// `shardingParameter` is absent if the item has none. `requestParameter`, which ElasticJob
    /// does not know, follows at the end if the run has a
    /// [`request_parameter`](Self::request_parameter).
    ///
    /// `taskId` is the [`task_id`](Self::task_id) of this item alone, because each item runs by
    /// itself.
    #[must_use]
    pub fn to_java_json(&self) -> String {
        let mut json = String::from("{");
        let mut text = |name: &str, value: &str| {
            push_java_json(&mut json, name);
            json.push(':');
            push_java_json(&mut json, value);
            json.push(',');
        };
        text("jobName", self.job_name().as_str());
        text("taskId", &self.task_id());
        json.push_str(&format!("\"shardingTotalCount\":{},", self.sharding_total_count()));
        json.push_str("\"jobParameter\":");
        push_java_json(&mut json, self.job_parameter());
        json.push_str(&format!(",\"shardingItem\":{}", self.item()));
        if let Some(parameter) = self.parameter() {
            json.push_str(",\"shardingParameter\":");
            push_java_json(&mut json, parameter);
        }
        if let Some(parameter) = self.request_parameter() {
            json.push_str(",\"requestParameter\":");
            push_java_json(&mut json, parameter);
        }
        json.push('}');
        json
    }

    /// Returns the configuration that is in force now. It can be newer than
    /// [`config`](Self::config), which the run uses. Code that runs for long can check it.
    #[must_use]
    pub fn latest_config(&self) -> Arc<JobConfig> {
        Arc::clone(&self.updates.borrow().config)
    }

    /// Returns true if long-running code should end at its next suitable point.
    ///
    /// That is so if the run is cancelled, this instance leaves or is paused, its server or the
    /// item is disabled, or the item belongs or is about to move to another instance.
    ///
    /// The future is not dropped for that: the scheduler waits for a run that does not end. If the
    /// code returns `Ok` after a batch, the next owner continues with the next batch.
    #[must_use]
    pub fn should_wind_down(&self) -> bool {
        self.is_cancelled() || self.updates.borrow().winds_down
    }

    /// Waits until [`should_wind_down`](Self::should_wind_down) is true.
    ///
    /// # Cancel safety
    /// The future can be dropped, and the method called again.
    pub async fn winding_down(&self) {
        let mut updates = self.updates.clone();
        let winds_down = async {
            // The sender is gone when the run has ended or was abandoned.
            let _ = updates.wait_for(|update| update.winds_down).await;
        };
        tokio::select! {
            () = self.cancelled() => {}
            () = winds_down => {}
        }
    }

    /// Returns true if the run should end as soon as possible: at a shutdown, because the session
    /// is in doubt, because its timeout has passed, or because an operator cancelled it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Waits until [`is_cancelled`](Self::is_cancelled) is true.
    ///
    /// # Cancel safety
    /// The future can be dropped, and the method called again.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Returns the token behind [`cancelled`](Self::cancelled), to pass to tasks of the job's own.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.cancellation.clone()
    }
}

/// Converts a fire time. A damaged record can hold a time out of range, which is clamped.
pub(crate) fn timestamp(fire: FireTime) -> Timestamp {
    let bound = if fire.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(fire.0).unwrap_or(bound)
}
