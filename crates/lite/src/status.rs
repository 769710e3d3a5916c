//! Where a job stands in this process, for people and health checks.

use std::sync::Arc;

use coordination::{FencingToken, JobConfig, JobName, Phase};
use jiff::Timestamp;
use sharding::{InstanceId, ShardingItem};

/// Where a job stands in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStatus {
    /// Which job.
    pub job: JobName,
    /// Whether this process takes part.
    pub phase: Phase,
    /// The id of its present life; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// Whether it is registered.
    pub registered: bool,
    /// Whether it can be given items: it is registered, its server is enabled, and it is not leaving.
    pub available: bool,
    /// Whether runs are held back here.
    pub paused: bool,
    /// Who leads.
    pub leader: Option<InstanceId>,
    /// Whether this instance leads.
    pub leads: bool,
    /// The items that it owns.
    pub owned: Vec<ShardingItem>,
    /// The items that it runs, or has run without the registry knowing yet, with their tokens.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// What it waits for, if for anything.
    pub waiting_for: Option<&'static str>,
    /// Since when it has waited for that.
    pub waiting_since: Option<Timestamp>,
    /// When it fires next; `None` if it runs on request only, or never again.
    pub next_fire: Option<Timestamp>,
    /// The zone that its cron expression is meant in: that of the configuration, or else the scheduler's
    /// [`default_time_zone`](crate::SchedulerBuilder::default_time_zone). `None` if it runs on request only.
    pub time_zone: Option<String>,
    /// The configuration in force; `None` as long as there is no usable one.
    pub config: Option<Arc<JobConfig>>,
    /// What is wrong with the stored configuration. The last good one stays in force until it is repaired.
    pub config_fault: Option<String>,
    /// Which error handler has stopped the job here, and what it was told; `None` if none has, or somebody has resumed
    /// the server since.
    pub stopped: Option<String>,
}
