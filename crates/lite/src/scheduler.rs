//! The scheduler: one registry, one identity, many jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Dialect, Following, InvalidName, JobConfig, JobName, Label, ServerIp};
use futures_util::future::join_all;
use parking_lot::Mutex;
use reg_center::RegistryCenter;
use sharding::StrategyRegistry;
use tokio_util::sync::CancellationToken;
use trigger::Zone;

use crate::address::{self, Network, Preference};
use crate::identity::Incarnations;
use crate::runtime::{self, Runtime, RuntimeJobStates};
use crate::seams::{Clock, Randomness, Seams, Spawn, SystemClock, SystemRandomness, TokioSpawn};
use crate::timer::Timer;
use crate::{
    DumpListener, DumpOptions, Error, ErrorHandlers, EventSubscriber, IntoRegistry, Job, JobHandle,
    Registration, Result, RuntimeJob, ShutdownReport, Template, config_check,
};

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

pub(crate) struct Inner {
    pub(crate) seams: Seams,
    pub(crate) incarnations: Arc<Incarnations>,
    pub(crate) stable_name: Option<String>,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) following: Following,
    /// Time zone of configurations that name none.
    pub(crate) default_time_zone: Zone,
    pub(crate) strategies: StrategyRegistry,
    pub(crate) error_handlers: ErrorHandlers,
    pub(crate) subscribers: Vec<Arc<dyn EventSubscriber>>,
    pub(crate) connect_deadline: Duration,
    pub(crate) abort: CancellationToken,
    /// Cancelled when the scheduler is shut down or aborted: it accepts no more jobs.
    pub(crate) closing: CancellationToken,
    pub(crate) runtime: Runtime,
    pub(crate) jobs: Mutex<Jobs>,
    timer: OnceLock<Timer>,
}

/// The jobs of a scheduler; `None` stands for a job that is being registered.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    closed: bool,
    pub(crate) by_name: BTreeMap<JobName, Option<JobHandle>>,
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
    /// [`Error::Config`] names the field, its value and the valid values.
    /// [`Error::AlreadyScheduled`] if a job of this name is scheduled. [`Error::Stopped`] after a
    /// shutdown. [`Error::Deadline`] and [`Error::Registry`] if the configuration could not be
    /// settled.
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
    /// [`Error::AlreadyOffered`] if a template of this name is offered, [`Error::ShutDown`] after a
    /// shutdown.
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
        self.inner.jobs.lock().by_name.values().flatten().cloned().collect()
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
    /// [`Error::Listen`] if the port cannot be opened. [`Error::Name`] and [`Error::Config`] if an
    /// option is invalid.
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
        self.inner.jobs.lock().closed = true;
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
        self.inner.jobs.lock().closed = true;
        self.inner.abort.cancel();
    }
}

impl Inner {
    /// Returns the timer. Its task is started with the first job, because `build` may run outside
    /// of a runtime.
    pub(crate) fn timer(&self) -> &Timer {
        self.timer.get_or_init(|| Timer::start(&self.seams))
    }

    /// Reserves a name, so that only one of two concurrent registrations succeeds.
    pub(crate) fn reserve(self: &Arc<Self>, name: &JobName) -> Result<Reservation> {
        let mut jobs = self.jobs.lock();
        if jobs.closed {
            return Err(Error::Stopped { job: name.clone() });
        }
        let taken = match jobs.by_name.get(name) {
            Some(Some(handle)) => !handle.has_ended(),
            Some(None) => true,
            None => false,
        };
        if taken {
            return Err(Error::AlreadyScheduled { job: name.clone() });
        }
        jobs.by_name.insert(name.clone(), None);
        Ok(Reservation { inner: Arc::clone(self), name: name.clone() })
    }
}

/// A reserved name. Dropping it releases the name if no job was registered.
pub(crate) struct Reservation {
    inner: Arc<Inner>,
    name: JobName,
}

