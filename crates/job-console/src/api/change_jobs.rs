//! Changes of jobs and items: requests of runs, disabled items, and removal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use coordination::{MAX_SHARDING_TOTAL_COUNT, RequestParameter};
use operations::{
    Change, ItemRun, Operations, Removal, RemovalPreview, Report, Scope, Triggered, removal_preview,
};
use serde::{Deserialize, Serialize};
use sharding::ShardingItem;

use super::change::{Changed, Intent, answer, changed, wait};
use super::input::Body;
use super::place::{Live, Place};
use crate::audit_copy;
use crate::problem::{Answer, Problem};

/// A request of runs.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRequest {
    /// Items to run; absent for all items.
    #[schema(min_items = 1, example = json!([0, 3]))]
    items: Option<BTreeSet<u32>>,
    /// Parameter of the runs. It stays readable in the registry until they have ended.
    #[schema(example = "2024-02")]
    parameter: Option<String>,
    /// Maximum wait until the runs have ended, in seconds; the answer has their states then.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 600, default = 0)]
    wait_seconds: u64,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// A request of runs of the failed items.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RerunRequest {
    /// Maximum wait until the runs have ended, in seconds; the answer has their states then.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 600, default = 0)]
    wait_seconds: u64,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Effects of a request of runs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Requested {
    /// Changed, left and failed targets, and the audit records.
    report: Report,
    /// The request in the registry; null if its outcome cannot be followed.
    request: Option<RunRequested>,
    /// State of each requested item after the wait; null without a wait, without a request, and if
    /// the states could not be read.
    runs: Option<BTreeMap<u32, ItemRun>>,
}

/// A request of runs in the registry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct RunRequested {
    /// Id of the request.
    id: String,
    /// Scheduled fire time that identifies its runs, in milliseconds since 1970 UTC.
    fire_ms: i64,
    /// Requested items.
    items: Vec<u32>,
}

/// Waits for the runs of a request, and answers with its effects.
async fn requested(operations: &Operations, triggered: Triggered, wait: Duration) -> Response {
    let Triggered { report, request, .. } = triggered;
    let runs = match &request {
        Some(request) if !wait.is_zero() => match operations.outcome(request, wait).await {
            Ok(runs) => Some(runs),
            // The request is made, so that an error would be the wrong answer.
            Err(error) => {
                tracing::warn!(job = %request.job, %error, "the runs of a request are not known");
                None
            }
        },
        Some(_) | None => None,
    };
    let request = request.map(|request| RunRequested {
        id: request.id,
        fire_ms: request.at.0,
        items: request.items.keys().map(|item| item.index()).collect(),
    });
    answer(!report.failed.is_empty(), Requested { report, request, runs })
}

/// Answers a dry run, which makes no request.
fn planned_run(report: Report) -> Response {
    answer(false, Requested { report, request: None, runs: None })
}

/// Requests a run of some items or of all, now. The schedule is not affected.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/run",
    request_body = RunRequest,
    responses((status = 200, description = "The effects and the request", body = Requested)),
)]
pub(super) async fn run_job(
    place: Place,
    intent: Intent,
    Body(body): Body<RunRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (job, wait) = (place.job()?, wait(body.wait_seconds)?);
    let items = body.items.map(items).transpose()?;
    let parameter = body.parameter.as_deref().map(RequestParameter::new).transpose();
    let parameter = parameter.map_err(|error| {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Problem::new(status, "invalid-parameter", error.to_string())
    })?;
    let operations = &place.namespace.operations;
    let Some(by) = by else {
        let planned = operations.preview_trigger(&job, items.as_ref(), parameter.as_ref());
        return Ok(planned_run(planned.await?));
    };
    let triggered = match parameter {
        None => operations.trigger(&job, items.as_ref(), &by).await?,
        Some(parameter) => operations.trigger_with(&job, items.as_ref(), &parameter, &by).await?,
    };
    Ok(requested(operations, triggered, wait).await)
}

