//! What the suite tells a worker and what a worker tells: one JSON document per line, the same for Java and Rust.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the registry is: the first line that a worker reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registry {
    /// The Java release whose nodes a Rust worker shall write; Java workers write their own.
    pub(crate) release: String,
    pub(crate) addresses: String,
    pub(crate) namespace: String,
    pub(crate) session_ms: u64,
    /// The port that a worker answers dumps at; −1 is none.
    pub(crate) dump_port: i32,
    /// The zone of configurations that name none. A Java worker has that of its virtual machine.
    pub(crate) time_zone: String,
}

/// A job's configuration, for all releases alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobPlan {
    pub(crate) name: String,
    pub(crate) cron: String,
    pub(crate) total: u32,
    pub(crate) item_parameters: String,
    pub(crate) job_parameter: String,
    pub(crate) failover: bool,
    pub(crate) misfire: bool,
    pub(crate) monitor_execution: bool,
    pub(crate) overwrite: bool,
    /// What the release calls the strategy; empty is its default.
    pub(crate) strategy: String,
    /// 0 is never.
    pub(crate) reconcile_interval_minutes: u32,
}

impl JobPlan {
    /// Returns a job that fires every second.
    pub(crate) fn new(name: &str, total: u32) -> Self {
        Self {
            name: name.to_owned(),
            cron: "* * * * * ?".to_owned(),
            total,
            item_parameters: String::new(),
            job_parameter: String::new(),
            failover: false,
            misfire: true,
            monitor_execution: true,
            overwrite: false,
            strategy: String::new(),
            reconcile_interval_minutes: 10,
        }
    }

    /// Never fires while the suite runs; only requests start it.
    pub(crate) fn idle(mut self) -> Self {
        "0 0 0 1 1 ? 2099".clone_into(&mut self.cron);
        self
    }

    pub(crate) fn failover(mut self) -> Self {
        self.failover = true;
        self
    }
}

/// An order and its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) order: u64,
    #[serde(flatten)]
    pub(crate) act: Act,
}

/// What a worker shall do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub(crate) enum Act {
    /// Take part in a job. The answer is the id of the instance.
    Schedule { job: JobPlan },
    /// Items that begin from now on work so long; those in `hold` until they are no longer held.
    #[serde(rename_all = "camelCase")]
    Work { job: String, usual_ms: u64, hold: Vec<u32> },
    /// Ask for a run of all items, as an application can: Rust through the handle of the job, Java through its API.
    Trigger { job: String },
    /// Call the Java lifecycle API. The answer is what it returns.
    Call {
        call: String,
        #[serde(flatten)]
        arguments: serde_json::Map<String, Value>,
    },
    /// End as a process ends when it is asked to.
    Leave,
}

/// What a worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// When, in milliseconds since 1970 UTC.
    pub(crate) at: i64,
    #[serde(flatten)]
    pub(crate) ev: Said,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ev", rename_all = "camelCase")]
pub(crate) enum Said {
    /// It reads orders now.
    Ready,
    /// An order was carried out, or failed.
    Answer {
        order: u64,
        #[serde(default)]
        value: Value,
        #[serde(default)]
        error: Option<String>,
    },
    /// The job's code was called.
    Begin(Run),
    /// The job's code returned.
    End(Run),
    /// A Java worker is done with a fire of a job, whether it had items to run or not.
    Complete { job: String, fire: i64 },
    /// What the Rust product tells of a job; of which fire, if an item is recorded as done.
    Event { job: String, name: String, text: String, settled: Option<i64> },
    /// The worker cannot go on.
    Error { text: String },
}

/// A call of the job's code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run {
    pub(crate) job: String,
    pub(crate) item: u32,
    /// Another number for each run of the process.
    pub(crate) run: u64,
    /// The scheduled time, in milliseconds since 1970 UTC.
    pub(crate) fire: i64,
    /// Why: as the worker's release words it.
    pub(crate) source: String,
    pub(crate) total: u32,
    pub(crate) job_parameter: String,
    #[serde(default)]
    pub(crate) parameter: Option<String>,
    pub(crate) task_id: String,
    #[serde(default)]
    pub(crate) interrupted: bool,
    /// The first of the fires that the run stands for, if they are more than its own: of Rust, which says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merged_from: Option<i64>,
}
