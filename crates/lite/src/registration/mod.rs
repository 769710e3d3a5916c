//! Registration of a job: check, settle the configuration, start the driver.

mod check;
mod options;
mod report;
mod start;

use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobConfig;
use futures_util::future::BoxFuture;

use crate::config_store::{ConfigStore, Settled, Settlement};
use crate::driver::ShutdownLimits;
use crate::error_handler;
use crate::output;
use crate::runtime::Generation;
use crate::scheduler::Inner;
use crate::timer::Since;
use crate::{EventSubscriber, Job, JobHandle, JobListener, OnceListener, Result, RetryPolicy};
pub(crate) use check::checked_concurrency;
use start::Ready;

/// Default limit of a call of a listener or an error handler.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(30);

/// Source of a job's code.
#[derive(Debug)]
pub(crate) enum CodeSource {
    /// The program registers the job itself.
    Code,
    /// A template, for this generation of a runtime job.
    Template(Arc<Generation>),
}

/// A job that is about to be registered. Set the options of this process, then `.await` it.
#[must_use = "a job is registered when this is awaited"]
pub struct Registration {
    scheduler: Arc<Inner>,
    config: JobConfig,
    job: Arc<dyn Job>,
    code_source: CodeSource,
    max_concurrency: Option<usize>,
    timeout: Option<Duration>,
    retry: Option<RetryPolicy>,
    output_bytes: usize,
    limits: ShutdownLimits,
    overwrites: bool,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
    once_listener: Option<Arc<dyn OnceListener>>,
    listeners: Vec<Arc<dyn JobListener>>,
    listener_timeout: Duration,
    errors: error_handler::Rules,
}

impl Registration {
    pub(crate) fn new(scheduler: Arc<Inner>, config: JobConfig, job: Arc<dyn Job>) -> Self {
        let limits = ShutdownLimits {
            grace: Duration::from_secs(1),
            leave_deadline: Duration::from_secs(30),
        };
        let subscribers = scheduler.subscribers.clone();
        let errors = error_handler::Rules {
            given: Vec::new(),
            types: scheduler.error_handlers.clone(),
            limit: CALLBACK_TIMEOUT,
        };
        Self {
            scheduler,
            overwrites: config.overwrite,
            config,
            job,
            code_source: CodeSource::Code,
            max_concurrency: None,
            timeout: None,
            retry: None,
            output_bytes: output::DEFAULT_OUTPUT_BYTES,
            limits,
            subscribers,
            once_listener: None,
            listeners: Vec::new(),
            listener_timeout: CALLBACK_TIMEOUT,
            errors,
        }
    }

    /// Registers a runtime job in one generation. The stored configuration is always in force.
    pub(crate) fn of_runtime_job(
        scheduler: Arc<Inner>,
        config: JobConfig,
        job: Arc<dyn Job>,
        generation: Arc<Generation>,
    ) -> Self {
        let config = config.with(|it| it.overwrite = false);
        Self { code_source: CodeSource::Template(generation), ..Self::new(scheduler, config, job) }
    }

    /// Returns true if this is the registration of a job in this generation.
    pub(crate) fn is_of(&self, generation: &Arc<Generation>) -> bool {
        matches!(&self.code_source, CodeSource::Template(other) if Arc::ptr_eq(other, generation))
    }

    /// Returns the deadline of a shutdown that an operator requests through the registry.
    pub(crate) fn leave_deadline_of_job(&self) -> Duration {
        self.limits.leave_deadline
    }

    async fn register(self) -> Result<JobHandle> {
        self.check_config()?;
        let max_concurrency = checked_concurrency(self.max_concurrency)?;
        self.check_limits()?;
        self.check_error_handler(&self.config)?;
        let reserved = self.scheduler.reserve(&self.config.job_name)?;
        let settlement = self.settle().await?;
        if let Some(in_force) = &settlement.in_force {
            self.check_error_handler(in_force)?;
        }
        let ready = Ready {
            max_concurrency,
            // From here on fires count.
            fires_since: self.fires_since(&settlement),
            coordinator: self.coordinator(settlement.local.java.dialect()),
            differences: report::differences(&self.config, settlement),
        };
        let handle = self.start(ready);
        match reserved.fill(handle.clone()) {
            Ok(()) => Ok(handle),
            Err(closed) => {
                handle.shutdown(Duration::ZERO).await?;
                Err(closed)
            }
        }
    }

    /// Settles the local configuration with the stored one.
    async fn settle(&self) -> Result<Settlement> {
        let seams = &self.scheduler.seams;
        let started = seams.clock.monotonic();
        let store = ConfigStore {
            seams,
            local: &self.config,
            server: self.scheduler.incarnations.server(),
            code_source: &self.code_source,
            dialect: self.scheduler.dialect,
            overwrites: self.overwrites,
            default_zone: &self.scheduler.default_time_zone,
            started,
            deadline: started.saturating_add(self.scheduler.connect_deadline),
        };
        store.settle().await
    }

    /// Returns the time from which fires count. With an unreadable configuration the schedule is
    /// unknown, and no fires count.
    fn fires_since(&self, settlement: &Settlement) -> Option<Since> {
        let now = self.scheduler.seams.clock.wall();
        match &settlement.settled {
            Settled::Unreadable(_) => None,
            Settled::Local | Settled::Stored(_) if settlement.has_replaced => {
                Some(Since::Changed(now))
            }
            Settled::Local | Settled::Stored(_) => Some(Since::Joined(now)),
        }
    }
}

impl IntoFuture for Registration {
    type Output = Result<JobHandle>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Checks the configuration, settles it with the registry and starts the job.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.register())
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("config", &self.config).finish_non_exhaustive()
    }
}