/// Requests a run of all items whose last run failed, timed out, panicked or was interrupted.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/rerun-failed",
    request_body = RerunRequest,
    responses((status = 200, description = "The effects and the request", body = Requested)),
)]
pub(super) async fn rerun_failed(
    place: Place,
    intent: Intent,
    Body(body): Body<RerunRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (job, wait) = (place.job()?, wait(body.wait_seconds)?);
    let operations = &place.namespace.operations;
    let Some(by) = by else {
        let scope = Scope::of_job(job);
        return Ok(planned_run(operations.preview(&scope, &Change::RerunFailed).await?));
    };
    let triggered = operations.rerun_failed(&job, &by).await?;
    Ok(requested(operations, triggered, wait).await)
}

/// Items to change.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemsRequest {
    /// Item numbers.
    #[schema(min_items = 1, example = json!([0, 3]))]
    items: BTreeSet<u32>,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

pub(super) fn items(numbers: BTreeSet<u32>) -> Answer<BTreeSet<ShardingItem>> {
    let max = MAX_SHARDING_TOTAL_COUNT - 1;
    let is_valid = numbers.last().is_some_and(|last| *last <= max);
    if is_valid {
        return Ok(numbers.into_iter().map(ShardingItem::new).collect());
    }
    let found = numbers.last().map_or("empty".to_owned(), |last| format!("a list with {last}"));
    Err(Problem::invalid(format!(
        "items is {found}; valid are one or more numbers from 0 to {max}"
    )))
}

/// Disables items of a job: they start nothing. Present runs go on.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items/disable",
    request_body = ItemsRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn disable_items(
    place: Place,
    intent: Intent,
    Body(body): Body<ItemsRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (job, items) = (place.job()?, items(body.items)?);
    let operations = &place.namespace.operations;
    let report = match by {
        Some(by) => operations.disable_items(&job, &items, &by).await?,
        None => operations.preview(&Scope::of_job(job), &Change::DisableItems(items)).await?,
    };
    Ok(changed(report))
}

/// Enables items of a job again.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items/enable",
    request_body = ItemsRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn enable_items(
    place: Place,
    intent: Intent,
    Body(body): Body<ItemsRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (job, items) = (place.job()?, items(body.items)?);
    let operations = &place.namespace.operations;
    let report = match by {
        Some(by) => operations.enable_items(&job, &items, &by).await?,
        None => operations.preview(&Scope::of_job(job), &Change::EnableItems(items)).await?,
    };
    Ok(changed(report))
}

/// Shows the effect of a removal, and the text that confirms it.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/removal",
    responses((status = 200, description = "The effect", body = RemovalPreview)),
)]
pub(super) async fn preview_removal(live: Live) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.nodes()?);
    Ok(fresh.answer(removal_preview(&job)?))
}

/// A confirmed removal.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RemovalRequest {
    /// Confirmation of the preview, or the name of the job.
    #[schema(example = "report@r17")]
    confirmation: String,
    /// True to ask live instances to leave. Otherwise they prevent the removal.
    #[serde(default)]
    even_if_alive: bool,
    /// Reason. It is returned and logged, but not stored, because the nodes of the job are gone.
    /// Required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Removes a job with everything that is stored of it.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/removal",
    request_body = RemovalRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn remove_job(
    place: Place,
    intent: Intent,
    Body(body): Body<RemovalRequest>,
) -> Answer<Response> {
    let (by, job) = (intent.by(body.reason.as_deref())?, place.job()?);
    let how = if body.even_if_alive { Removal::EvenIfAlive } else { Removal::UnlessAlive };
    let operations = &place.namespace.operations;
    let Some(by) = by else {
        let report = operations.preview_remove_job(&job, &body.confirmation, how).await?;
        return Ok(changed(report));
    };
    let report = operations.remove_job(&job, &body.confirmation, how, &by).await?;
    audit_copy::remember(&place.namespace, &report).await;
    Ok(changed(report))
}
