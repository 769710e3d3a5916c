//! The context of a run as variables of the environment.

use lite::ShardingContext;

/// The variables that a script finds, in the order of the table in [`Script`](super::Script); `None` is taken out of the
/// environment.
pub(super) fn variables(context: &ShardingContext) -> [(&'static str, Option<String>); 14] {
    [
        ("EJOB_JOB_NAME", Some(context.job_name().to_string())),
        ("EJOB_TASK_ID", Some(context.task_id())),
        ("EJOB_SHARDING_TOTAL_COUNT", Some(context.sharding_total_count().to_string())),
        ("EJOB_JOB_PARAMETER", Some(context.job_parameter().to_owned())),
        ("EJOB_REQUEST_PARAMETER", context.request_parameter().map(str::to_owned)),
        ("EJOB_SHARDING_ITEM", Some(context.item().to_string())),
        ("EJOB_SHARDING_PARAMETER", context.parameter().map(str::to_owned)),
        ("EJOB_FIRE_TIME", Some(context.fire_time().to_string())),
        ("EJOB_SOURCE", Some(context.source().to_string())),
        ("EJOB_INSTANCE", Some(context.instance().to_string())),
        ("EJOB_FENCING_TOKEN", Some(context.fencing_token().to_string())),
        ("EJOB_IDEMPOTENCY_KEY", Some(context.idempotency_key())),
        ("EJOB_EXECUTION_ID", Some(context.execution_id())),
        ("EJOB_ATTEMPT", Some(context.attempt().to_string())),
    ]
}
