//! One action on many jobs: the digest of the matching jobs, the preview, and the changes, for the
//! API and the pages.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use operations::{By, Entry, JobAction, JobSnapshot, Report, preview};

use crate::access::{Caller, Permission};
use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// Maximum number of jobs of one request.
const MAX_JOBS: usize = 10_000;
/// Number of jobs that are changed at the same time.
const AT_A_TIME: usize = 8;

/// An action by a caller, who is checked for each job.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    pub(crate) action: JobAction,
    pub(crate) caller: Caller,
}

/// Returns the permission that an action needs.
pub(crate) fn permission(action: JobAction) -> Permission {
    match action {
        JobAction::Run | JobAction::RerunFailed => Permission::Run,
        JobAction::Cancel => Permission::Cancel,
        JobAction::Pause | JobAction::Resume => Permission::Pause,
        JobAction::Disable | JobAction::Enable => Permission::Disable,
    }
}

impl Bulk {
    /// Returns the digest of the action and its jobs, unless these are too many.
    pub(crate) fn digest(&self, jobs: &[Arc<JobSnapshot>]) -> Answer<String> {
        if jobs.len() > MAX_JOBS {
            let detail = format!("filter matches {} jobs; valid are up to {MAX_JOBS}", jobs.len());
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too-many-jobs", detail));
        }
        Ok(digest(self.action.as_str(), jobs.iter().map(|job| job.job().to_string())))
    }

    /// Returns why the caller may not change a job.
    fn refusal(&self, job: &JobSnapshot) -> Option<String> {
        let refused = self.caller.check(permission(self.action), Some(job.job().as_str())).err();
        refused.map(|refused| refused.to_string())
    }

    /// Returns the expected report of one job, or why it is left alone or fails.
    pub(crate) fn preview(&self, job: &JobSnapshot, now: Timestamp) -> Result<Report, String> {
        if let Some(refused) = self.refusal(job) {
            return Err(refused);
        }
        preview(job, &self.action.change(job.job()), now).map_err(|error| error.to_string())
    }

    /// Changes the jobs. If the registry does not answer, the remaining jobs are not tried.
    pub(crate) async fn apply(
        &self,
        namespace: &Namespace,
        jobs: Vec<Arc<JobSnapshot>>,
        by: &By,
    ) -> Report {
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
            report.left.push(left_alone(&job, what));
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

/// Returns the entry of a job that is not changed.
pub(crate) fn left_alone(job: &JobSnapshot, what: String) -> Entry {
    Entry::new(job.job().to_string(), "job", what)
}

/// Returns the digest of a plan: of its name and its lines, in their order.
///
/// It detects changes between a dry run and its request. It is no protection against forgery,
/// because each request is checked in full. It is the same in each process of this program.
pub(crate) fn digest(name: &str, lines: impl Iterator<Item = String>) -> String {
    let mut hash = DefaultHasher::new();
    name.hash(&mut hash);
    lines.for_each(|line| line.hash(&mut hash));
    format!("{:016x}", hash.finish())
}

/// Checks the digest of a request against that of the present plan.
pub(crate) fn check_digest(given: Option<&str>, present: &str) -> Answer<()> {
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
