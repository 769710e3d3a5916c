//! Findings of the diagnosis, and their repair.

use std::sync::Arc;

use axum::response::Response;
use operations::{Finding, Severity, diagnose};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, changed};
use super::input::{Body, Query};
use super::paging::{Page, Paging};
use super::place::{Live, Place};
use super::scan;
use crate::findings::{Subject, finding, of_job};
use crate::problem::{Answer, Problem};

/// Condition and page of a list of findings.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FindingsQuery {
    /// Lowest severity; the default is `info`.
    #[param(value_type = Option<Severity>)]
    least: Option<String>,
    /// Maximum number of rows.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `next` in the page before.
    cursor: Option<String>,
}

fn severity(word: &str) -> Answer<Severity> {
    match word {
        "info" => Ok(Severity::Info),
        "warning" => Ok(Severity::Warning),
        "error" => Ok(Severity::Error),
        _ => {
            let detail = format!("least is {word:?}; valid is one of info, warning, error");
            Err(Problem::invalid(detail))
        }
    }
}

/// Job that was examined, and number of the finding within it. Findings about groups come first:
/// they have an empty text, which is no job's name.
type FindingKey = (String, usize);

/// Examines one job and the limits of its group. The job may be nodes without a configuration.
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
    let (fresh, job, namespace) = (live.fresh(), live.nodes()?, Arc::clone(&live.namespace));
    let found = move |_: &str| {
        let now = namespace.operations.present();
        numbered(job.job().to_string(), of_job(&namespace.live, &job, now))
    };
    Ok(fresh.answer(examine(query, found).await?))
}

/// Examines all groups and all jobs of a namespace.
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
    let (fresh, namespace) = (live.fresh(), Arc::clone(&live.namespace));
    let found = move |from: &str| {
        let (groups, jobs) = (namespace.live.diagnose_groups(), namespace.live.jobs());
        let (now, from) = (namespace.operations.present(), from.to_owned());
        let of_jobs = jobs.into_iter().filter(move |job| job.job().as_str() >= from.as_str());
        let of_jobs =
            of_jobs.flat_map(move |job| numbered(job.job().to_string(), diagnose(&job, None, now)));
        numbered(String::new(), groups).chain(of_jobs)
    };
    Ok(fresh.answer(examine(query, found).await?))
}

fn numbered(
    subject: String,
    found: impl IntoIterator<Item = Finding>,
) -> impl Iterator<Item = (FindingKey, Finding)> {
    let found = found.into_iter().enumerate();
    found.map(move |(n, finding)| ((subject.clone(), n), finding))
}

/// Returns a page of findings. `found` returns them in ascending order of their keys, and can leave
/// out those of the subjects before the given one.
async fn examine<F: Iterator<Item = (FindingKey, Finding)>>(
    query: FindingsQuery,
    found: impl FnOnce(&str) -> F + Send + 'static,
) -> Answer<Page<Finding>> {
    let paging = Paging::<FindingKey>::new(query.limit, query.cursor.as_deref())?;
    let least = query.least.as_deref().map_or(Ok(Severity::Info), severity)?;
    scan(move || {
        let from = paging.after.as_ref().map_or("", |(subject, _)| subject);
        let rows = found(from).filter(|(_, finding)| finding.severity >= least);
        paging.select_sorted(rows)
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
/// If the node has changed since the diagnosis, the finding is left alone. A finding with a `group`
/// is repaired by the route of that group.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/findings/repair",
    request_body = RepairRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn repair_finding(
    place: Place,
    intent: Intent,
    Body(body): Body<RepairRequest>,
) -> Answer<Response> {
    let subject = Subject::Job(place.nodes()?);
    repair(&place, &intent, &body, &subject).await
}

/// Repairs one finding of a group, identified by its code and node in the present diagnosis.
///
/// If the node has changed since the diagnosis, the finding is left alone. The repair is recorded
/// among the changes of the group.
#[utoipa::path(
    post,
    path = "/api/v1/namespaces/{namespace}/groups/{group}/findings/repair",
    request_body = RepairRequest,
    responses((status = 200, description = "The effects", body = Changed)),
)]
pub(super) async fn repair_finding_of_group(
    place: Place,
    intent: Intent,
    Body(body): Body<RepairRequest>,
) -> Answer<Response> {
    let subject = Subject::Group(place.group()?);
    repair(&place, &intent, &body, &subject).await
}

async fn repair(
    place: &Place,
    intent: &Intent,
    body: &RepairRequest,
    subject: &Subject,
) -> Answer<Response> {
    let by = intent.by(body.reason.as_deref())?;
    let (operations, live) = (&place.namespace.operations, &place.namespace.live);
    let named = (body.code.as_str(), body.node.as_deref());
    let of_time = |now| finding(live, subject, named, now);
    let report = match by {
        Some(by) => {
            let job = match subject {
                Subject::Job(job) => Some(&**job),
                Subject::Group(_) => None,
            };
            let finding = of_time(operations.registry_now(job).await)?;
            operations.fix(&finding, &by).await?
        }
        // Reading the registry's clock may write a node.
        None => operations.preview_fix(&of_time(operations.present())?).await?,
    };
    Ok(changed(report))
}
