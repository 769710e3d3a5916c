//! Rows of a run in the two tables of ElasticJob.
//!
//! | column | value |
//! |---|---|
//! | `id` | a UUID derived from job, item, fire, token and instance |
//! | `task_id` | `{job}@-@{item}@-@READY@-@{instance}` |
//! | `execution_source` | `MISFIRE` or `FAILOVER` by the source, otherwise `NORMAL_TRIGGER` |
//! | `is_success` | 1 (true) if the run succeeded; 0 (false) at its start and for all other ends |
//! | `state` | `TASK_STAGING` and `TASK_RUNNING`, at the end `TASK_FINISHED` or `TASK_ERROR` |
//! | `source`, `execution_type` | always `LITE_EXECUTOR` and `READY`, as on Java instances |
//!
//! The derived `id` makes a repeated write harmless. Each run has its own `task_id`, while Java
//! instances use one for all items of an instance.

use coordination::{FencingToken, FireTime, JobName, Outcome, RunSource, task_id};
use lite::RunReport;
use sharding::{InstanceId, ShardingItem};
use uuid::Uuid;

use crate::text::clip;

/// A row of `JOB_EXECUTION_LOG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExecutionRow {
    pub(crate) id: String,
    pub(crate) job: String,
    pub(crate) task_id: String,
    pub(crate) ip: String,
    pub(crate) item: i64,
    pub(crate) source: &'static str,
    pub(crate) cause: Option<String>,
    pub(crate) is_success: bool,
    pub(crate) began_ms: i64,
    /// `None` in the row that is written at the start of a run.
    pub(crate) ended_ms: Option<i64>,
}

/// A row of `JOB_STATUS_TRACE_LOG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceRow {
    pub(crate) id: String,
    pub(crate) job: String,
    pub(crate) task_id: String,
    pub(crate) ip: String,
    pub(crate) items: String,
    pub(crate) state: &'static str,
    pub(crate) message: String,
    pub(crate) at_ms: i64,
}

/// Identity of a run.
pub(crate) struct RunId<'a> {
    pub(crate) job: &'a JobName,
    pub(crate) instance: &'a InstanceId,
    pub(crate) item: ShardingItem,
    pub(crate) fire: FireTime,
    pub(crate) token: FencingToken,
    pub(crate) source: RunSource,
}

/// Namespace of the row ids, so that they differ from ids of other programs.
const NAMESPACE: Uuid = Uuid::from_u128(0x7d3a_52e6_91c4_4b0f_8e57_2f60_1ab9_c3d8);

impl RunId<'_> {
    /// Returns the row of a run that has begun.
    pub(crate) fn begun(&self, at_ms: i64) -> ExecutionRow {
        ExecutionRow {
            id: self.uuid(""),
            job: clip(self.job.as_str(), 100),
            task_id: self.task_id(),
            ip: self.ip(),
            item: i64::from(self.item.index()),
            source: match self.source {
                RunSource::Normal | RunSource::Manual | RunSource::Backfill => "NORMAL_TRIGGER",
                RunSource::Misfire => "MISFIRE",
                RunSource::Failover => "FAILOVER",
            },
            cause: None,
            is_success: false,
            began_ms: at_ms,
            ended_ms: None,
        }
    }

    /// Returns the row of a run that has ended.
    pub(crate) fn ended(&self, report: &RunReport) -> ExecutionRow {
        let is_success = report.outcome == Outcome::Succeeded;
        ExecutionRow {
            cause: (!is_success).then(|| failure_cause(report)),
            is_success,
            ended_ms: Some(report.ended.as_millisecond()),
            ..self.begun(report.began.as_millisecond())
        }
    }

    /// Returns the states of a run that has begun.
    pub(crate) fn begun_states(&self, at_ms: i64) -> [TraceRow; 2] {
        let begin = format!("Job '{}' execute begin.", self.job);
        [
            self.state("TASK_STAGING", clip(&begin, 4000), at_ms),
            self.state("TASK_RUNNING", String::new(), at_ms),
        ]
    }

    /// Returns the state of a run that has ended.
    pub(crate) fn ended_state(&self, report: &RunReport) -> TraceRow {
        let at_ms = report.ended.as_millisecond();
        if report.outcome == Outcome::Succeeded {
            self.state("TASK_FINISHED", String::new(), at_ms)
        } else {
            self.state("TASK_ERROR", failure_cause(report), at_ms)
        }
    }

    fn state(&self, state: &'static str, message: String, at_ms: i64) -> TraceRow {
        TraceRow {
            id: self.uuid(state),
            job: clip(self.job.as_str(), 100),
            task_id: self.task_id(),
            ip: self.ip(),
            items: format!("[{}]", self.item),
            state,
            message,
            at_ms,
        }
    }

    fn uuid(&self, state: &str) -> String {
        let Self { job, instance, item, fire, token, .. } = self;
        let name = format!("{job}/{item}/{}/{token}/{instance}/{state}", fire.0);
        Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string()
    }

    fn task_id(&self) -> String {
        clip(&task_id(self.job, self.item, self.instance), 255)
    }

    fn ip(&self) -> String {
        let id = self.instance.as_str();
        clip(id.split_once("@-@").map_or(id, |(ip, _)| ip), 50)
    }
}

fn failure_cause(report: &RunReport) -> String {
    let cause = report.cause.as_deref().unwrap_or(report.outcome.as_str());
    clip(cause, 4000)
}
