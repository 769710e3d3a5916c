//! Messages between the suite and its workers: one JSON document per line, the same for Java and
//! Rust.
//!
//! The suite writes orders to a worker's standard input. The worker writes events to its standard
//! output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Address of the registry and settings of a worker: the first line that a worker reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registry {
    /// The Java release whose nodes a Rust worker writes. Java workers ignore it.
    pub(crate) release: String,
    pub(crate) addresses: String,
    pub(crate) namespace: String,
    pub(crate) session_ms: u64,
    /// The port on which a worker answers dumps; −1 is none.
    pub(crate) dump_port: i32,
    /// The zone of configurations that name none. A Java worker uses that of its virtual machine.
    pub(crate) time_zone: String,
}

/// A job's configuration, common to all releases.
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
    /// The release's name of the strategy; empty is its default.
    pub(crate) strategy: String,
    /// 0 disables reconciliation.
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

    /// Sets a schedule that does not fire during the suite, so that only requests start runs.
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
    pub(crate) action: Action,
}

/// Actions that the suite orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub(crate) enum Action {
    /// Takes part in a job. The answer is the id of the instance.
    Schedule { job: JobPlan },
    /// Sets how long runs that begin from now on take. Items in `hold` run until a later order
    /// releases them.
    #[serde(rename_all = "camelCase")]
    Work { job: String, usual_ms: u64, hold: Vec<u32> },
    /// Requests a run of all items, as an application does: Rust through the handle of the job,
    /// Java through its API.
    Trigger { job: String },
    /// Calls the Java lifecycle API. The answer is its return value.
    Call {
        call: String,
        #[serde(flatten)]
        arguments: serde_json::Map<String, Value>,
    },
    /// Shuts down in an orderly way.
    Leave,
}

/// A message of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fact {
    /// Time of the event, in milliseconds since 1970 UTC.
    pub(crate) at: i64,
    #[serde(flatten)]
    pub(crate) event: WorkerEvent,
}

/// Events that a worker reports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ev", rename_all = "camelCase")]
pub(crate) enum WorkerEvent {
    /// The worker is ready for orders.
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
    /// A Java worker has completed a fire of a job, with or without items to run.
    Complete { job: String, fire: i64 },
    /// An event of the Rust product. `settled` is the fire of the run, if the event records the end
    /// of a run.
    Event { job: String, name: String, text: String, settled: Option<i64> },
    /// The worker has failed.
    Error { text: String },
}

/// A call of the job's code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run {
    pub(crate) job: String,
    pub(crate) item: u32,
    /// Number of the run, unique in the process.
    pub(crate) run: u64,
    /// The scheduled fire time, in milliseconds since 1970 UTC.
    pub(crate) fire: i64,
    /// Source of the run, in the words of the worker's release.
    pub(crate) source: String,
    pub(crate) total: u32,
    pub(crate) job_parameter: String,
    #[serde(default)]
    pub(crate) parameter: Option<String>,
    pub(crate) task_id: String,
    #[serde(default)]
    pub(crate) interrupted: bool,
    /// The first of several fires that the run stands for. Only Rust workers report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merged_from: Option<i64>,
}
