//! Judges a namespace once, without watching it.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::JobName;
use jiff::Timestamp;
use operations::JobSnapshot;
use reg_center::RegistryCenter;

use crate::store::Store;
use crate::{Assessment, HistoryByJob, Memory, Seen, Severity, StoreError, WatchFile, evaluate};

/// State of one expectation of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobAssessment {
    /// Job name.
    pub job: String,
    /// Severity of a violation.
    pub severity: Severity,
    /// The judgement.
    pub assessment: Assessment,
}

impl JobAssessment {
    /// Returns the state of an expectation of a job.
    #[must_use]
    pub fn new(job: impl Into<String>, severity: Severity, assessment: Assessment) -> Self {
        Self { job: job.into(), severity, assessment }
    }
}

/// Judges all expectations once, in the order of jobs and kinds.
///
/// It uses what a watcher has stored about a job. Otherwise it takes the job's schedule as old, and
/// counts one failed run of each failing item.
///
/// # Errors
/// [`StoreError`]: the state of watchers cannot be read.
pub async fn assess(
    file: &WatchFile,
    registry: Arc<dyn RegistryCenter>,
    jobs: &[&JobSnapshot],
    now: Timestamp,
) -> Result<Vec<JobAssessment>, StoreError> {
    assess_with_history(file, registry, jobs, &HistoryByJob::new(), now).await
}

/// Judges all expectations once, as [`assess`] does, also by the facts of a history.
///
/// # Errors
/// [`StoreError`]: the state of watchers cannot be read.
pub async fn assess_with_history(
    file: &WatchFile,
    registry: Arc<dyn RegistryCenter>,
    jobs: &[&JobSnapshot],
    history: &HistoryByJob,
    now: Timestamp,
) -> Result<Vec<JobAssessment>, StoreError> {
    let mut stored = Store::new(registry).load().await?.jobs;
    let mut all: BTreeMap<JobName, Option<&JobSnapshot>> =
        file.named_jobs().map(|job| (job, None)).collect();
    let configured = jobs.iter().filter(|job| job.has_config());
    all.extend(configured.map(|job| (job.job().clone(), Some(*job))));
    let mut found = Vec::new();
    for (job, snapshot) in all {
        let expectations = file.expectations_of(job.as_str());
        let mut memory = Memory::default();
        memory.observe(snapshot, &expectations, now);
        match stored.remove(&job) {
            Some(stored) => memory.merge(stored.value.memory),
            None => memory.judge_all_fires(),
        }
        let seen = Seen::new(snapshot, &memory).history(history.get(job.as_str()));
        let states = evaluate(&expectations, seen, now);
        found.extend(expectations.iter().zip(states).map(|(expectation, assessment)| {
            let (job, severity) = (job.to_string(), expectation.severity);
            JobAssessment { job, severity, assessment }
        }));
    }
    Ok(found)
}
