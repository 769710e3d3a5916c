#![doc = include_str!("../README.md")]

mod assignment;
mod audit;
mod command;
mod coordinator;
mod duty;
mod event;
#[cfg(test)]
mod exhaustive;
mod failure_reason;
mod followed;
mod foreign;
mod gap;
mod id;
mod items;
mod job_config;
mod job_event;
mod latch;
mod layout;
mod ledger;
mod local;
mod once;
mod operator;
mod pending;
mod plan;
mod request_parameter;
mod runs;
mod shortened;
mod template;
mod trigger_record;
mod view;

pub use audit::{AuditLog, AuditRecord};
pub use command::{Command, InterruptReason, StartItem};
pub use coordinator::{Coordinator, Identity, Status};
pub use duty::Duty;
pub use event::{Event, Now, Reply, Ticket};
pub use failure_reason::{FailureReason, MAX_FAILURE_REASON_BYTES};
pub use followed::Following;
pub use gap::{Gap, ScheduleLookup};
pub use id::{
    FencingToken, FireTime, ID_DELIMITER, InvalidName, JobName, MAX_JOB_NAME_BYTES, ServerIp,
    instance_id, server_of, task_id,
};
pub use items::ItemView;
pub use job_config::{
    CatchUp, DEFAULT_MAX_TIME_DIFF_SECONDS, Dialect, InvalidConfig, JavaExecutor, JavaFields,
    JavaFields2, JavaFields3, JavaJobType, JavaSettings, JobConfig, MAX_JITTER_MS,
    MAX_SHARDING_TOTAL_COUNT, MaxTimeDiff,
};
pub use job_event::{ClockDifference, DropReason, JobEvent, MissReason, Outage};
pub use latch::Latch;
pub use layout::{
    ConfigError, DialectSign, Layout, NodeKind, RUNTIME_INDEX, Removal, StrayNode, decode_config,
    decode_ledger, dialect_of_config, encode_config, push_java_json,
};
pub use ledger::{
    Claimant, FireRange, Ledger, LedgerState, ManualRequest, Outcome, Run, RunSource,
};
pub use local::Phase;
pub use once::{OnceCall, OnceStage};
pub use operator::OperatorStep;
pub use request_parameter::{
    InvalidParameter, MAX_REQUEST_PARAMETER_BYTES, MAX_TOLD_BYTES, RequestParameter,
};
pub use shortened::{MAX_SHOWN_BYTES, shortened};
pub use template::{Label, MAX_TEMPLATE_NAME_BYTES, TemplateName, TemplateRecord, decode_template};
pub use view::{Anomaly, ConfigCheck, ConfigState, JobView, ServerState, Versioned};
