#![doc = include_str!("../README.md")]

mod coordinator;
mod duty;
mod gap;
#[doc(hidden)]
pub mod internals;
mod invariant;
mod java;
mod local;
mod operator;
mod plan;
mod protocol;
mod run_marks;
mod runs;
mod start_gate;
mod view;
mod wire;

pub use coordinator::{Coordinator, Identity, Status};
pub use duty::resharding::PlannedAssignment;
pub use gap::{Gap, ScheduleLookup};
pub use java::settings::{
    Dialect, JavaExecutor, JavaFields, JavaFields2, JavaFields3, JavaJobType, JavaSettings,
};
pub use local::Phase;
pub use operator::OperatorStep;
pub use protocol::audit::{AuditLog, AuditRecord, AuditSubject};
pub use protocol::backfill::{
    Backfill, BackfillCancel, BackfillLog, MAX_BACKFILL_CONCURRENCY, MAX_BACKFILL_FIRES,
};
pub use protocol::cancel_request::CancelRequest;
pub use protocol::command::{CancelItem, Command, InterruptReason, StartItem};
pub use protocol::duty::Duty;
pub use protocol::event::{Event, Reply, Ticket};
pub use protocol::failure_reason::{FailureReason, MAX_FAILURE_REASON_BYTES};
pub use protocol::followed::Following;
pub use protocol::former_configs::{FormerConfig, FormerConfigs};
pub use protocol::group::{GroupLimits, GroupName, GroupPermit, PermitHolder};
pub use protocol::id::{
    FencingToken, FireTime, ID_DELIMITER, InvalidName, JobName, MAX_JOB_NAME_BYTES, ServerIp,
    instance_id, server_of, task_id,
};
pub use protocol::job_config::{
    CatchUp, DEFAULT_MAX_TIME_DIFF_SECONDS, InvalidConfig, JobConfig, MAX_JITTER_MS,
    MAX_SHARDING_TOTAL_COUNT, MaxTimeDiff,
};
pub use protocol::job_event::{
    ClockDifference, DropReason, ItemRanges, JobEvent, MissReason, Outage,
};
pub use protocol::ledger::{
    Backfilled, Claimant, FireRange, Ledger, LedgerState, ManualRequest, Outcome, Run, RunKind,
    RunSource,
};
pub use protocol::now::{LONGEST_SLEEP, Now};
pub use protocol::once::{EndedFire, OnceCall, OnceStage};
pub use protocol::outcome_counts::OutcomeCounts;
pub use protocol::overlap::{MAX_QUEUED_FIRES, Overlap};
pub use protocol::progress::{
    InvalidProgress, MAX_PROGRESS_MESSAGE_BYTES, Progress, ProgressRecord, RunWriter,
};
pub use protocol::request_parameter::{
    InvalidParameter, MAX_REQUEST_BYTES, MAX_REQUEST_PARAMETER_BYTES, RequestParameter,
};
pub use protocol::server_state::ServerState;
pub use protocol::server_ttl::{DEFAULT_SERVER_TTL_SECONDS, MIN_SERVER_TTL_SECONDS, ServerTtl};
pub use protocol::shortened::{MAX_SHOWN_BYTES, shortened};
pub use protocol::slot::{MAX_SLOTS, Slot};
pub use protocol::start_rate::{
    MAX_START_PERIOD_SECONDS, MAX_STARTS_IN_PERIOD, StartLog, StartRate,
};
pub use protocol::template::{Label, MAX_TEMPLATE_NAME_BYTES, TemplateName, TemplateRecord};
pub use protocol::unknown_fields::UnknownFields;
pub use protocol::versioned::Versioned;
pub use protocol::waiting_runs::WaitingRuns;
pub use view::group::{GroupPermitView, GroupView, PlaceInLine};
pub use view::item::ItemView;
pub use view::marks::{MarkHolder, MarksView, RunningMark};
pub use view::permits::PermitView;
pub use view::{Anomaly, ConfigCheck, ConfigState, JobView};
pub use wire::latch::Latch;
pub use wire::{
    ConfigError, DialectSign, FORMAT_VERSION, GroupNode, JOB_GROUPS, Layout, NodeKind,
    RUNTIME_INDEX, RecordError, Removal, RunWriteError, StrayNode, WATCH_STATE, decode_backfills,
    decode_config, decode_group_limits, decode_ledger, decode_progress, decode_template,
    dialect_of_config, encode_config, encode_group_limits, encode_progress, push_java_json,
};
