//! The outcome of a manual request, which can be read later.

use axum::response::Response;
use operations::{ItemBrief, item_briefs};
use serde::Serialize;

use super::place::Live;
use super::scan;
use crate::problem::{Answer, Problem};
use crate::requests::{Asked, Progress};

/// Outcome of a request of runs, as far as the records show it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RequestOutcome {
    /// Id of the request.
    id: String,
    /// Time of the request by its author's clock, in milliseconds since 1970 UTC.
    at_ms: i64,
    /// Author of the request.
    who: String,
    /// Reason of the request.
    why: String,
    /// Targets as the audit record names them: items, or Java instances that run their items.
    target: String,
    /// Progress of the requested items; empty if Java instances were asked.
    items: Vec<RequestedItem>,
    /// True if the audit record does not name all items, so that some are missing.
    incomplete: bool,
}

/// Progress of one requested item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct RequestedItem {
    /// Item number.
    item: u32,
    /// Progress of the request.
    progress: Progress,
    /// Instance that runs the item; null if none does.
    runs_on: Option<String>,
    /// Outcome of the last run; null before one has ended, and while the item runs or waits.
    outcome: Option<String>,
    /// Reason of the failure; null if the item did not fail.
    failure: Option<String>,
}

impl RequestedItem {
    fn of((progress, item): &(Progress, &ItemBrief)) -> Self {
        let is_over = matches!(progress, Progress::Failed | Progress::Succeeded);
        Self {
            item: item.item,
            progress: *progress,
            runs_on: item.runs_on.clone(),
            outcome: item.outcome.filter(|_| is_over).map(str::to_owned),
            failure: item.failure.clone().filter(|_| *progress == Progress::Failed),
        }
    }
}

/// Returns the outcome of a request of runs.
///
/// The last run of an item replaces its outcome, and a job keeps its last 32 changes. So the
/// outcome has to be read before later runs and changes.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/requests/{request}",
    responses((status = 200, description = "The outcome", body = RequestOutcome)),
)]
pub(super) async fn get_request(live: Live) -> Answer<Response> {
    let (fresh, job, id) = (live.fresh(), live.snapshot()?, live.request().to_owned());
    let name = job.job().clone();
    let found = scan(move || {
        let record = job.audit().find(|record| record.id == id && record.act == "trigger")?;
        let briefs = item_briefs(&job);
        let asked = Asked::of(&job, &briefs, record);
        let mut items: Vec<_> = asked.items.iter().map(RequestedItem::of).collect();
        items.sort_by_key(|item| item.item);
        Some(RequestOutcome {
            id,
            at_ms: record.at_ms,
            who: record.who.clone(),
            why: record.why.clone(),
            target: record.target.clone(),
            items,
            incomplete: asked.is_cut,
        })
    });
    let found = found.await?.ok_or_else(|| {
        let detail = format!(
            "job {name} has no record of the request {:?}: it keeps its last 32 changes",
            live.request()
        );
        Problem::not_found("no-such-request", detail)
    })?;
    Ok(fresh.answer(found))
}
