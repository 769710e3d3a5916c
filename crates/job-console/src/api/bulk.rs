//! One action on all jobs that match a filter, after a dry run.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use operations::{By, Entry, JobAction, JobSnapshot, Report, preview};
use serde::{Deserialize, Serialize};

use super::change::{Changed, by, changed};
use super::jobs::JobFilter;
use super::place::Live;
use super::scan;
use crate::access::{Caller, Permission};
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Maximum number of jobs of one request.
const MAX_JOBS: usize = 10_000;
/// Maximum number of shown targets of a job in a dry run.
const MAX_TARGETS: usize = 20;
/// Number of jobs that are changed at the same time.
const AT_A_TIME: usize = 8;

/// An action on all jobs that match a filter.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct BulkRequest {
    /// Condition for the jobs. An empty filter matches all jobs.
    filter: JobFilter,
    /// True to change nothing, and to return the jobs with a digest.
    #[serde(default)]
    dry_run: bool,
    /// Digest of the dry run; required without `dry_run`.
    digest: Option<String>,
    /// Reason, recorded with each change; required without `dry_run`.
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
    ($($(#[doc = $doc:literal])* $name:ident, $path:tt, $action:ident, $permission:ident;)*) => {
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
                Extension(caller): Extension<Caller>,
                Json(body): Json<BulkRequest>,
            ) -> Answer<Response> {
                Bulk { action: JobAction::$action, permission: Permission::$permission, caller }
                    .run(live, body)
                    .await
            }
        )*
    };
}

actions! {
    /// Requests a run of all items of each job that matches.
    run_jobs, "/api/v1/namespaces/{namespace}/bulk/run", Run, Run;
    /// Requests a run of the failed items of each job that matches.
    rerun_failed_of_jobs, "/api/v1/namespaces/{namespace}/bulk/rerun-failed", RerunFailed, Run;
    /// Pauses all servers of each job that matches.
    pause_jobs, "/api/v1/namespaces/{namespace}/bulk/pause", Pause, Pause;
    /// Resumes the paused servers of each job that matches.
    resume_jobs, "/api/v1/namespaces/{namespace}/bulk/resume", Resume, Pause;
    /// Disables all servers of each job that matches.
    disable_jobs, "/api/v1/namespaces/{namespace}/bulk/disable", Disable, Disable;
    /// Enables all servers of each job that matches.
    enable_jobs, "/api/v1/namespaces/{namespace}/bulk/enable", Enable, Disable;
}

struct Bulk {
    action: JobAction,
    permission: Permission,
    caller: Caller,
}

impl Bulk {
    async fn run(self, live: Live, body: BulkRequest) -> Answer<Response> {
        let (matcher, fresh) = (body.filter.matcher()?, live.fresh());
        let jobs = matcher.matching_jobs(&live.namespace.live);
        if jobs.len() > MAX_JOBS {
            let detail = format!("filter matches {} jobs; valid are up to {MAX_JOBS}", jobs.len());
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too-many-jobs", detail));
        }
        let digest = digest(self.action.as_str(), jobs.iter().map(|job| job.job().to_string()));
        if body.dry_run {
            let preview = scan(move || jobs.iter().map(|job| self.preview(job)).collect());
            return Ok(fresh.answer(BulkPreview { jobs: preview.await?, digest }));
        }
        let by = by(&self.caller, body.reason.as_deref().unwrap_or_default())?;
        check_digest(body.digest.as_deref(), &digest)?;
        Ok(changed(self.apply(&live.namespace, jobs, &by).await))
    }

    fn refusal(&self, job: &JobSnapshot) -> Option<String> {
        let refused = self.caller.check(self.permission, Some(job.job().as_str())).err();
        refused.map(|refused| refused.to_string())
    }

    fn preview(&self, job: &JobSnapshot) -> JobPreview {
        let (report, refused) = match (
            self.refusal(job),
            preview(job, &self.action.change(job.job()), Timestamp::now()),
        ) {
            (None, Ok(report)) => (report, None),
            (None, Err(error)) => (Report::default(), Some(error.to_string())),
            (Some(refused), _) => (Report::default(), Some(refused)),
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

    /// Changes the jobs. If the registry does not answer, the remaining jobs are not tried.
    async fn apply(&self, namespace: &Namespace, jobs: Vec<Arc<JobSnapshot>>, by: &By) -> Report {
        let is_over = AtomicBool::new(false);
        let changes = jobs.into_iter().map(|job| self.change(namespace, job, by, &is_over));
        let mut reports = futures_util::stream::iter(changes).buffered(AT_A_TIME);
        let mut all = Report::default();
        while let Some(report) = reports.next().await {
            all.extend(report);
        }
        all
    }

    async fn change(
        &self,
        namespace: &Namespace,
        job: Arc<JobSnapshot>,
        by: &By,
        is_over: &AtomicBool,
    ) -> Report {
        let (name, mut report) = (job.job(), Report::default());
        if let Some(what) = self.refusal(&job) {
            let (job, target) = (name.to_string(), "job".to_owned());
            report.left.push(Entry { job, target, what, as_wanted: false });
        } else if is_over.load(Ordering::Relaxed) {
            report.skip(name.as_str(), "job");
        } else {
            match namespace.operations.act(name, self.action, by).await {
                Ok(done) => return done,
                Err(error) => {
                    is_over.fetch_or(error.is_unanswered(), Ordering::Relaxed);
                    report.fail(name.as_str(), "job", error);
                }
            }
        }
        report
    }
}

/// Returns the digest of a plan: of its name and its lines, in their order.
///
/// It detects changes between a dry run and its request. It is no protection against forgery,
/// because each request is checked in full. It is the same in each process of this program.
pub(super) fn digest(name: &str, lines: impl Iterator<Item = String>) -> String {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    lines.for_each(|line| line.hash(&mut hash));
    format!("{:016x}", hash.finish())
}

/// Checks the digest of a request against that of the present plan.
pub(super) fn check_digest(given: Option<&str>, present: &str) -> Answer<()> {
    match given {
        Some(given) if given == present => Ok(()),
        Some(given) => {
            let detail = format!(
                "digest is {given:?}, and the present plan has another one; repeat the dry run"
            );
            Err(Problem::new(StatusCode::CONFLICT, "plan-changed", detail))
        }
        None => Err(Problem::invalid(
            "digest is missing; valid is the digest of a dry run (dry_run = true)",
        )),
    }
}
