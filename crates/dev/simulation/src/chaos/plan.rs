//! A whole run of chaos as data: it can be stored, repeated, and made smaller.

use std::time::Duration;

use lite::{InvalidConfig, JobBuilder, JobConfig};
use serde::{Deserialize, Serialize};
use testkit::harness::{ScenarioCluster, Scheduled, Weather, Work};

/// A run of chaos, completely described. Times are in milliseconds since the beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChaosPlan {
    /// Where delays and losses come from. Faults and workload are below and do not depend on it.
    pub seed: u64,
    /// How many processes there are, each on a server of its own.
    pub nodes: u32,
    /// What the network is like.
    pub weather: Weather,
    /// What the job is like.
    pub job: JobPlan,
    /// How long things go wrong.
    pub chaos_ms: u64,
    /// How long nothing goes wrong afterwards.
    pub calm_ms: u64,
    /// What goes wrong, in the order of time.
    pub faults: Vec<Scheduled>,
}

/// The job of a run of chaos.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobPlan {
    /// How many items it has at the beginning.
    pub items: u32,
    /// Whether runs of lost instances are taken over.
    pub failover: bool,
    /// Whether fires that met the running item are run afterwards.
    pub misfire: bool,
    /// Whether runs are claimed.
    pub monitor: bool,
    /// How long an item works, in periods of ten seconds.
    pub periods: f64,
    /// Items with another duration.
    pub slow: Vec<(u32, f64)>,
    /// Items that return an error.
    pub fail: Vec<u32>,
    /// Items that panic.
    pub panic: Vec<u32>,
    /// Items that never end by themselves.
    pub hang: Vec<u32>,
    /// Whether there are callbacks that come once per cluster and fire.
    #[serde(default)]
    pub once: bool,
    /// Which fires are run afterwards that nobody ran in their time.
    #[serde(default)]
    pub catch_up: Option<CatchUpPlan>,
}

/// How a job catches up: see [`CatchUp`](lite::CatchUp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatchUpPlan {
    /// How old a fire may be, in seconds.
    pub window_seconds: u32,
    /// How many fires of an item at most.
    pub max: u32,
}

impl ChaosPlan {
    /// The name of node `n`: `a`, `b` …
    pub(super) fn name(n: u32) -> String {
        let letter = u8::try_from(n % 26).unwrap_or(0);
        char::from(b'a' + letter).to_string()
    }
}

impl JobPlan {
    pub(super) fn config(&self) -> Result<JobConfig, InvalidConfig> {
        let mut job = JobBuilder::new("job", self.items);
        if let Some(CatchUpPlan { window_seconds, max }) = self.catch_up {
            job = job.catch_up(Duration::from_secs(window_seconds.into()), max);
        }
        job.cron(ScenarioCluster::CRON)
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
