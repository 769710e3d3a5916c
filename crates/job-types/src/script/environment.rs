//! The context of a run as variables of the environment.

use std::env;
use std::ffi::OsString;

use jiff::Timestamp;
use lite::ShardingContext;

/// Returns the variables of this process that configure the worker itself; they may hold its
/// credentials.
pub(super) fn worker_variables() -> impl Iterator<Item = OsString> {
    env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.as_encoded_bytes().starts_with(b"EJOB_"))
}

/// Returns the variables of the context, in the order of the table in [`Script`](super::Script). A
/// variable with the value `None` is removed from the environment.
pub(super) fn variables(context: &ShardingContext) -> [(&'static str, Option<String>); 17] {
    [
        ("EJOB_JOB_NAME", Some(context.job_name().to_string())),
        ("EJOB_TASK_ID", Some(context.task_id())),
        ("EJOB_SHARDING_TOTAL_COUNT", Some(context.sharding_total_count().to_string())),
        ("EJOB_JOB_PARAMETER", Some(context.job_parameter().to_owned())),
        ("EJOB_REQUEST_PARAMETER", context.request_parameter().map(str::to_owned)),
        ("EJOB_SHARDING_ITEM", Some(context.item().to_string())),
        ("EJOB_SLOT", Some(context.slot().to_string())),
        ("EJOB_SHARDING_PARAMETER", context.parameter().map(str::to_owned)),
        ("EJOB_FIRE_TIME", Some(context.fire_time().to_string())),
        ("EJOB_FIRST_FIRE_TIME", first_fire(context).map(|first| first.to_string())),
        ("EJOB_FIRE_COUNT", Some(context.merged().map_or(1, |merged| merged.count).to_string())),
        ("EJOB_SOURCE", Some(context.source().to_string())),
        ("EJOB_INSTANCE", Some(context.instance().to_string())),
        ("EJOB_FENCING_TOKEN", Some(context.fencing_token().to_string())),
        ("EJOB_IDEMPOTENCY_KEY", Some(context.idempotency_key())),
        ("EJOB_EXECUTION_ID", Some(context.execution_id())),
        ("EJOB_ATTEMPT", Some(context.attempt().to_string())),
    ]
}

/// Returns the time of the first fire that the run stands for; `None` if it stands for one fire.
fn first_fire(context: &ShardingContext) -> Option<Timestamp> {
    Timestamp::from_millisecond(context.merged()?.first.0).ok()
}
