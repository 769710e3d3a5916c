//! Backfills: past fires that items run again.

use std::collections::BTreeSet;

use axum::response::Response;
use jiff::Timestamp;
use operations::{BackfillProgress, BackfillRequest, Report};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, answer, changed};
use super::change_jobs::items;
use super::input::Body;
use super::place::{Live, Place};
use crate::problem::Answer;

/// Past fires to run again.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "from": "2024-02-01T00:00:00Z",
    "to": "2024-02-08T00:00:00Z",
    "concurrency": 2,
    "reason": "wrong exchange rates",
}))]
pub(super) struct BackfillBody {
    /// Start of the period.
    #[schema(value_type = String, format = DateTime, example = "2024-02-01T00:00:00Z")]
    from: Timestamp,
    /// Exclusive end of the period, not in the future.
    #[schema(value_type = String, format = DateTime, example = "2024-02-08T00:00:00Z")]
    to: Timestamp,
    /// Items to run; absent for all items.
    #[schema(min_items = 1, example = json!([0, 3]))]
    items: Option<BTreeSet<u32>>,
    /// Number of fires that may be in progress at once.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 16, default = 1)]
    concurrency: usize,
    /// True to change nothing, and to return the expected effects: the same as the query parameter
    /// `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

fn one() -> usize {
    1
}

/// Cancellation of a backfill.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BackfillCancelBody {
    /// True to change nothing, and to return the expected effects: the same as the query parameter
    /// `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Effects of a request for a backfill.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct BackfillRequested {
    /// Changed, left and failed targets, and the audit records.
    report: Report,
    /// Id of the backfill; null for a dry run, and if the period has no fires.
    id: Option<String>,
    /// The fires; null unless it is a dry run.
    #[schema(value_type = Option<Vec<String>>)]
    fires: Option<Vec<Timestamp>>,
    /// Reason why the fires may not be those of the instances, such as a job without a time zone;
    /// null unless it is a dry run.
    #[schema(value_type = Option<String>)]
    warning: Option<&'static str>,
}

/// Lists the backfill in progress and the last ended ones, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/backfills",
    responses((status = 200, description = "The backfills", body = Vec<BackfillProgress>)),
)]
pub(super) async fn list_backfills(live: Live) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.nodes()?);
    let backfills: Vec<_> = job.backfills().rev().collect();
    Ok(fresh.answer(backfills))
}

/// Runs past fires of the schedule again: each item in order, beside the scheduled fires.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/backfills",
    request_body = BackfillBody,
    responses((status = 200, description = "The effects", body = BackfillRequested)),
)]
pub(super) async fn request_backfill(
    place: Place,
    intent: Intent,
    Body(body): Body<BackfillBody>,
) -> Answer<Response> {
    let (job, operations) = (place.job()?, &place.namespace.operations);
    let of = body.items.map(items).transpose()?;
    let request = BackfillRequest::new(body.from, body.to).items(of).concurrency(body.concurrency);
    let Some(by) = intent.or_dry(body.dry_run).by(body.reason.as_deref())? else {
        let preview = operations.preview_backfill(&job, &request).await?;
        let (report, fires, warning) = (preview.report, Some(preview.fires), preview.warning);
        return Ok(answer(false, BackfillRequested { report, id: None, fires, warning }));
    };
    let requested = operations.backfill(&job, &request, &by).await?;
    let (report, id) = (requested.report, requested.id);
    let (fires, warning) = (None, None);
    Ok(answer(!report.failed.is_empty(), BackfillRequested { report, id, fires, warning }))
}

/// Cancels a backfill: no item gets a further fire. Runs in progress go on.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/backfills/{backfill}/cancel",
    request_body = BackfillCancelBody,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn cancel_backfill(
    place: Place,
    intent: Intent,
    Body(body): Body<BackfillCancelBody>,
) -> Answer<Response> {
    let (job, backfill) = (place.job()?, place.backfill());
    let operations = &place.namespace.operations;
    let Some(by) = intent.or_dry(body.dry_run).by(body.reason.as_deref())? else {
        return Ok(changed(operations.preview_cancel_backfill(&job, backfill).await?));
    };
    Ok(changed(operations.cancel_backfill(&job, backfill, &by).await?))
}
