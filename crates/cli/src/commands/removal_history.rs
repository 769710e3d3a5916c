//! Audit records of removed jobs: only a history can keep them.

use std::time::Duration;

use coordination::{AuditSubject, JobName};
use job_history::{Error, History, HistoryOptions};
use operations::{JobSnapshot, Report};

use crate::output::{Page, line};

/// Time in which a history must store the records of removals.
const DEADLINE: Duration = Duration::from_secs(10);

/// The history that takes the audit records of removals; `None` without one.
pub(super) struct RemovalHistory(Option<Result<History, Error>>);

impl RemovalHistory {
    /// Opens a history, and gives it the last changes of the jobs that will be removed: their
    /// nodes, which have these changes, are removed with them.
    ///
    /// A history that does not answer prevents no removal.
    pub(super) async fn before_removal_of(
        jobs: impl IntoIterator<Item = &JobSnapshot>,
        options: Option<HistoryOptions>,
    ) -> Self {
        let Some(options) = options else { return Self(None) };
        let opened = History::open(options).await;
        if let Ok(history) = &opened {
            for job in jobs {
                let subject = AuditSubject::from(job.job());
                for record in job.audit() {
                    history.record_audit(&subject, record).await;
                }
            }
            // `after` reports a store that still does not answer.
            if let Err(error) = history.flush(DEADLINE).await {
                tracing::debug!(%error, "the history has not stored the changes of the jobs");
            }
        }
        Self(Some(opened))
    }

    /// Stores the removals of a report. The page gets a remark if the history does not have them.
    pub(super) async fn after(self, report: &Report, page: Page) -> Page {
        match self.store(report).await {
            Ok(()) => page,
            Err(error) => page.beside(line(&format!(
                "remark: the history does not have the audit record of the removal: {error}"
            ))),
        }
    }

    async fn store(self, report: &Report) -> Result<(), Error> {
        let Some(opened) = self.0 else { return Ok(()) };
        let history = opened?;
        for recorded in report.records.iter().filter(|recorded| recorded.is_removal_of_job()) {
            if let Ok(job) = JobName::new(&recorded.job) {
                history.record_audit(&AuditSubject::Job(job), &recorded.record).await;
            }
        }
        history.close(DEADLINE).await
    }
}
