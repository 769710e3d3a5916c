//! Findings of the diagnosis, and their repair.

use std::sync::Arc;

use axum::Json;
use axum::extract::Query;
use axum::response::Response;
use jiff::Timestamp;
use operations::{Finding, JobSnapshot, Severity, diagnose};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, changed};
use super::paging::{Page, Paging};
use super::place::{Live, Place};
use super::scan;
use crate::findings::finding;
use crate::problem::Answer;

/// Condition and page of a list of findings.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FindingsQuery {
    /// Lowest severity; the default is `info`.
    #[param(value_type = Option<Severity>)]
    least: Option<Least>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Least {
    Info,
    Warning,
    Error,
}

impl From<Least> for Severity {
    fn from(least: Least) -> Self {
        match least {
            Least::Info => Self::Info,
            Least::Warning => Self::Warning,
            Least::Error => Self::Error,
        }
    }
}

/// Job, and number of the finding within the job.
type FindingKey = (String, usize);

/// Examines one job, which may be nodes without a configuration.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/findings",
    params(FindingsQuery),
    responses((status = 200, description = "A page of findings", body = Page<Finding>)),
)]
pub(super) async fn examine_job(
    live: Live,
    Query(query): Query<FindingsQuery>,
) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.nodes()?);
    let now = live.namespace.operations.present();
    Ok(fresh.answer(examine(vec![job], query, now).await?))
}

/// Examines all jobs of a namespace.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/findings",
    params(FindingsQuery),
    responses((status = 200, description = "A page of findings", body = Page<Finding>)),
)]
pub(super) async fn examine_all(
    live: Live,
    Query(query): Query<FindingsQuery>,
) -> Answer<Response> {
    let (fresh, jobs) = (live.fresh(), live.namespace.live.jobs());
    let now = live.namespace.operations.present();
    Ok(fresh.answer(examine(jobs, query, now).await?))
}

async fn examine(
    jobs: Vec<Arc<JobSnapshot>>,
    query: FindingsQuery,
    now: Timestamp,
) -> Answer<Page<Finding>> {
    let paging = Paging::<FindingKey>::new(query.limit, query.cursor.as_deref())?;
    let least = query.least.map_or(Severity::Info, Severity::from);
    scan(move || {
        let is_open = |job: &&Arc<JobSnapshot>| {
            let after = paging.after.as_ref();
            after.is_none_or(|(after, _)| job.job().as_str() >= after.as_str())
        };
        let rows = jobs.iter().filter(is_open).flat_map(|job| {
            let findings = diagnose(job, None, now).into_iter().enumerate();
            findings.map(|(n, finding)| ((job.job().to_string(), n), finding))
        });
        paging.select_sorted(rows.filter(|(_, finding)| finding.severity >= least))
    })
    .await
}

/// A finding to repair.
#[derive(Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RepairRequest {
    /// Code of the finding.
    #[schema(example = "ghost-instance")]
    code: String,
    /// Node of the finding, if it has one.
    node: Option<String>,
    /// Reason, recorded with the change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Repairs one finding of a job, identified by its code and node in the present diagnosis.
///
/// If the node has changed since the diagnosis, the finding is left alone.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/findings/repair",
    request_body = RepairRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn repair_finding(
    place: Place,
    intent: Intent,
    Json(body): Json<RepairRequest>,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let job = place.nodes()?;
    let operations = &place.namespace.operations;
    let of_time = |now| finding(&job, &body.code, body.node.as_deref(), now);
    let report = match by {
        Some(by) => {
            let finding = of_time(operations.registry_now(Some(&job)).await)?;
            operations.fix(&finding, &by).await?
        }
        // Reading the registry's clock may write a node.
        None => operations.preview_fix(&of_time(operations.present())?).await?,
    };
    Ok(changed(report))
}
