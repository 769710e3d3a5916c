//! Audit records, the newest first.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::Query;
use axum::response::Response;
use operations::{JobSnapshot, Recorded};

use super::paging::{Page, Paging};
use super::place::Live;
use super::{PageQuery, scan};
use crate::problem::Answer;

/// Time, job and id of a record.
type RecordKey = (Reverse<i64>, String, String);

/// Lists the audited changes of a job, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/audit",
    params(PageQuery),
    responses((status = 200, description = "A page of audit records", body = Page<Recorded>)),
)]
pub(super) async fn list_job_audit(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.nodes()?);
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(fresh.answer(page(&paging, std::iter::once(job))))
}

/// Lists the audited changes of all jobs, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/audit",
    params(PageQuery),
    responses((status = 200, description = "A page of audit records", body = Page<Recorded>)),
)]
pub(super) async fn list_audit(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let (fresh, jobs) = (live.fresh(), live.namespace.live.jobs());
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(fresh.answer(scan(move || page(&paging, jobs.into_iter())).await?))
}

fn page(
    paging: &Paging<RecordKey>,
    jobs: impl Iterator<Item = Arc<JobSnapshot>>,
) -> Page<Recorded> {
    let jobs: Vec<_> = jobs.collect();
    let rows = jobs.iter().flat_map(|job| {
        job.audit().map(move |record| {
            let key = (Reverse(record.at_ms), job.job().to_string(), record.id.clone());
            (key, (job, record))
        })
    });
    paging
        .select(rows)
        .map(|(job, record)| Recorded { job: job.job().to_string(), record: record.clone() })
}
