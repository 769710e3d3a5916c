//! Where the jobs stand that were made at run time, as far as this process is concerned.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{JobName, Label, TemplateName, TemplateRecord};
use parking_lot::Mutex;

use crate::EventSubscriber;

/// A job that was made at run time, and where it stands in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeJob {
    /// Which job.
    pub job: JobName,
    /// The template that it was made from; `None` if that cannot be read.
    pub template: Option<TemplateName>,
    /// Its label, if it has one.
    pub label: Option<Label>,
    /// Where it stands.
    pub state: RuntimeJobState,
}

/// Where a job that was made at run time stands in this process. Each change is told once, to the log and to
/// [`EventSubscriber::on_runtime_job`].
///
/// | state | what happens next |
/// |---|---|
/// | `NoTemplate` | nothing, until the template is offered here |
/// | `OtherLabel` | nothing: the job is for others |
/// | `Starting` | it is read and registered |
/// | `Running` | it takes part; see [`Scheduler::job`](crate::Scheduler::job) |
/// | `Refused` | it is tried again when its configuration changes, and, unless that cannot be read or is of another dialect, from time to time |
/// | `Left` | nothing in this process, until the job is made anew |
/// | `Removed` | it is forgotten |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuntimeJobState {
    /// This process does not offer its template.
    NoTemplate,
    /// This process takes other labels.
    OtherLabel,
    /// It is being read and registered.
    Starting,
    /// It takes part here.
    Running,
    /// It cannot take part here for now.
    Refused {
        /// Why: the configuration, the template's code, the registration, or the limit of jobs.
        reason: String,
    },
    /// It has ended here while it goes on elsewhere: an operator took this instance out.
    Left,
    /// It was removed from the registry.
    Removed,
}

impl fmt::Display for RuntimeJobState {
    /// Says in a few words where the job stands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTemplate => f.write_str("its template is not offered here"),
            Self::OtherLabel => f.write_str("it is for processes with another label"),
            Self::Starting => f.write_str("starting"),
            Self::Running => f.write_str("running"),
            Self::Refused { reason } => write!(f, "refused: {reason}"),
            Self::Left => f.write_str("ended here"),
            Self::Removed => f.write_str("removed"),
        }
    }
}

/// Where each job stands, and who is told of changes.
pub(crate) struct Board {
    jobs: Mutex<BTreeMap<JobName, RuntimeJob>>,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
}

impl Board {
    pub(crate) fn new(subscribers: Vec<Arc<dyn EventSubscriber>>) -> Self {
        Self { jobs: Mutex::default(), subscribers }
    }

    pub(crate) fn all(&self) -> Vec<RuntimeJob> {
        self.jobs.lock().values().cloned().collect()
    }

    /// Notes where a job stands, and tells it if that is new.
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
        if let Some(news) = self.note(now) {
            self.tell(&news);
        }
    }

    /// Returns what is worth telling.
    fn note(&self, mut now: RuntimeJob) -> Option<RuntimeJob> {
        let mut jobs = self.jobs.lock();
        let before = jobs.get(&now.job);
        if now.state == RuntimeJobState::Removed {
            // What it was is known from before, if anything is.
            let before = jobs.remove(&now.job)?;
            (now.template, now.label) = (before.template, before.label);
            return Some(now);
        }
        let refused = |job: &RuntimeJob| matches!(job.state, RuntimeJobState::Refused { .. });
        // Another attempt is worth a word only when it has come to an end.
        let again = now.state == RuntimeJobState::Starting && before.is_some_and(refused);
        if again || before == Some(&now) {
            return None;
        }
        jobs.insert(now.job.clone(), now.clone());
        Some(now)
    }

    fn tell(&self, now: &RuntimeJob) {
        log(now);
        for subscriber in &self.subscribers {
            let told =
                std::panic::catch_unwind(AssertUnwindSafe(|| subscriber.on_runtime_job(now)));
            if told.is_err() {
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
            tracing::info!(%job, template, "runtime job left to others, which offer its template");
        }
        RuntimeJobState::OtherLabel => {
            tracing::debug!(%job, template, label, "runtime job left to others, which take its label");
        }
        RuntimeJobState::Starting => tracing::debug!(%job, template, "runtime job found"),
        RuntimeJobState::Running => tracing::info!(%job, template, label, "runtime job taken"),
        RuntimeJobState::Refused { reason } => {
            tracing::error!(%job, template, reason, "runtime job refused");
        }
        RuntimeJobState::Left => tracing::info!(%job, template, "runtime job ended here"),
        RuntimeJobState::Removed => tracing::info!(%job, template, "runtime job removed"),
    }
}
