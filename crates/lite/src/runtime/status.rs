//! States of the runtime jobs in this process.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{JobName, Label, TemplateName, TemplateRecord};
use parking_lot::Mutex;

use crate::EventSubscriber;

/// A runtime job and its state in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeJob {
    /// The job.
    pub job: JobName,
    /// The template of the job; `None` if it cannot be read.
    pub template: Option<TemplateName>,
    /// Its label, if it has one.
    pub label: Option<Label>,
    /// State of the job in this process.
    pub state: RuntimeJobState,
}

/// State of a runtime job in this process. Each change is published once, to the log and to
/// [`EventSubscriber::on_runtime_job`].
///
/// | state | next |
/// |---|---|
/// | `NoTemplate` | nothing, until this process offers the template |
/// | `OtherLabel` | nothing: the job is for processes with another label |
/// | `Starting` | the job is read and registered |
/// | `Running` | this process takes part; see [`Scheduler::job`](crate::Scheduler::job) |
/// | `Refused` | a retry when the configuration changes, and mostly after a delay |
/// | `Left` | nothing in this process, until the job is created again |
/// | `Removed` | the process drops its state |
///
/// `Refused` has no retry after a delay if the configuration cannot be read or has another dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeJobState {
    /// This process does not offer the template of the job.
    NoTemplate,
    /// This process accepts other labels.
    OtherLabel,
    /// The job is being read and registered.
    Starting,
    /// This process takes part in the job.
    Running,
    /// This process cannot take part in the job for now.
    Refused {
        /// The cause: the configuration, the template's code, the registration, or the limit of
        /// jobs.
        reason: String,
    },
    /// The job has ended in this process and goes on elsewhere: an operator removed this instance.
    Left,
    /// The job was removed from the registry.
    Removed,
}

impl fmt::Display for RuntimeJobState {
    /// Writes a short description of the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate => f.write_str("this process does not offer its template"),
            Self::OtherLabel => f.write_str("it is for processes with another label"),
            Self::Starting => f.write_str("starting"),
            Self::Running => f.write_str("running"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
            Self::Left => f.write_str("ended in this process"),
            Self::Removed => f.write_str("removed"),
        }
    }
}

/// States of the runtime jobs, and the subscribers of their changes.
pub(crate) struct RuntimeJobStates {
    jobs: Mutex<BTreeMap<JobName, RuntimeJob>>,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
}

impl RuntimeJobStates {
    pub(crate) fn new(subscribers: Vec<Arc<dyn EventSubscriber>>) -> Self {
        Self { jobs: Mutex::default(), subscribers }
    }

    pub(crate) fn all(&self) -> Vec<RuntimeJob> {
        self.jobs.lock().values().cloned().collect()
    }

    /// Sets the state of a job, and publishes it if it has changed.
    pub(super) fn set(
        &self,
        job: &JobName,
        record: Option<&TemplateRecord>,
        state: RuntimeJobState,
    ) {
        let now = RuntimeJob {
            job: job.clone(),
            template: record.map(|record| record.template.clone()),
            label: record.and_then(|record| record.label.clone()),
            state,
        };
        if let Some(change) = self.store(now) {
            self.publish(&change);
        }
    }

    /// Stores the state of a job, and returns it if it is to be published.
    fn store(&self, mut now: RuntimeJob) -> Option<RuntimeJob> {
        let mut jobs = self.jobs.lock();
        let before = jobs.get(&now.job);
        if now.state == RuntimeJobState::Removed {
            // The nodes are gone, so template and label come from the last known state.
            let before = jobs.remove(&now.job)?;
            (now.template, now.label) = (before.template, before.label);
            return Some(now);
        }
        let refused = |job: &RuntimeJob| matches!(job.state, RuntimeJobState::Refused { .. });
        // A retry is published only with its result, so that a refused job does not fill the log.
        let again = now.state == RuntimeJobState::Starting && before.is_some_and(refused);
        if again || before == Some(&now) {
            return None;
        }
        jobs.insert(now.job.clone(), now.clone());
        Some(now)
    }

    fn publish(&self, now: &RuntimeJob) {
        log(now);
        for subscriber in &self.subscribers {
            let called =
                std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_runtime_job(now)));
            if called.is_err() {
                tracing::error!(job = %now.job, "event subscriber panicked");
            }
        }
    }
}

fn log(RuntimeJob { job, template, label, state }: &RuntimeJob) {
    let template = template.as_ref().map(TemplateName::as_str);
    let label = label.as_ref().map(Label::as_str);
    match state {
        RuntimeJobState::NoTemplate => {
            tracing::info!(
                %job,
                template,
                "runtime job skipped, this process does not offer its template"
            );
        }
        RuntimeJobState::OtherLabel => {
            tracing::debug!(
                %job,
                template,
                label,
                "runtime job skipped, this process accepts other labels"
            );
        }
        RuntimeJobState::Starting => tracing::debug!(%job, template, "runtime job found"),
        RuntimeJobState::Running => tracing::info!(%job, template, label, "runtime job joined"),
        RuntimeJobState::Refused { reason } => {
            tracing::error!(%job, template, reason, "runtime job refused");
        }
        RuntimeJobState::Left => {
            tracing::info!(%job, template, "runtime job ended in this process")
        }
        RuntimeJobState::Removed => tracing::info!(%job, template, "runtime job removed"),
    }
}
