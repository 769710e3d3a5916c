//! Status of a job in this process, for operators and health checks.

use std::fmt;
use std::sync::Arc;

use coordination::{FencingToken, JobConfig, JobName, Phase};
use jiff::{SignedDuration, Timestamp};
use sharding::{InstanceId, ShardingItem};

/// Status of a job in this process.
///
/// `Debug` shows only values that differ from the defaults. From the configuration it leaves out
/// the settings of Java.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobStatus {
    /// The job.
    pub job: JobName,
    /// Phase of this process's participation.
    pub phase: Phase,
    /// The instance id in the current session; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// True if the instance is registered.
    pub registered: bool,
    /// True if the instance can get items: it is registered, its server is enabled, and it does not
    /// leave.
    pub available: bool,
    /// True if the instance starts no runs because it is paused.
    pub paused: bool,
    /// The leader.
    pub leader: Option<InstanceId>,
    /// True if this instance is the leader.
    pub leads: bool,
    /// The items that this instance owns.
    pub owned: Vec<ShardingItem>,
    /// The items that this instance runs, or whose end is not yet recorded in the registry, with
    /// their tokens.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// The items of these whose runs wait for a place in this process: see
    /// [`SchedulerBuilder::max_concurrency`](crate::SchedulerBuilder::max_concurrency).
    pub waiting_for_place: Vec<ShardingItem>,
    /// Condition that the job waits for, if any.
    pub waiting_for: Option<&'static str>,
    /// Time since which it has waited.
    pub waiting_since: Option<Timestamp>,
    /// How far this process's clock is ahead of the registry's, negative if it is behind. `None`
    /// unless the difference exceeds [`max_time_diff`](crate::JobBuilder::max_time_diff); beyond it
    /// the instance misses its fires.
    pub clock_differs_by: Option<SignedDuration>,
    /// Time of the next fire; `None` if the job runs on request only, or the schedule has ended.
    pub next_fire: Option<Timestamp>,
    /// Time zone of the cron expression: that of the configuration, or else the scheduler's
    /// [`default_time_zone`](crate::SchedulerBuilder::default_time_zone). `None` if the job runs on
    /// request only.
    pub time_zone: Option<String>,
    /// The configuration in force; `None` as long as there is no valid one.
    pub config: Option<Arc<JobConfig>>,
    /// Error in the stored configuration. The last valid one stays in force until an operator
    /// repairs it.
    pub config_fault: Option<String>,
    /// The error handler that has stopped the job on this server, and the failure. `None` if no
    /// handler has, or an operator has resumed the server since.
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
