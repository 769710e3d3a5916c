//! Options of a registration, which apply to this process only.

use std::sync::Arc;
use std::time::Duration;

use super::Registration;
use crate::{ErrorHandler, EventSubscriber, JobListener, OnceListener, RetryPolicy};

impl Registration {
    /// Makes the local configuration replace the stored one at this registration.
    /// [`JobBuilder::overwrite`](crate::JobBuilder::overwrite) does so at every registration. The
    /// choice is not stored.
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobBuilder, Scheduler, job_fn};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = std::sync::Arc::new(reg_center::MemoryRegistry::new().connect());
    /// # let scheduler = Scheduler::builder(registry).build()?;
    /// let wins = std::env::args().any(|argument| argument == "--overwrite");
    /// let config = JobBuilder::new("report", 4).cron("0 0 3 * * ?").build()?;
    /// let job = job_fn(|_| async { Ok(()) });
    /// let handle = scheduler.schedule(config, job).overwrite(wins).await?;
    /// for difference in handle.config_differences() {
    ///     eprintln!("the stored configuration wins: {difference}");
    /// }
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn overwrite(mut self, wins: bool) -> Self {
        self.overwrites |= wins;
        self
    }

    /// Sets the maximum number of items of the job that run at a time in this process, at least 1.
    /// Without it there is no limit. Further items are claimed, so that the registry shows their
    /// owner, and wait for a place.
    ///
    /// [`SchedulerBuilder::max_concurrency`](crate::SchedulerBuilder::max_concurrency) limits all
    /// jobs of the process together.
    pub fn max_concurrency(mut self, max: usize) -> Self {
        self.max_concurrency = Some(max);
        self
    }

    /// Sets the timeout of the code of an item, more than zero. Without it there is no limit. With
    /// [`retry`](Self::retry) each attempt has the timeout of its own. Waiting for a place does not
    /// count.
    ///
    /// At the timeout the context's cancellation token fires, and after the
    /// [grace](Self::shutdown_grace) the future is dropped. The outcome is
    /// [`TimedOut`](crate::Outcome::TimedOut), unless the code returns `Ok` during the grace. It is
    /// recorded as any other outcome, and no instance takes the item over.
    /// ```text
    /// timeout 5 s, grace 1 s:   |0        |5: the token fires   |6: the future is dropped
    /// code that polls it:       [------------] timed out
    /// code that does not:       [-------------------------------] timed out
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the retry policy of items that fail or time out. All attempts are in the same run,
    /// under the same token, while the registry shows the item as running. Fires during them are
    /// misfires, as with any long run.
    ///
    /// The delay between two attempts takes no place of [`max_concurrency`](Self::max_concurrency).
    /// It ends at once when the run is cancelled, and the outcome is then *interrupted*.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use lite::{JobBuilder, RetryPolicy, Scheduler, job_fn};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// # let scheduler = Scheduler::builder(registry).build()?;
    /// let config = JobBuilder::new("report", 4).cron("0 0 3 * * ?").build()?;
    /// let job = job_fn(|context| async move {
    ///     println!("attempt {}", context.attempt());
    ///     Ok(())
    /// });
    /// let handle = scheduler
    ///     .schedule(config, job)
    ///     .timeout(Duration::from_secs(60))
    ///     .retry(RetryPolicy::new(3).first_delay(Duration::from_secs(5)))
    ///     .await?;
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Sets the limit of the output that a history keeps of each run: 1 KiB to 16 MiB, or 0 for
    /// none. Default 256 KiB. Half of it is for the first lines, half for the last ones; the lines
    /// between them are left out. Each line counts 32 bytes beside its text.
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Sets the time between the cancellation of a run, at a shutdown's deadline or its timeout,
    /// and the dropping of its future. Default 1 s.
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.limits.grace = grace;
        self
    }

    /// Sets the deadline of a shutdown that an operator requests through the registry. Default 30
    /// s.
    pub fn leave_deadline(mut self, deadline: Duration) -> Self {
        self.limits.leave_deadline = deadline;
        self
    }

    /// Adds a subscriber of the job's events, from the first event on.
    pub fn event_subscriber(mut self, subscriber: impl EventSubscriber) -> Self {
        self.subscribers.push(Arc::new(subscriber));
        self
    }

    /// Sets the callbacks that are called on one instance of the cluster: when all items have begun
    /// a fire, and when all have ended it. Needs
    /// [`monitor_execution`](crate::JobBuilder::monitor_execution), because the ledger records show
    /// the progress of the items.
    pub fn once_per_cluster(mut self, listener: impl OnceListener) -> Self {
        self.once_listener = Some(Arc::new(listener));
        self
    }

    /// Adds a listener that is called before and after each run in this process. The first one
    /// added is the outermost.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use async_trait::async_trait;
    /// # use lite::{JobBuilder, JobError, JobListener, Scheduler, ShardingContext, job_fn};
    /// struct OnlyAtNight;
    ///
    /// #[async_trait]
    /// impl JobListener for OnlyAtNight {
    ///     async fn before(&self, context: &ShardingContext) -> Result<(), JobError> {
    ///         let hour = context.fire_time().to_zoned(jiff::tz::TimeZone::UTC).hour();
    ///         if hour < 6 { Ok(()) } else { Err("this job runs from 0 to 6 o'clock only".into()) }
    ///     }
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// # let scheduler = Scheduler::builder(registry).build()?;
    /// let config = JobBuilder::new("report", 4).cron("0 0 3 * * ?").build()?;
    /// let job = job_fn(|_| async { Ok(()) });
    /// let handle = scheduler.schedule(config, job).listener(OnlyAtNight).await?;
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listener(mut self, listener: impl JobListener) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Sets the limit of each call of a listener, more than zero. Default 30 s.
    pub fn listener_timeout(mut self, timeout: Duration) -> Self {
        self.listener_timeout = timeout;
        self
    }

    /// Adds an error handler. All added handlers receive each failure, in this order, and the
    /// choice of the stored configuration is ignored. Without any, the configuration chooses among
    /// [`SchedulerBuilder::error_handlers`](crate::SchedulerBuilder::error_handlers).
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::{JobBuilder, Scheduler, StopOnErrors, job_fn};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// # let scheduler = Scheduler::builder(registry).build()?;
    /// let config = JobBuilder::new("report", 4).cron("0 0 3 * * ?").build()?;
    /// let job = job_fn(|_| async { Ok(()) });
    /// let handle = scheduler.schedule(config, job).error_handler(StopOnErrors).await?;
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn error_handler(mut self, handler: impl ErrorHandler) -> Self {
        self.errors.given.push(Arc::new(handler));
        self
    }

    /// Sets the limit of each call of an error handler, more than zero. Default 30 s.
    pub fn error_handler_timeout(mut self, timeout: Duration) -> Self {
        self.errors.limit = timeout;
        self
    }
}
