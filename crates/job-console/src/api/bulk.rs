//! One action on all jobs that match a filter, after a dry run.

use axum::response::Response;
use jiff::Timestamp;
use operations::{Entry, JobAction, JobSnapshot, Report};
use serde::{Deserialize, Serialize};

use super::change::{Changed, Intent, changed};
use super::input::Body;
use super::jobs::JobFilter;
use super::place::Live;
use super::scan;
use crate::bulk::{Bulk, check_digest};
use crate::problem::Answer;

/// Maximum number of shown targets of a job in a dry run.
const MAX_TARGETS: usize = 20;

/// An action on all jobs that match a filter.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkRequest {
    /// Condition for the jobs. An empty filter matches all jobs.
    filter: JobFilter,
    /// True to change nothing, and to return the jobs with a digest: the same as the query
    /// parameter `dry_run`.
    #[serde(default)]
    dry_run: bool,
    /// Digest of the dry run; required unless it is a dry run.
    digest: Option<String>,
    /// Reason, recorded with each change; required unless it is a dry run.
    #[schema(min_length = 1, max_length = 512)]
    reason: Option<String>,
}

/// Expected effects on the jobs that match.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct BulkPreview {
    /// The jobs in the order of their names.
    jobs: Vec<JobPreview>,
    /// Digest of the action and the names of the jobs, which the request has to name.
    digest: String,
}

/// Expected effects on one job.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct JobPreview {
    /// Job name.
    job: String,
    /// Why the job would be left alone or fail: the caller may not change it, or the job does not
    /// support the action.
    refused: Option<String>,
    /// Number of targets that would change.
    changes: usize,
    /// The first 20 targets that would change.
    would_change: Vec<Entry>,
    /// Number of targets that would be left alone.
    leaves: usize,
    /// The first 20 targets that would be left alone, with the reason.
    would_leave: Vec<Entry>,
}

/// Answer of an action: the expected effects, or the effects.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum BulkAnswer {
    /// Answer of a dry run.
    Preview(BulkPreview),
    /// Effects of the action.
    Changed(Changed),
}

macro_rules! actions {
    ($($(#[doc = $doc:literal])* $name:ident, $path:tt, $action:ident;)*) => {
        $(
            $(#[doc = $doc])*
            ///
            /// A dry run returns the jobs with a digest. The request has to name this digest, and
            /// fails with 409 if other jobs match by now.
            #[utoipa::path(
                post,
                path = $path,
                request_body = BulkRequest,
                responses(
                    (status = 200, description = "The jobs or the effects", body = BulkAnswer),
                ),
            )]
            pub(super) async fn $name(
                live: Live,
                intent: Intent,
                Body(body): Body<BulkRequest>,
            ) -> Answer<Response> {
                run(JobAction::$action, intent, live, body).await
            }
        )*
    };
}

actions! {
    /// Requests a run of all items of each job that matches.
    run_jobs, "/api/v1/namespaces/{namespace}/bulk/run", Run;
    /// Requests a run of the failed items of each job that matches.
    rerun_failed_of_jobs, "/api/v1/namespaces/{namespace}/bulk/rerun-failed", RerunFailed;
    /// Cancels all unfinished runs of each job that matches.
    cancel_runs_of_jobs, "/api/v1/namespaces/{namespace}/bulk/cancel", Cancel;
    /// Pauses all servers of each job that matches.
    pause_jobs, "/api/v1/namespaces/{namespace}/bulk/pause", Pause;
    /// Resumes the paused servers of each job that matches.
    resume_jobs, "/api/v1/namespaces/{namespace}/bulk/resume", Resume;
    /// Disables all servers of each job that matches.
    disable_jobs, "/api/v1/namespaces/{namespace}/bulk/disable", Disable;
    /// Enables all servers of each job that matches.
    enable_jobs, "/api/v1/namespaces/{namespace}/bulk/enable", Enable;
}

async fn run(action: JobAction, intent: Intent, live: Live, body: BulkRequest) -> Answer<Response> {
    let (matcher, fresh) = (body.filter.matcher()?, live.fresh());
    let jobs = matcher.matching_jobs(&live.namespace.live);
    let intent = intent.or_dry(body.dry_run);
    let bulk = Bulk { action, caller: intent.caller.clone() };
    let digest = bulk.digest(&jobs)?;
    let Some(by) = intent.by(body.reason.as_deref())? else {
        let now = Timestamp::now();
        let preview = move || jobs.iter().map(|job| job_preview(&bulk, job, now)).collect();
        return Ok(fresh.answer(BulkPreview { jobs: scan(preview).await?, digest }));
    };
    check_digest(body.digest.as_deref(), &digest)?;
    Ok(changed(bulk.apply(&live.namespace, jobs, &by).await))
}

fn job_preview(bulk: &Bulk, job: &JobSnapshot, now: Timestamp) -> JobPreview {
    let (report, refused) = match bulk.preview(job, now) {
        Ok(report) => (report, None),
        Err(refused) => (Report::default(), Some(refused)),
    };
    let first = |entries: Vec<Entry>| entries.into_iter().take(MAX_TARGETS).collect();
    JobPreview {
        job: job.job().to_string(),
        refused,
        changes: report.done.len(),
        leaves: report.left.len(),
        would_change: first(report.done),
        would_leave: first(report.left),
    }
}
