//! Audit records, the newest first.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::response::Response;
use coordination::{AuditRecord, AuditSubject};
use operations::{GroupSnapshot, JobSnapshot, audited_changes};
use serde::Serialize;

use super::input::Query;
use super::paging::{Page, Paging};
use super::place::Live;
use super::{PageQuery, scan};
use crate::problem::Answer;

/// Time, job, group and id of a record.
type RecordKey = (Reverse<i64>, Option<String>, Option<String>, String);

/// An audited change of a job, or of a group of jobs.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AuditDetail {
    /// Job name; null for a change of a group.
    job: Option<String>,
    /// Group name; null for a change of a job.
    group: Option<String>,
    /// Identity of the change, unique within the job or the group.
    id: String,
    /// Time of the change by the operator's clock, in milliseconds since 1970 UTC.
    at_ms: i64,
    /// Author.
    who: String,
    /// Reason.
    why: String,
    /// Operator action as a word, such as `disable` or `set group`.
    act: String,
    /// Servers, instances or items that were changed, as text; for a group, its name or a node.
    target: String,
    /// Effect on the targets, with the old and the new value of each changed field; masked where a
    /// value may be a secret. Empty in records of earlier versions.
    what: String,
}

impl AuditDetail {
    pub(super) fn of(subject: &AuditSubject, record: AuditRecord) -> Self {
        let (job, group) = names(subject);
        let AuditRecord { id, at_ms, who, why, act, target, what } = record;
        Self { job, group, id, at_ms, who, why, act, target, what }
    }
}

/// Returns the name of the job, and that of the group: one of them is `None`.
fn names(subject: &AuditSubject) -> (Option<String>, Option<String>) {
    match subject {
        AuditSubject::Job(job) => (Some(job.to_string()), None),
        AuditSubject::Group(group) => (None, Some(group.to_string())),
    }
}

/// Lists the audited changes of a job, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/audit",
    params(PageQuery),
    responses((status = 200, description = "A page of audit records", body = Page<AuditDetail>)),
)]
pub(super) async fn list_job_audit(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let (fresh, job) = (live.fresh(), live.nodes()?);
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(fresh.answer(page(&paging, &[job], &[])))
}

/// Lists the audited changes of all jobs and groups, the newest first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/audit",
    params(PageQuery),
    responses((status = 200, description = "A page of audit records", body = Page<AuditDetail>)),
)]
pub(super) async fn list_audit(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let fresh = live.fresh();
    let (jobs, groups) = (live.namespace.live.jobs(), live.namespace.live.groups());
    let paging = Paging::new(query.limit, query.cursor.as_deref())?;
    Ok(fresh.answer(scan(move || page(&paging, &jobs, &groups)).await?))
}

fn page(
    paging: &Paging<RecordKey>,
    jobs: &[Arc<JobSnapshot>],
    groups: &[Arc<GroupSnapshot>],
) -> Page<AuditDetail> {
    let records = audited_changes(jobs.iter().map(|job| &**job), groups.iter().map(|it| &**it));
    let rows = records.map(|(subject, record)| {
        let (job, group) = names(&subject);
        ((Reverse(record.at_ms), job, group, record.id.clone()), (subject, record))
    });
    paging.select(rows).map(|(subject, record)| AuditDetail::of(&subject, record.clone()))
}
