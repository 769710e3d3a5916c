//! The scheduler: one registry, one identity, many jobs.

mod builder;
mod jobs;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Dialect, Following, GroupLimits, GroupName, JobConfig, ServerIp};
use futures_util::future::join_all;
use parking_lot::Mutex;
use sharding::{InstanceAttributes, StrategyRegistry};
use tokio_util::sync::CancellationToken;
use trigger::Zone;

use crate::groups;
use crate::identity::Incarnations;
use crate::places::Places;
use crate::reads::ReadTurns;
use crate::runtime::{self, Runtime};
use crate::seams::Seams;
use crate::timer::Timer;
use crate::{
    DumpListener, DumpOptions, ErrorHandlers, EventSubscriber, IntoRegistry, Job, JobHandle,
    Registration, Result, RuntimeJob, ShutdownReport, Template,
};
pub use builder::SchedulerBuilder;
use jobs::Jobs;

/// A process that takes part in jobs: one registry, one identity, any number of jobs.
///
/// Clones refer to the same scheduler. Dropping them does not end its jobs: call
/// [`shutdown`](Self::shutdown). The scheduler never closes the registry centre that it was given.
/// Several schedulers in one process behave as several processes if each has a registry centre, and
/// so a session, of its own.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use lite::{JobBuilder, Scheduler, job_fn};
/// use reg_center::MemoryRegistry;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let registry = MemoryRegistry::new();
/// let builder = Scheduler::builder(Arc::new(registry.connect()));
/// let scheduler = builder.server_ip("10.0.0.7")?.build()?;
/// let job = job_fn(|context| async move {
///     println!("item {}", context.item());
///     Ok(())
/// });
/// let handle = scheduler.schedule(JobBuilder::new("report", 4).build()?, job).await?;
/// handle.trigger().await?;
/// scheduler.shutdown(Duration::from_secs(5)).await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler {
    inner: Arc<Inner>,
}

/// State of a scheduler, shared with its registrations and its runtime jobs.
pub(crate) struct Inner {
    pub(crate) seams: Seams,
    pub(crate) incarnations: Arc<Incarnations>,
    pub(crate) stable_name: Option<String>,
    pub(crate) attributes: InstanceAttributes,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) following: Following,
    /// Time zone of configurations that name none.
    pub(crate) default_time_zone: Zone,
    pub(crate) strategies: StrategyRegistry,
    pub(crate) error_handlers: ErrorHandlers,
    pub(crate) subscribers: Vec<Arc<dyn EventSubscriber>>,
    pub(crate) connect_deadline: Duration,
    /// Stops all jobs at once and without a write.
    pub(crate) abort: CancellationToken,
    /// Cancelled when the scheduler is shut down or aborted: it accepts no more jobs.
    pub(crate) closing: CancellationToken,
    pub(crate) runtime: Runtime,
    /// The places of all runs; `None` if their number is not limited.
    pub(crate) places: Option<Arc<Places>>,
    pub(crate) read_turns: ReadTurns,
    jobs: Mutex<Jobs>,
    timer: OnceLock<Timer>,
}

impl Scheduler {
    /// Creates a builder for a scheduler on a registry.
    #[must_use]
    pub fn builder(registry: impl IntoRegistry) -> SchedulerBuilder {
        SchedulerBuilder::new(registry.into_registry())
    }

