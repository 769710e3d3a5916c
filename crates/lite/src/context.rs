//! What the code of a job is told about the run that it is called for.

use std::sync::Arc;

use coordination::{
    FencingToken, FireRange, FireTime, JobConfig, JobName, Layout, RequestParameter, RunSource,
    StartItem, push_java_json, task_id,
};
use jiff::Timestamp;
use reg_center::Version;
use sharding::{InstanceId, ShardingItem, ShardingItemParameters};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Checkpoint;
use crate::prospect::Prospect;
use crate::seams::Seams;

/// One run: which item, for which fire, why, and under which token.
///
/// Everything in it stays as it was when the run began, whatever is reconfigured meanwhile. Clones are cheap and
/// share the cancellation.
#[derive(Clone, Debug)]
pub struct ShardingContext {
    run: Arc<Facts>,
    cancellation: CancellationToken,
    attempt: u32,
    prospect: watch::Receiver<Prospect>,
}

#[derive(Debug)]
struct Facts {
    start: StartItem,
    parameter: Option<String>,
    seams: Seams,
}

impl ShardingContext {
    pub(crate) fn new(
        start: StartItem,
        cancellation: CancellationToken,
        prospect: watch::Receiver<Prospect>,
        seams: Seams,
    ) -> Self {
        let parameters = ShardingItemParameters::parse(&start.config.sharding_item_parameters);
        // A configuration with parameters that cannot be read is rejected before anything is started by it.
        let parameter = parameters.ok().and_then(|all| all.get(start.item).map(str::to_owned));
        let run = Arc::new(Facts { start, parameter, seams });
        Self { run, cancellation, attempt: 1, prospect }
    }

    /// Says how often the item was tried in this run, this time included.
    pub(crate) fn in_attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// Asks the code to end by another token, a child of that before.
    pub(crate) fn cancelled_by(self, cancellation: CancellationToken) -> Self {
        Self { cancellation, ..self }
    }

    fn start(&self) -> &StartItem {
        &self.run.start
    }

    /// Returns the configuration that the run sees from its start to its end.
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

    /// Returns what the configuration says about this item, as in `0=Beijing,1=Shanghai`.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        self.run.parameter.as_deref()
    }

    /// Returns how many items the job has, on all instances together.
    #[must_use]
    pub fn sharding_total_count(&self) -> u32 {
        self.config().sharding_total_count
    }

    /// Returns what the configuration tells every run; empty if it says nothing.
    #[must_use]
    pub fn job_parameter(&self) -> &str {
        &self.config().job_parameter
    }

    /// Returns what the request that this run answers tells it; `None` for scheduled runs, and for requests that tell
    /// nothing. It comes beside [`job_parameter`](Self::job_parameter), which is the same for every run. All attempts of the run
    /// are told the same, and so is whoever takes it over.
    #[must_use]
    pub fn request_parameter(&self) -> Option<&str> {
        self.start().request_parameter.as_ref().map(RequestParameter::as_str)
    }

    /// Returns the *scheduled* time, which identifies the fire: never the time at which somebody got round to it.
    /// For a manual run it is the time of the request.
    #[must_use]
    pub fn fire_time(&self) -> Timestamp {
        timestamp(self.start().fire)
    }

    /// Returns why the item runs: the schedule, misfires, a takeover, or a request.
    #[must_use]
    pub fn source(&self) -> RunSource {
        self.start().source
    }

    /// Returns the fires that this run stands for, if they are more than its own.
    #[must_use]
    pub fn merged(&self) -> Option<FireRange> {
        self.start().merged
    }

    /// Returns the instance that the run belongs to, in its present life.
    #[must_use]
    pub fn instance(&self) -> &InstanceId {
        &self.start().holder
    }

    /// Returns the fencing token: greater than that of every earlier run of the same item.
    ///
    /// Hand it to the store with every effect; the store refuses a token smaller than the greatest that it has seen
    /// for the item. Register it *before* reading what is to be changed. Without such a store two runs of an item can
    /// overlap: a process that was paused does not know it yet. 0 if the job is not monitored.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.token().0
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.start().token
    }

    /// Returns `job/item/fire`, the same for every run of one fire of an item: a key to do something only once.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.job_name(), self.item(), self.start().fire.0)
    }

    /// Returns `job/item/fire/token`, another for every run.
    #[must_use]
    pub fn execution_id(&self) -> String {
        format!("{}/{}", self.idempotency_key(), self.fencing_token())
    }

    /// Returns the task id as ElasticJob writes it: `{job}@-@{item}@-@READY@-@{ip}@-@{life}`.
    #[must_use]
    pub fn task_id(&self) -> String {
        task_id(self.job_name(), self.item(), self.instance())
    }

    /// Returns which attempt of the run this is, counted from 1: more than 1 only with a
    /// [`RetryPolicy`](crate::RetryPolicy). All attempts have the same fire, token and execution id.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the checkpoint of the item, to go on where the last run ended. Needs
    /// [`monitor_execution`](crate::JobBuilder::monitor_execution) to be written.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let (layout, seams) = (Layout::new(self.job_name()), self.run.seams.clone());
        Checkpoint::new(seams, &layout, self.item(), self.instance().clone(), self.token())
    }

    /// Returns the context as ElasticJob hands it to scripts and HTTP endpoints: one line of JSON, byte for byte, fields
    /// in the same order, without `shardingParameter` if the item has none. If the run has a
    /// [`request_parameter`](Self::request_parameter), which ElasticJob does not know, `requestParameter` follows at the end.
    ///
    /// Its `taskId` is [`task_id`](Self::task_id), of this item alone, as each item is run by itself.
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

    /// Returns the configuration that is in force now. It can be newer than [`config`](Self::config), by which the run
    /// goes; code that runs for long can look here whether it is still wanted.
    #[must_use]
    pub fn latest_config(&self) -> Arc<JobConfig> {
        Arc::clone(&self.prospect.borrow().config)
    }

    /// Returns true if code that works through a stream should come to an end at its next good point: the run is
    /// cancelled, this instance leaves or is paused, its server or the item is disabled, or the item belongs or is to
    /// move to another instance.
    ///
    /// Nothing is dropped for it: a run that does not end is waited for. Whoever is done with a batch here and returns
    /// `Ok` lets the next owner go on with the next one.
    #[must_use]
    pub fn should_wind_down(&self) -> bool {
        self.is_cancelled() || self.prospect.borrow().winds_down
    }

    /// Waits until [`should_wind_down`](Self::should_wind_down).
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub async fn winding_down(&self) {
        let mut prospect = self.prospect.clone();
        let winds_down = async {
            // The sender is gone when the run has ended, or nobody keeps an account of it any more.
            let _ = prospect.wait_for(|prospect| prospect.winds_down).await;
        };
        tokio::select! {
            () = self.cancelled() => {}
            () = winds_down => {}
        }
    }

    /// Returns true if the run should end as soon as it can: on shutdown, because the session is in doubt, or because its
    /// time is over.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Waits until the run should end.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub async fn cancelled(&self) {
        self.cancellation.cancelled().await;
    }

    /// Returns the token behind [`cancelled`](Self::cancelled), to hand on to tasks of the job's own.
    #[must_use]
    pub fn cancellation_token(&self) -> CancellationToken {
        self.cancellation.clone()
    }
}

/// Times that no calendar reaches come from a damaged record; they become its end.
pub(crate) fn timestamp(fire: FireTime) -> Timestamp {
    let bound = if fire.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(fire.0).unwrap_or(bound)
}
