#![doc = include_str!("../README.md")]

mod act;
mod attention;
mod audit;
mod change;
mod config_fields;
mod config_periods;
mod doctor;
mod error;
mod fires;
mod groups;
mod held;
mod item_list;
mod live;
mod nodes;
mod operations;
mod plan;
mod reader;
#[cfg(feature = "openapi")]
mod schemas;
mod slots;
mod snapshot;
mod statistics;
mod tally;
mod transfer;
mod validate;
mod watch;
mod what_if;
mod why;
mod wildcard;

pub use act::{
    BackfillPreview, BackfillProgress, BackfillRequest, BackfillState, Change, DrainMode, Drained,
    DrainedJob, DrainedServer, FieldChange, ItemRun, JobAction, Removal, RemovalPreview,
    RequestedBackfill, RequestedRun, RunsToCancel, Scope, StoredConfig, Triggered, Updated,
    differences, preview, removal_preview,
};
pub use attention::{
    Attention, DueFire, LATE_GRACE_MS, RESHARDING_GRACE_MS, attention, due_fire, first_due_fire,
    late_fires, lateness_ms,
};
pub use audit::{AuditTargets, audited_changes};
pub use change::{By, Entry, Recorded, Report};
pub use config_fields::ConfigField;
pub use config_periods::{ConfigPeriod, config_periods};
pub use doctor::{Finding, FindingCode, Fix, Severity, diagnose, diagnose_all, diagnose_groups};
pub use error::{Error, Result};
pub use fires::{
    Exclusion, FireNeed, MAX_FIRES, delay_description, exclusion_at, fire_need, next_fires,
};
pub use groups::{GroupChange, GroupSnapshot, permit_holders};
pub use item_list::{item_ranges, parse_items};
pub use live::{Freshness, JobLine, JobList, LiveNamespace, RunningItem, Totals, Update, Updates};
pub use operations::Operations;
pub use plan::{MovePlan, PlannedItem, PlannedMove, plan_moves};
pub use reader::{Namespace, ReadBounds};
pub use snapshot::JobSnapshot;
pub use statistics::{
    CountsBrief, ItemBrief, ItemState, JobBrief, JobState, ProgressBrief, ServerBrief, ServerJob,
    item_brief, item_briefs, job_brief, job_brief_since, job_briefs, job_state, jobs_of_server,
    server_briefs, slot_briefs, slots_shown,
};
pub use transfer::{
    ApplyPlan, Converted, Export, ExportError, ExportedGroup, ExportedJob, ExportedTemplate,
    ImportAct, ImportStep, Importable, Owner, convert_version_1, export, groups_of, plan_apply,
    plan_group_import, plan_import,
};
pub use validate::{schedule_of, validate, zone_caveat};
pub use what_if::{MAX_WHAT_IF_ENTRIES, PlanError, WhatIf, WhatIfPart};
pub use why::{
    WhyNot, reached_limits, why_item_not_running, why_item_not_running_in, why_not_running,
    why_not_running_in,
};
pub use wildcard::{ServerPattern, matches_pattern};

/// Compiles and runs the programs of the page about jobs created at run time.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/runtime-jobs.md")]
struct RuntimeJobs;