    /// Registers a job. Set options on the returned value, then await it.
    ///
    /// 1. Everything is checked. If a value is invalid, nothing is written.
    /// 2. The configuration is settled. The local one is stored if the registry has none, or if it
    ///    has `overwrite`. Otherwise the stored one is in force, and the differences are logged and
    ///    returned by [`JobHandle::config_differences`]. A stored one that cannot be read stays as
    ///    it is, and only this job waits until an operator repairs it.
    /// 3. The job takes part: see [`JobHandle::joined`].
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) names the field, its value and the valid values.
    /// [`Error::AlreadyScheduled`](crate::Error::AlreadyScheduled) if a job of this name is
    /// scheduled. [`Error::Stopped`](crate::Error::Stopped) after a shutdown.
    /// [`Error::Deadline`](crate::Error::Deadline) and [`Error::Registry`](crate::Error::Registry)
    /// if the configuration could not be settled.
    ///
    /// # Cancel safety
    /// If the future is dropped, the job is not started, and its configuration may have been
    /// stored.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::{JobBuilder, Scheduler, job_fn};
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).build()?;
    /// let config = JobBuilder::new("report", 4).cron("0 0 3 * * ?").build()?;
    /// let job = job_fn(|_| async { Ok(()) });
    /// let handle = scheduler.schedule(config, job).max_concurrency(2).await?;
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schedule(&self, config: JobConfig, job: impl Job) -> Registration {
        Registration::new(Arc::clone(&self.inner), config, Arc::new(job))
    }

    /// Offers a template for runtime jobs. This process takes part in each job of it, existing and
    /// future ones, as long as the job exists, unless its [labels](SchedulerBuilder::labels)
    /// exclude the job.
    ///
    /// [`runtime_jobs`](Self::runtime_jobs) returns their states, and [`job`](Self::job) the handle
    /// of one that runs in this process.
    ///
    /// With the first template this process subscribes to the index of runtime jobs. It reads the
    /// index for each new connection, and otherwise only when a job is created or removed. Each job
    /// that this process joins costs as much as a job that the program registers.
    ///
    /// # Errors
    /// [`Error::AlreadyOffered`](crate::Error::AlreadyOffered) if a template of this name is
    /// offered, [`Error::ShutDown`](crate::Error::ShutDown) after a shutdown.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use lite::{Scheduler, Template, job_fn};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).labels(["eu"])?.build()?;
    /// let report = |new: lite::NewJob| Ok(new.run(job_fn(|_| async { Ok(()) })));
    /// scheduler.offer(Template::new("report", report)?).await?;
    /// assert!(scheduler.runtime_jobs().is_empty(), "no job was created from it");
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::unused_async, reason = "it starts a task, which needs a runtime")]
    pub async fn offer(&self, template: Template) -> Result<()> {
        runtime::offer(&self.inner, template)
    }

    /// Stores the limits of a group of jobs, if the group has none yet, and returns the stored
    /// limits. Jobs name the group by [`JobBuilder::group`](crate::JobBuilder::group).
    ///
    /// Limits that are stored already stay: operators change them by `ejob group set`.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if a limit is invalid.
    /// [`Error::Group`](crate::Error::Group) if the registry does not answer within the
    /// [connect deadline](SchedulerBuilder::connect_deadline), or if the stored limits cannot be
    /// read.
    ///
    /// # Cancel safety
    /// If the future is dropped, the limits may have been stored. A second call is safe.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use lite::{GroupLimits, GroupName, JobBuilder, Scheduler, StartRate, job_fn};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).build()?;
    /// let start_rate = Some(StartRate { max: 100, period_seconds: 60 });
    /// let limits = GroupLimits { cluster_concurrency: Some(4), start_rate };
    /// let stored = scheduler.define_group(GroupName::new("database")?, limits).await?;
    /// assert_eq!(stored, limits);
    /// let config = JobBuilder::new("import", 12).group("database").build()?;
    /// let handle = scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await?;
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn define_group(&self, group: GroupName, limits: GroupLimits) -> Result<GroupLimits> {
        groups::define(&self.inner.seams, self.inner.connect_deadline, group, limits).await
    }

    /// Returns the runtime jobs that this process knows, in the order of their names. Empty as long
    /// as it offers no template.
    #[must_use]
    pub fn runtime_jobs(&self) -> Vec<RuntimeJob> {
        self.inner.runtime.job_states.all()
    }

    /// Returns the job of this name, if it is registered in this process.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<JobHandle> {
        self.jobs().into_iter().find(|handle| handle.name().as_str() == name)
    }

    /// Returns all jobs that were registered in this process, including ended ones, in the order of
    /// their names. A runtime job is included from the time it is joined until it is removed.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobHandle> {
        self.inner.jobs.lock().handles()
    }

    /// Returns the address by which operators know this process.
    #[must_use]
    pub fn server_ip(&self) -> &ServerIp {
        self.inner.incarnations.server()
    }

    /// Opens a port that answers with the nodes of a job, as Java instances do.
    ///
    /// A request is one line: `dump@{job}` or, with [`DumpOptions::job`], `dump`. The answer has
    /// one line per node, `path | data`, with masked addresses; then the connection is closed. The
    /// answer to an invalid request is one line that begins with `error: ` and gives the reason.
    ///
    /// # Errors
    /// [`Error::Listen`](crate::Error::Listen) if the port cannot be opened.
    /// [`Error::Name`](crate::Error::Name) and [`Error::Config`](crate::Error::Config) if an option
    /// is invalid.
    ///
    /// # Cancel safety
    /// If the future is dropped, the port is closed.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// use lite::{DumpOptions, Scheduler};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).build()?;
    /// let listener = scheduler.listen_for_dumps(DumpOptions::on_port(0)).await?;
    /// assert!(listener.local_addr().ip().is_loopback());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn listen_for_dumps(&self, options: DumpOptions) -> Result<DumpListener> {
        DumpListener::open(options, self.inner.seams.clone(), &self.inner.abort).await
    }

    /// Shuts all jobs down at the same time, each as [`JobHandle::shutdown`] does, and accepts no
    /// more jobs.
    ///
    /// The registry centre stays open. If a job's report is not `deregistered`, the instance keeps
    /// its items until the centre is closed.
    ///
    /// # Cancel safety
    /// The shutdown goes on if the future is dropped.
    pub async fn shutdown(&self, deadline: Duration) -> Vec<ShutdownReport> {
        self.inner.jobs.lock().close();
        self.inner.closing.cancel();
        let jobs = self.jobs();
        let reports = join_all(jobs.iter().map(|job| job.shutdown(deadline))).await;
        // A job whose driver was dropped by the runtime has no report.
        reports.into_iter().flatten().collect()
    }

    /// Stops everything at once and writes nothing to the registry, as a crash does. For tests and
    /// demonstrations.
    ///
    /// Futures of running items are dropped at their next await. The instance keeps its items until
    /// its session ends: close the registry centre, or let the session expire.
    pub fn abort(&self) {
        self.inner.jobs.lock().close();
        self.inner.abort.cancel();
    }
}

impl Inner {
    /// Returns the timer. Its task is started with the first job, because `build` may run outside
    /// of a runtime.
    pub(crate) fn timer(&self) -> &Timer {
        self.timer.get_or_init(|| Timer::start(&self.seams))
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}
