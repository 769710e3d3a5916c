//! Cancellation of runs.

use std::collections::BTreeSet;

use axum::response::Response;
use coordination::FireTime;
use jiff::Timestamp;
use operations::RunsToCancel;
use serde::Deserialize;

use super::change::{Changed, Intent, changed};
use super::change_jobs::items;
use super::input::Body;
use super::place::Place;
use crate::problem::{Answer, Problem};

/// Runs to cancel. Exactly one of `items`, `fire` and `all` is required.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelRequest {
    /// Items whose runs end.
    #[schema(min_items = 1, example = json!([0, 3]))]
    items: Option<BTreeSet<u32>>,
    /// Scheduled fire time whose runs end; for manual runs, the time of their request.
    #[schema(value_type = Option<String>, format = DateTime)]
    fire: Option<Timestamp>,
    /// True to end all unfinished runs of the job.
    #[serde(default)]
    all: bool,
    /// True to change nothing, and to return the expected effects: the same as the query parameter
    /// `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Reason, recorded with the change and with each run; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

impl CancelRequest {
    fn runs(&self) -> Answer<RunsToCancel> {
        match (&self.items, self.fire, self.all) {
            (Some(numbers), None, false) => Ok(RunsToCancel::OfItems(items(numbers.clone())?)),
            (None, Some(fire), false) => Ok(RunsToCancel::OfFire(FireTime(fire.as_millisecond()))),
            (None, None, true) => Ok(RunsToCancel::All),
            (given_items, given_fire, all) => Err(Problem::invalid(format!(
                "items is {}, fire is {} and all is {all}; valid is exactly one of items, fire and \
                 all = true",
                if given_items.is_some() { "given" } else { "absent" },
                if given_fire.is_some() { "given" } else { "absent" },
            ))),
        }
    }
}

/// Cancels unfinished runs: their code is asked to end, and no instance runs them again.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/cancel",
    request_body = CancelRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn cancel_runs(
    place: Place,
    intent: Intent,
    Body(body): Body<CancelRequest>,
) -> Answer<Response> {
    let (job, which) = (place.job()?, body.runs()?);
    let operations = &place.namespace.operations;
    let Some(by) = intent.or_dry(body.dry_run).by(body.reason.as_deref())? else {
        return Ok(changed(operations.preview_cancel(&job, &which).await?));
    };
    Ok(changed(operations.cancel(&job, &which, &by).await?))
}
