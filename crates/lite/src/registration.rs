//! Registration of a job: check, settle the configuration, start the driver.

use std::fmt;
use std::future::IntoFuture;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Coordinator, Dialect, Identity, InvalidConfig, JobConfig, Layout};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::config_store::{ConfigStore, Settled, Settlement};
use crate::driver::{Driver, ShutdownLimits, State, job_span};
use crate::error_handler::{self, ErrorDispatcher, Selection};
use crate::executor::Executor;
use crate::handle::Shared;
use crate::inbox::{Answers, Inbox};
use crate::job_listener::Listeners;
use crate::job_record::Subscribers;
use crate::log::LogSubscriber;
use crate::run::RunRules;
use crate::runtime::{Generation, GenerationGuard};
use crate::scheduler::Inner;
use crate::timer::Since;
use crate::{
    ConfigDifference, ErrorHandler, EventSubscriber, Job, JobHandle, JobListener, OnceListener,
    Result, RetryPolicy, config_check,
};

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
    limits: ShutdownLimits,
    overwrites: bool,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
    listener: Option<Arc<dyn OnceListener>>,
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
            limits,
            subscribers,
            listener: None,
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
        let config = JobConfig { overwrite: false, ..config };
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

    /// Sets the maximum number of items that run at a time in this process, at least 1. Without it
    /// there is no limit. Further items are claimed, so that the registry shows their owner, and
    /// wait for a place.
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
        self.listener = Some(Arc::new(listener));
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

    /// Returns the coordinator of the job, whose nodes are in this dialect.
    fn coordinator(&self, dialect: Dialect) -> Coordinator {
        let Inner {
            incarnations,
            strategies,
            seams,
            stable_name,
            following,
            default_time_zone,
            ..
        } = &*self.scheduler;
        let identity =
            Identity { job: self.config.job_name.clone(), server: incarnations.server().clone() };
        let mut coordinator = Coordinator::new(identity, strategies.clone());
        coordinator = coordinator
            .speaking(dialect)
            .following(*following)
            .limited_to(seams.registry.limits())
            .checked_by(config_check::check_timing)
            .scheduled_by(config_check::lookup(default_time_zone.clone()));
        if let Some(name) = stable_name {
            coordinator = coordinator.named(name);
        }
        if self.listener.is_some() { coordinator.calling_back() } else { coordinator }
    }

    async fn register(self) -> Result<JobHandle> {
        let seams = &self.scheduler.seams;
        let Inner { strategies, default_time_zone, .. } = &*self.scheduler;
        let now = seams.clock.wall();
        match &self.code_source {
            CodeSource::Code => {
                config_check::check(&self.config, strategies, default_time_zone, now)
            }
            CodeSource::Template(_) => {
                config_check::check_stored(&self.config, strategies, default_time_zone)
            }
        }?;
        let max_concurrency = self.max_concurrency.map(at_least_one).transpose()?;
        self.check_rules()?;
        self.check_error_handler(&self.config)?;
        let reserved = self.scheduler.reserve(&self.config.job_name)?;
        let started = seams.clock.monotonic();
        let deadline = started.saturating_add(self.scheduler.connect_deadline);
        let dialect = self.scheduler.dialect;
        let (local, code_source, overwrites) = (&self.config, &self.code_source, self.overwrites);
        let store =
            ConfigStore { seams, local, code_source, dialect, overwrites, started, deadline };
        let Settlement { settled, local, in_force, has_replaced } = store.settle().await?;
        in_force.iter().try_for_each(|config| self.check_error_handler(config))?;
        let (dialect, caveat) = (local.java.dialect(), local.java_caveat());
        // From here on fires count, unless the schedule is unknown because the configuration is
        // unreadable.
        let fires_since = match &settled {
            Settled::Unreadable(_) => None,
            Settled::Local | Settled::Stored(_) if has_replaced => {
                Some(Since::Changed(seams.clock.wall()))
            }
            Settled::Local | Settled::Stored(_) => Some(Since::Joined(seams.clock.wall())),
        };
        let differences = self.report(settled, caveat);
        let coordinator = self.coordinator(dialect);
        let handle = self.start(coordinator, max_concurrency, fires_since, differences);
        match reserved.fill(handle.clone()) {
            Ok(()) => Ok(handle),
            Err(closed) => {
                handle.shutdown(Duration::ZERO).await?;
                Err(closed)
            }
        }
    }

    fn check_rules(&self) -> Result<(), InvalidConfig> {
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            let valid = "more than zero, or no timeout at all";
            return Err(InvalidConfig::new("timeout", "0s", valid));
        }
        let limits = [
            ("listener_timeout", self.listener_timeout),
            ("error_handler_timeout", self.errors.limit),
        ];
        if let Some((field, _)) = limits.into_iter().find(|(_, limit)| limit.is_zero()) {
            return Err(InvalidConfig::new(field, "0s", "more than zero"));
        }
        self.retry.iter().try_for_each(RetryPolicy::check)
    }

    /// Checks that the handler that a configuration chooses can be created.
    fn check_error_handler(&self, config: &JobConfig) -> Result<(), InvalidConfig> {
        let error_handler::Rules { given, types, .. } = &self.errors;
        if !given.is_empty() {
            return Ok(());
        }
        Selection::of(config, types).make(config, types).map(drop)
    }

    /// Logs warnings about the configuration, and returns the differences from the stored one.
    fn report(&self, settled: Settled, for_java: Option<&'static str>) -> Vec<ConfigDifference> {
        let _entered = job_span(&self.config.job_name, "").entered();
        for caveat in config_check::caveats(&self.config) {
            tracing::warn!(
                cron = self.config.cron,
                %caveat,
                "cron expression may not do what its author expects"
            );
        }
        let surplus = self.config.parameters_without_item();
        if !surplus.is_empty() {
            let items = self.config.sharding_total_count;
            tracing::warn!(
                parameters_of = ?surplus,
                items,
                "sharding_item_parameters name items that the job does not have"
            );
        }
        if let Some(caveat) = for_java {
            tracing::warn!(
                time_zone = self.config.time_zone,
                caveat,
                "Java instances may interpret the time zone differently"
            );
        }
        match settled {
            Settled::Local => Vec::new(),
            Settled::Stored(differences) => {
                for ConfigDifference { field, stored, local } in &differences {
                    tracing::warn!(
                        field,
                        stored,
                        local,
                        "stored configuration differs and is in force"
                    );
                }
                differences
            }
            Settled::Unreadable(reason) => {
                tracing::error!(
                    reason,
                    "stored configuration is unreadable; the job waits until an operator repairs it"
                );
                Vec::new()
            }
        }
    }

    fn start(
        self,
        coordinator: Coordinator,
        max_concurrency: Option<NonZeroUsize>,
        fires_since: Option<Since>,
        differences: Vec<ConfigDifference>,
    ) -> JobHandle {
        let Self { scheduler, config, job, code_source, limits, subscribers, listener, .. } = self;
        let guard = match code_source {
            CodeSource::Code => None,
            CodeSource::Template(generation) => Some(Arc::new(GenerationGuard::new(generation))),
        };
        let listeners = Listeners::new(
            self.listeners,
            self.listener_timeout,
            Arc::clone(&scheduler.seams.clock),
        );
        let rules = RunRules { timeout: self.timeout, grace: limits.grace, retry: self.retry };
        let name = config.job_name;
        let seams = scheduler.seams.clone();
        let (requests, requests_inbox) = mpsc::unbounded_channel();
        let (answers, answers_inbox) = Answers::channel();
        let (ends, ends_inbox) = mpsc::unbounded_channel();
        let (fires, fires_inbox) = mpsc::unbounded_channel();
        let log: Arc<dyn EventSubscriber> = Arc::new(LogSubscriber);
        let all_subscribers = std::iter::once(log).chain(subscribers).collect();
        let subscribers = Arc::new(Subscribers::new(all_subscribers));
        let shared = Arc::new(Shared {
            job: name.clone(),
            differences,
            subscribers: Arc::clone(&subscribers),
            clock: Arc::clone(&seams.clock),
            join_deadline: scheduler.connect_deadline,
            ending: OnceLock::new(),
        });
        let inbox = Inbox {
            abort: scheduler.abort.child_token(),
            sessions: seams.registry.session_feed(),
            requests: requests_inbox,
            answers: answers_inbox,
            ends: ends_inbox,
            feed: seams.registry.watch(&Layout::new(&name).root()),
            fires: fires_inbox,
        };
        let driver = Box::new(Driver {
            coordinator,
            listener,
            incarnations: Arc::clone(&scheduler.incarnations),
            executor: Executor::new(job, &seams, ends, max_concurrency, rules, listeners)
                .guarded_by(guard.clone()),
            guard,
            errors: ErrorDispatcher::new(self.errors, &seams, answers.clone(), inbox.abort.clone()),
            timer: scheduler.timer().place(fires),
            subscribers,
            answers,
            limits,
            default_zone: scheduler.default_time_zone.clone(),
            state: State::new(&name, fires_since),
            job: name,
            seams: seams.clone(),
        });
        let shared_with_driver = Arc::clone(&shared);
        let ended = move |ending| drop(shared_with_driver.ending.set(ending));
        seams.spawn.spawn(Box::pin(driver.run(inbox, ended)));
        JobHandle::new(shared, requests)
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

/// Default limit of a call of a listener or an error handler.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(30);

fn at_least_one(max: usize) -> Result<NonZeroUsize, InvalidConfig> {
    NonZeroUsize::new(max)
        .ok_or_else(|| InvalidConfig::new("max_concurrency", max, "1 or more, or no limit at all"))
}
