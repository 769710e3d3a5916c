//! Jobs, as the read model shows them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use coordination::JobName;
use operations::{JobBrief, job_brief, job_briefs};

use crate::namespaces::Namespaces;
use crate::problem::{Answer, Problem};

/// Lists the jobs of a namespace.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs",
    params(("namespace" = String, Path, description = "Name of the namespace")),
    responses((status = 200, body = Vec<JobBrief>), (status = 404, body = Problem)),
)]
pub(super) async fn list(
    State(namespaces): State<Arc<Namespaces>>,
    Path(namespace): Path<String>,
) -> Answer<Json<Vec<JobBrief>>> {
    let jobs = namespaces.get(&namespace)?.live.jobs();
    Ok(Json(job_briefs(jobs.iter().map(|job| &**job))))
}

/// Returns one job.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}",
    params(
        ("namespace" = String, Path, description = "Name of the namespace"),
        ("job" = String, Path, description = "Name of the job"),
    ),
    responses((status = 200, body = JobBrief), (status = 404, body = Problem)),
)]
pub(super) async fn one(
    State(namespaces): State<Arc<Namespaces>>,
    Path((namespace, job)): Path<(String, String)>,
) -> Answer<Json<JobBrief>> {
    let job = JobName::new(&job).map_err(operations::Error::from)?;
    let job = namespaces.get(&namespace)?.job(&job)?;
    Ok(Json(job_brief(&job)))
}
