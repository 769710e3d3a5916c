//! Templates: code under a name, from which operators create jobs at run time.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{JobConfig, JobName, Label, TemplateName, TemplateRecord};

use super::Generation;
use crate::panic_text::{panic_text, with_causes};
use crate::scheduler::Inner;
use crate::{Job, JobError, Registration, Result};

/// Makes the registration of a job from its stored configuration.
type Make = dyn Fn(NewJob) -> Result<Registration, JobError> + Send + Sync;

/// Code under a name, from which jobs are created at run time.
///
/// An operator, or a program through the crate `operations`, stores a configuration with the name
/// of a template. Every process that [offers](crate::Scheduler::offer) this template then takes
/// part in the job until it is removed, even if the process starts later. The registry stores names
/// of code, never code: a client with write access can only run code that a process offers.
///
/// # Examples
/// ```
/// use lite::{Template, job_fn};
///
/// let template = Template::new("report", |new| {
///     let region = new.config().job_parameter.clone();
///     if region.is_empty() {
///         return Err("a report needs a region as its job parameter".into());
///     }
///     let job = job_fn(move |run| {
///         let region = region.clone();
///         async move {
///             println!("{region}, item {}", run.item());
///             Ok(())
///         }
///     });
///     Ok(new.run(job).max_concurrency(2))
/// })?;
/// assert_eq!(template.name().as_str(), "report");
/// # Ok::<(), lite::Error>(())
/// ```
#[derive(Clone)]
pub struct Template {
    name: TemplateName,
    make: Arc<Make>,
}

impl Template {
    /// Creates a template from its name and the function that makes its jobs.
    ///
    /// `make` is called for each job of the template when this process joins it: at the start of
    /// the process, when the job is created, and when it was removed and created again. It should
    /// not take long.
    ///
    /// `make` is not called when the configuration changes while the job runs. Read values that may
    /// change from [`ShardingContext::config`](crate::ShardingContext::config) in each run.
    ///
    /// An error or a panic is reported as
    /// [`RuntimeJobState::Refused`](crate::RuntimeJobState::Refused) and affects this job alone.
    /// The call is retried when the configuration changes, and after 1 s, 2 s and so on up to 5
    /// minutes.
    ///
    /// # Errors
    /// [`Error::Name`](crate::Error::Name) if the name is blank, longer than 128 bytes, has blanks
    /// at its ends, or has control characters.
    pub fn new(
        name: &str,
        make: impl Fn(NewJob) -> Result<Registration, JobError> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self { name: TemplateName::new(name)?, make: Arc::new(make) })
    }

    /// Returns the name of the template.
    #[must_use]
    pub fn name(&self) -> &TemplateName {
        &self.name
    }

    /// Makes the registration of a job, or returns the reason why that failed.
    pub(super) fn make(&self, new: NewJob) -> Result<Registration, String> {
        let generation = Arc::clone(&new.generation);
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| (self.make)(new)));
        let registration = match made {
            Ok(Ok(registration)) => registration,
            Ok(Err(error)) => return Err(format!("the template failed: {}", with_causes(&*error))),
            Err(panic) => {
                return Err(format!("the template panicked: {}", panic_text(&*panic)));
            }
        };
        if !registration.is_of(&generation) {
            return Err("the template returned the registration of another job".to_owned());
        }
        Ok(registration)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A runtime job that this process is about to join.
pub struct NewJob {
    scheduler: Arc<Inner>,
    config: JobConfig,
    record: TemplateRecord,
    generation: Arc<Generation>,
}

impl NewJob {
    pub(super) fn new(
        scheduler: Arc<Inner>,
        config: JobConfig,
        record: TemplateRecord,
        generation: Arc<Generation>,
    ) -> Self {
        Self { scheduler, config, record, generation }
    }

    /// Returns the job's name.
    #[must_use]
    pub fn name(&self) -> &JobName {
        &self.config.job_name
    }

    /// Returns the stored configuration at this moment. It can change while the job runs.
    #[must_use]
    pub fn config(&self) -> &JobConfig {
        &self.config
    }

    /// Returns the label that the job was created with, if it has one.
    #[must_use]
    pub fn label(&self) -> Option<&Label> {
        self.record.label.as_ref()
    }

    /// Sets the code of the job, and returns its registration for options of this process.
    pub fn run(self, job: impl Job) -> Registration {
        Registration::of_runtime_job(self.scheduler, self.config, Arc::new(job), self.generation)
    }
}

impl fmt::Debug for NewJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, record, .. } = self;
        f.debug_struct("NewJob").field("config", config).field("record", record).finish()
    }
}
