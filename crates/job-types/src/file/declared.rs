//! A job of a file, ready to be registered.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobConfig, JobError, Registration, RetryPolicy, Scheduler, ShardingContext};

use super::handlers::SharedHandler;
#[cfg(feature = "http")]
use crate::HttpJob;
use crate::{Invalid, Script, ScriptLauncher, StoredJob};

/// A job of a file: its configuration, its work, and the options that are local to this process.
#[derive(Clone)]
pub struct DeclaredJob {
    pub(super) config: JobConfig,
    pub(super) work: Work,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Option<Duration>,
    pub(super) max_concurrency: Option<usize>,
    pub(super) output_limit: Option<usize>,
    pub(super) retry: Option<RetryPolicy>,
    pub(super) handlers: Vec<SharedHandler>,
    pub(super) handler_timeout: Option<Duration>,
    pub(super) lines: Lines,
}

/// Line numbers of a job and of its keys.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) job: usize,
    pub(super) keys: BTreeMap<String, usize>,
}

/// Work of a declared job.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Script(Script),
    #[cfg(feature = "http")]
    Http(HttpJob),
    Stored(StoredJob),
}

impl Work {
    pub(super) fn launcher(self, launcher: &ScriptLauncher) -> Self {
        match self {
            Self::Script(script) => Self::Script(script.launcher(launcher.clone())),
            Self::Stored(job) => Self::Stored(job.launcher(launcher.clone())),
            #[cfg(feature = "http")]
            Self::Http(job) => Self::Http(job),
        }
    }
}

impl DeclaredJob {
    /// Returns the configuration that the job is registered with.
    #[must_use]
    pub fn config(&self) -> &JobConfig {
        &self.config
    }

    /// Returns the line of a key of the job, counted from 1, or the line of the job if it has no
    /// such key.
    #[must_use]
    pub fn line_of(&self, key: &str) -> usize {
        self.lines.keys.get(key).copied().unwrap_or(self.lines.job)
    }

    /// Checks that the program of a script can be started, as
    /// [`Script::check_program`](crate::Script::check_program) does. Jobs of other types have none.
    ///
    /// # Errors
    /// [`Invalid`] has the program, and what would be valid.
    pub fn check_program(&self) -> Result<(), Invalid> {
        if let Work::Script(script) = &self.work { script.check_program() } else { Ok(()) }
    }

    /// Registers the job with all its options. Add further options to the returned registration if
    /// necessary, and await it.
    pub fn schedule(self, scheduler: &Scheduler) -> Registration {
        let mut registration = scheduler.schedule(self.config, self.work);
        if let Some(timeout) = self.timeout {
            registration = registration.timeout(timeout);
        }
        if let Some(grace) = self.grace {
            registration = registration.shutdown_grace(grace);
        }
        if let Some(max) = self.max_concurrency {
            registration = registration.max_concurrency(max);
        }
        if let Some(bytes) = self.output_limit {
            registration = registration.output_limit(bytes);
        }
        if let Some(policy) = self.retry {
            registration = registration.retry(policy);
        }
        if let Some(timeout) = self.handler_timeout {
            registration = registration.error_handler_timeout(timeout);
        }
        for handler in self.handlers {
            registration = registration.error_handler(handler);
        }
        registration
    }
}

#[async_trait]
impl Job for Work {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        match self {
            Self::Script(job) => job.execute(context).await,
            #[cfg(feature = "http")]
            Self::Http(job) => job.execute(context).await,
            Self::Stored(job) => job.execute(context).await,
        }
    }
}

impl fmt::Debug for DeclaredJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, work, .. } = self;
        let name = &config.job_name;
        f.debug_struct("DeclaredJob")
            .field("name", name)
            .field("work", work)
            .finish_non_exhaustive()
    }
}
