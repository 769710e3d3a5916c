//! A chaos plan: a complete run as data that can be stored, repeated and shrunk.

use std::time::Duration;

use lite::{GroupLimits, InvalidConfig, JobBuilder, JobConfig, Overlap, StartRate};
use serde::{Deserialize, Serialize};
use testkit::harness::{ScenarioCluster, Scheduled, Weather, Work};

/// A complete chaos run as data. Times are in milliseconds since the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChaosPlan {
    /// Seed of delays and losses. Faults and workload are listed below and do not depend on it.
    pub seed: u64,
    /// Number of processes, each on its own server.
    pub nodes: u32,
    /// Network conditions.
    pub weather: Weather,
    /// Maximum number of runs at the same time in each process; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// Settings of the job.
    pub job: JobPlan,
    /// Duration of the chaos.
    pub chaos_ms: u64,
    /// Duration of the calm after the chaos.
    pub calm_ms: u64,
    /// Faults in the order of their times.
    pub faults: Vec<Scheduled>,
}

/// Job of a chaos run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPlan {
    /// Number of items at the beginning.
    pub items: u32,
    /// True if other instances take over runs of lost instances.
    pub failover: bool,
    /// True if fires that met a busy item are run afterwards.
    pub misfire: bool,
    /// True if runs are claimed and recorded.
    pub monitor: bool,
    /// Duration of an item's work, in periods of ten seconds.
    pub periods: f64,
    /// Items with a duration of their own, in periods.
    pub slow: Vec<(u32, f64)>,
    /// Items that return an error.
    pub fail: Vec<u32>,
    /// Items that panic.
    pub panic: Vec<u32>,
    /// Items that run until they are cancelled.
    pub hang: Vec<u32>,
    /// True if processes take part in once-per-cluster callbacks.
    #[serde(default)]
    pub once: bool,
    /// Catch-up policy; `None` is no catch-up.
    #[serde(default)]
    pub catch_up: Option<CatchUpPlan>,
    /// Schedule; empty is a fire each ten seconds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub schedule: String,
    /// Handling of fires that meet a run, e.g. `queue 2`; empty is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub overlap: String,
    /// Maximum number of runs at the same time; `None` is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_concurrency: Option<u32>,
    /// Start rate, e.g. `3 in 10s`; empty is no limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start_rate: String,
    /// Limits of the job's group; `None` is no group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupPlan>,
    /// Time of the first possible fire; empty is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_before: String,
    /// Time of the last possible fire; empty is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub not_after: String,
}

/// Limits of a group: see [`GroupLimits`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// Maximum number of runs at the same time; `None` is no limit.
    pub cluster_concurrency: Option<u32>,
    /// Start rate, e.g. `3 in 10s`; empty is no limit.
    pub start_rate: String,
}

/// Catch-up policy of a job: see [`CatchUp`](lite::CatchUp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatchUpPlan {
    /// Maximum age of a fire, in seconds.
    pub window_seconds: u32,
    /// Maximum number of fires per item.
    pub max: u32,
}

impl ChaosPlan {
    /// Returns the name of node `n`: `a`, `b` …
    pub(super) fn name(n: u32) -> String {
        let letter = u8::try_from(n % 26).unwrap_or(0);
        char::from(b'a' + letter).to_string()
    }

    /// Returns true if the plan was drawn with features.
    pub(super) fn has_features(&self) -> bool {
        self.max_concurrency.is_some() || self.job.has_features()
    }
}

impl GroupPlan {
    /// Name of the group.
    pub(super) const NAME: &'static str = "shared";

    pub(super) fn limits(&self) -> GroupLimits {
        let start_rate = StartRate::parse(&self.start_rate);
        GroupLimits { cluster_concurrency: self.cluster_concurrency, start_rate }
    }
}

impl JobPlan {
    /// Returns true if the job has a feature that [`ChaosPlan::draw`] does not draw.
    pub(super) fn has_features(&self) -> bool {
        let Self { schedule, overlap, start_rate, not_before, not_after, .. } = self;
        let texts = [schedule, overlap, start_rate, not_before, not_after];
        self.cluster_concurrency.is_some()
            || self.group.is_some()
            || texts.into_iter().any(|text| !text.is_empty())
    }

    pub(super) fn config(&self) -> Result<JobConfig, InvalidConfig> {
        let mut job = JobBuilder::new("job", self.items);
        if let Some(CatchUpPlan { window_seconds, max }) = self.catch_up {
            job = job.catch_up(Duration::from_secs(window_seconds.into()), max);
        }
        if let Some(overlap) = Overlap::parse(&self.overlap) {
            job = job.overlap(overlap);
        }
        if let Some(max) = self.cluster_concurrency {
            job = job.cluster_concurrency(max);
        }
        if let Some(rate) = StartRate::parse(&self.start_rate) {
            job = job.start_rate(rate);
        }
        if self.group.is_some() {
            job = job.group(GroupPlan::NAME);
        }
        if !self.not_before.is_empty() {
            job = job.not_before(&self.not_before);
        }
        if !self.not_after.is_empty() {
            job = job.not_after(&self.not_after);
        }
        let each_ten_seconds = self.schedule.is_empty();
        job.cron(if each_ten_seconds { ScenarioCluster::CRON } else { &self.schedule })
            .failover(self.failover && self.monitor)
            .misfire(self.misfire)
            .monitor_execution(self.monitor)
            .build()
    }

    pub(super) fn work(&self) -> Work {
        Work {
            periods: self.periods,
            slow: self.slow.clone(),
            fail: self.fail.clone(),
            panic: self.panic.clone(),
            hang: self.hang.clone(),
            ..Work::default()
        }
    }
}
