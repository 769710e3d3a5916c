//! Where a job stands in this process, for people and health checks.

use std::fmt;
use std::sync::Arc;

use coordination::{FencingToken, JobConfig, JobName, Phase};
use jiff::{SignedDuration, Timestamp};
use sharding::{InstanceId, ShardingItem};

/// Where a job stands in this process.
///
/// `Debug` shows what is not as by default: of the configuration the fields that were set, and nothing that only Java reads.
#[derive(Clone, PartialEq, Eq)]
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
    /// How far this process's clock is ahead of the registry's, negative if it is behind; `None` unless that is beyond
    /// [`max_time_diff`](crate::JobBuilder::max_time_diff). It misses its fires as long as it is.
    pub clock_differs_by: Option<SignedDuration>,
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

impl fmt::Debug for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: Timestamp| time.to_string();
        let running: Vec<_> =
            self.running.iter().map(|(item, token)| (item.index(), token.0)).collect();
        let owned: Vec<_> = self.owned.iter().map(|item| item.index()).collect();
        let flags = [
            ("registered", self.registered),
            ("available", self.available),
            ("paused", self.paused),
            ("leads", self.leads),
        ];
        let set: Vec<&str> =
            flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
        let options = [
            ("instance", self.instance.as_ref().map(ToString::to_string)),
            ("leader", self.leader.as_ref().map(ToString::to_string)),
            ("waiting_for", self.waiting_for.map(str::to_owned)),
            ("waiting_since", self.waiting_since.map(time)),
            ("next_fire", self.next_fire.map(time)),
            ("time_zone", self.time_zone.clone()),
            ("config_fault", self.config_fault.clone()),
            ("stopped", self.stopped.clone()),
        ];
        let mut shown = f.debug_struct("JobStatus");
        shown
            .field("job", &self.job)
            .field("phase", &self.phase)
            .field("is", &Plain(set.join(", ")));
        shown
            .field("owned", &format_args!("{owned:?}"))
            .field("running", &format_args!("{running:?}"));
        for (name, value) in options {
            if let Some(value) = value {
                shown.field(name, &Plain(value));
            }
        }
        if let Some(config) = &self.config {
            shown.field("config", &Plain(fields_that_were_set(config)));
        }
        shown.finish()
    }
}

/// A text without quotes.
struct Plain(String);

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fields_that_were_set(config: &JobConfig) -> String {
    let defaults = JobConfig::new(config.job_name.clone(), 0).fields();
    let fields = config.fields().into_iter().zip(defaults);
    let set = fields.filter(|(field, default)| field != default);
    set.map(|((name, value), _)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
