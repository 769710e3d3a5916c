//! Templates: code under a name, for jobs that somebody makes at run time.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use coordination::{JobConfig, JobName, Label, TemplateName, TemplateRecord};

use super::Life;
use crate::said::{panic_text, with_causes};
use crate::scheduler::Inner;
use crate::{Job, JobError, Registration, Result};

/// Makes the registration of a job from its stored configuration.
type Make = dyn Fn(NewJob) -> Result<Registration, JobError> + Send + Sync;

/// Code under a name, for jobs that are made at run time.
///
/// Somebody, `operations` for example, stores a configuration with the name of a template. Every process that
/// [offers](crate::Scheduler::offer) that template then takes part in the job, and so does one that starts later, until the
/// job is removed. The registry names code, and never has any: whoever can write to it can only have run what a process offers.
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
    /// Names a template, and says how a job is made of it.
    ///
    /// `make` is called for each job of the template when this process takes it: at its start, when the job is made, and when
    /// it was removed and made anew. It is not called when the configuration changes while the job runs: what is to follow
    /// such changes is read from [`ShardingContext::config`](crate::ShardingContext::config) in each run. An error or a panic is
    /// told as [`RuntimeJobState::Refused`](crate::RuntimeJobState::Refused), concerns this job alone, and is tried again when the
    /// configuration changes, and after 1 s, 2 s and so on up to 5 minutes. It should not take long.
    ///
    /// # Errors
    /// [`Error::Name`](crate::Error::Name) if the name is blank, longer than 128 bytes, has blanks at its ends, or
    /// control characters.
    pub fn new(
        name: &str,
        make: impl Fn(NewJob) -> Result<Registration, JobError> + Send + Sync + 'static,
    ) -> Result<Self> {
        Ok(Self { name: TemplateName::new(name)?, make: Arc::new(make) })
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &TemplateName {
        &self.name
    }

    /// Makes the registration of a job, or says why that is not possible.
    pub(super) fn make(&self, new: NewJob) -> Result<Registration, String> {
        let life = Arc::clone(&new.life);
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| (self.make)(new)));
        let registration = match made {
            Ok(Ok(registration)) => registration,
            Ok(Err(error)) => return Err(format!("the template failed: {}", with_causes(&*error))),
            Err(panic) => {
                return Err(format!("the template panicked: {}", panic_text(&*panic)));
            }
        };
        match registration.is_of(&life) {
            true => Ok(registration),
            false => Err("the template returned the registration of another job".to_owned()),
        }
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A job that was made at run time and is about to be taken: what is known of it.
pub struct NewJob {
    scheduler: Arc<Inner>,
    config: JobConfig,
    record: TemplateRecord,
    life: Arc<Life>,
}

impl NewJob {
    pub(super) fn new(
        scheduler: Arc<Inner>,
        config: JobConfig,
        record: TemplateRecord,
        life: Arc<Life>,
    ) -> Self {
        Self { scheduler, config, record, life }
    }

    /// Returns the job's name.
    #[must_use]
    pub fn name(&self) -> &JobName {
        &self.config.job_name
    }

    /// Returns the stored configuration as it is now. It can change while the job runs.
    #[must_use]
    pub fn config(&self) -> &JobConfig {
        &self.config
    }

    /// Returns the label that the job was made with, if it has one.
    #[must_use]
    pub fn label(&self) -> Option<&Label> {
        self.record.label.as_ref()
    }

    /// Says which code the job runs, and returns its registration, for options that are local to this process.
    pub fn run(self, job: impl Job) -> Registration {
        Registration::of_runtime_job(self.scheduler, self.config, Arc::new(job), self.life)
    }
}

impl fmt::Debug for NewJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, record, .. } = self;
        f.debug_struct("NewJob").field("config", config).field("record", record).finish()
    }
}