impl Reservation {
    /// Replaces the reservation by the job.
    pub(crate) fn fill(self, handle: JobHandle) -> Result<()> {
        let mut jobs = self.inner.jobs.lock();
        let closed = jobs.closed;
        jobs.by_name.insert(self.name.clone(), Some(handle));
        drop(jobs);
        if closed { Err(Error::Stopped { job: self.name.clone() }) } else { Ok(()) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut jobs = self.inner.jobs.lock();
        if jobs.by_name.get(&self.name).is_some_and(Option::is_none) {
            jobs.by_name.remove(&self.name);
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheduler").field("jobs", &self.jobs).finish_non_exhaustive()
    }
}

/// Builds a [`Scheduler`].
///
/// | option | default |
/// |---|---|
/// | [`server_ip`](Self::server_ip) | the smallest suitable IPv4 address of this host, see below |
/// | [`network_interface`](Self::network_interface), [`network`](Self::network) | any |
/// | [`instance_name`](Self::instance_name) | process id and suffix, `4123-k3f9a` |
/// | [`java_instance_name`](Self::java_instance_name) | off: the name has a suffix |
/// | [`dialect`](Self::dialect) | that of the job's stored nodes, else ElasticJob 2.1.5 |
/// | [`following`](Self::following) | narrow watch in jobs with 64 items or more |
/// | [`default_time_zone`](Self::default_time_zone) | UTC |
/// | [`connect_deadline`](Self::connect_deadline) | 30 s |
/// | [`strategies`](Self::strategies) | those of the `sharding` crate |
/// | [`error_handlers`](Self::error_handlers) | `LOG`, `IGNORE` and `THROW` |
/// | [`labels`](Self::labels) | none: runtime jobs are joined with any label |
/// | [`max_runtime_jobs`](Self::max_runtime_jobs) | 1 000 |
/// | [`event_subscriber`](Self::event_subscriber) | the log only |
/// | [`clock`](Self::clock), [`spawner`](Self::spawner) | those of the operating system and tokio |
/// | [`randomness`](Self::randomness) | that of the operating system |
///
/// The default address is neither loopback nor link-local. If the host has no such address, it is
/// `127.0.0.1`.
pub struct SchedulerBuilder {
    seams: Seams,
    server: Option<ServerIp>,
    preference: Preference,
    instance_name: Option<String>,
    stable_name: Option<String>,
    dialect: Option<Dialect>,
    following: Following,
    default_time_zone: Zone,
    strategies: StrategyRegistry,
    error_handlers: ErrorHandlers,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
    connect_deadline: Duration,
    labels: Option<BTreeSet<Label>>,
    max_runtime_jobs: usize,
}

impl SchedulerBuilder {
    fn new(registry: Arc<dyn RegistryCenter>) -> Self {
        let seams = Seams {
            registry,
            clock: Arc::new(SystemClock::default()),
            spawn: Arc::new(TokioSpawn),
            randomness: Arc::new(SystemRandomness),
        };
        Self {
            seams,
            server: None,
            preference: Preference::default(),
            instance_name: None,
            stable_name: None,
            dialect: None,
            following: Following::default(),
            default_time_zone: Zone::utc(),
            strategies: StrategyRegistry::default(),
            error_handlers: ErrorHandlers::default(),
            subscribers: Vec::new(),
            connect_deadline: Duration::from_secs(30),
            labels: None,
            max_runtime_jobs: runtime::DEFAULT_MAX_JOBS,
        }
    }

    /// Sets the address by which operators know, enable and disable this process. Java peers accept
    /// IPv4 only.
    ///
    /// # Errors
    /// [`Error::Name`] if the text is not an IP address.
    pub fn server_ip(mut self, ip: &str) -> Result<Self> {
        self.server = Some(ServerIp::new(ip)?);
        Ok(self)
    }

    /// Sets the network interface of the address, `eth1`, if [`server_ip`](Self::server_ip) is not
    /// set. The address is the smallest IPv4 address of the interface, of any kind.
    /// [`build`](Self::build) fails if there is none.
    #[must_use]
    pub fn network_interface(mut self, name: impl Into<String>) -> Self {
        self.preference.interface = Some(name.into());
        self
    }

    /// Sets the IPv4 network of the address, `10.0.0.0/8`, if [`server_ip`](Self::server_ip) is not
    /// set. The address is the smallest one in the network that the host, or the
    /// [`network_interface`](Self::network_interface), has. [`build`](Self::build) fails if there
    /// is none.
    ///
    /// # Errors
    /// [`Error::Config`] if the text is not an IPv4 network.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = lite::Scheduler::builder(registry).network("127.0.0.0/8")?.build()?;
    /// assert_eq!(scheduler.server_ip().as_str(), "127.0.0.1");
    /// # Ok::<(), lite::Error>(())
    /// ```
    pub fn network(mut self, network: &str) -> Result<Self> {
        self.preference.network = Some(Network::parse(network)?);
        Ok(self)
    }

    /// Sets the part of the instance id after `@-@`. It must never have been used in the job
    /// before, neither by another process of this server nor by an earlier run of this one. The
    /// incarnation after a lost session gets a random suffix.
    #[must_use]
    pub fn instance_name(mut self, name: impl Into<String>) -> Self {
        self.instance_name = Some(name.into());
        self
    }

    /// Uses the bare process id as the part of the instance id after `@-@`, as Java instances do.
    /// In containers, where the process id is always 1 and addresses are reused, two incarnations
    /// can then have the same id.
    #[must_use]
    pub fn java_instance_name(self) -> Self {
        self.instance_name(std::process::id().to_string())
    }

    /// Sets a name that this process keeps across sessions and restarts, for jobs with
    /// [`static_sharding`](crate::JobBuilder::static_sharding): the name of a host, or the ordinal
    /// of a replica. No other process that runs at the same time may have it.
    #[must_use]
    pub fn stable_name(mut self, name: impl Into<String>) -> Self {
        self.stable_name = Some(name.into());
        self
    }

    /// Sets the dialect of the namespace, for jobs that run together with Java instances. New jobs
    /// are stored in it, and a job that is stored in another one is refused. Without it, a stored
    /// job keeps its dialect, and new jobs get that of ElasticJob 2.1.5.
    ///
    /// The dialect of a stored job is that of its configuration. If there is none, or it cannot be
    /// read, the nodes of its instances and servers and its root decide. If they do not show it,
    /// the form of the damaged document decides.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the time zone of cron expressions whose stored configuration names none: an IANA name
    /// or `GMT+08:00`. Every configuration of ElasticJob 2.1.5 and most of 3.x are such: Java
    /// instances fire them in the default zone of their virtual machine. A configuration that names
    /// a zone is not affected.
    ///
    /// **All processes of a job must have the same one**, Java instances included. It is not
    /// stored, so no process can detect that two processes differ. Each would fire its own items at
    /// its own times.
    ///
    /// # Errors
    /// [`Error::Config`] with the field `default_time_zone` if there is no such zone.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::Scheduler;
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).default_time_zone("Asia/Shanghai")?.build()?;
    /// # Ok::<(), lite::Error>(())
    /// ```
    pub fn default_time_zone(mut self, name: &str) -> Result<Self> {
        self.default_time_zone = config_check::zone("default_time_zone", name)?;
        Ok(self)
    }

    /// Sets the limit of a job's registration, while the registry does not answer.
    #[must_use]
    pub fn connect_deadline(mut self, deadline: Duration) -> Self {
        self.connect_deadline = deadline;
        self
    }

    /// Sets the sharding strategies that jobs can name.
    #[must_use]
    pub fn strategies(mut self, strategies: StrategyRegistry) -> Self {
        self.strategies = strategies;
        self
    }

    /// Sets the types of error handlers that the stored configurations of jobs can choose.
    #[must_use]
    pub fn error_handlers(mut self, types: ErrorHandlers) -> Self {
        self.error_handlers = types;
        self
    }

    /// Accepts only runtime jobs with one of these labels, and none without a label; see
    /// [`offer`](Scheduler::offer). Jobs that the program registers have no labels. Repeated calls
    /// add labels.
    ///
    /// # Errors
    /// [`Error::Name`] if a label is blank, longer than 128 bytes, has blanks at its ends, a comma,
    /// or control characters.
    pub fn labels(mut self, labels: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let known = self.labels.get_or_insert_default();
        for label in labels {
            known.insert(Label::new(label.as_ref())?);
        }
        Ok(self)
    }

    /// Sets the maximum number of runtime jobs of this process. Further jobs are reported as
    /// refused until others are removed. The limit protects the memory of this process from clients
    /// that can write to the registry.
    #[must_use]
    pub fn max_runtime_jobs(mut self, max: usize) -> Self {
        self.max_runtime_jobs = max;
        self
    }

    /// Sets the jobs for which this process uses a narrow watch, which covers its own items, while
    /// no other node concerns it.
    #[must_use]
    pub fn following(mut self, following: Following) -> Self {
        self.following = following;
        self
    }

    /// Adds a subscriber of the events of all jobs.
    #[must_use]
    pub fn event_subscriber(mut self, subscriber: impl EventSubscriber) -> Self {
        self.subscribers.push(Arc::new(subscriber));
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.seams.clock = clock;
        self
    }

    /// Sets the spawner of tasks.
    #[must_use]
    pub fn spawner(mut self, spawn: Arc<dyn Spawn>) -> Self {
        self.seams.spawn = spawn;
        self
    }

    /// Sets the source of random suffixes.
    #[must_use]
    pub fn randomness(mut self, randomness: Arc<dyn Randomness>) -> Self {
        self.seams.randomness = randomness;
        self
    }

    /// Creates the scheduler. It starts no task and sends no request to the registry before the
    /// first job.
    ///
    /// # Errors
    /// [`Error::Name`] if the name of the instance is invalid; [`Error::Config`] if this host has
    /// no address of the requested interface or network.
    pub fn build(self) -> Result<Scheduler> {
        let server = match self.server {
            Some(server) => server,
            None => address::server(&self.preference)?,
        };
        let abort = CancellationToken::new();
        let job_states = RuntimeJobStates::new(self.subscribers.clone());
        let inner = Inner {
            incarnations: Arc::new(incarnations(server, self.instance_name)?),
            stable_name: self.stable_name,
            dialect: self.dialect,
            following: self.following,
            default_time_zone: self.default_time_zone,
            seams: self.seams,
            strategies: self.strategies,
            error_handlers: self.error_handlers,
            subscribers: self.subscribers,
            connect_deadline: self.connect_deadline,
            closing: abort.child_token(),
            abort,
            runtime: Runtime::new(self.labels, self.max_runtime_jobs, job_states),
            timer: OnceLock::new(),
            jobs: Mutex::default(),
        };
        Ok(Scheduler { inner: Arc::new(inner) })
    }
}

fn incarnations(
    server: ServerIp,
    instance_name: Option<String>,
) -> Result<Incarnations, InvalidName> {
    match instance_name {
        Some(name) => Incarnations::named(server, name),
        None => Ok(Incarnations::of_process(server)),
    }
}

impl fmt::Debug for SchedulerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerBuilder").field("seams", &self.seams).finish_non_exhaustive()
    }
}
