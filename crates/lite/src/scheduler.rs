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
use crate::identity::Lives;
use crate::runtime::{self, Board, Runtime};
use crate::seams::{Clock, Randomness, Seams, Spawn, SystemClock, SystemRandomness, TokioSpawn};
use crate::timer::Timer;
use crate::{
    DumpListener, DumpOptions, Error, ErrorHandlers, EventSubscriber, IntoRegistry, Job, JobHandle,
    Registration, Result, RuntimeJob, ShutdownReport, Template, config_check,
};

/// A process that takes part in jobs: one registry, one identity, any number of jobs.
///
/// Clones are handles to the same scheduler. Dropping them does not end its jobs: call [`shutdown`](Self::shutdown).
/// The registry belongs to who made it and is never closed here. Several schedulers in one process are as good as
/// several processes if each has a registry centre, and so a session, of its own.
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
/// let scheduler = Scheduler::builder(Arc::new(registry.connect())).server_ip("10.0.0.7")?.build()?;
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
    pub(crate) lives: Arc<Lives>,
    pub(crate) stable_name: Option<String>,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) following: Following,
    /// The zone of configurations that name none.
    pub(crate) default_time_zone: Zone,
    pub(crate) strategies: StrategyRegistry,
    pub(crate) error_handlers: ErrorHandlers,
    pub(crate) subscribers: Vec<Arc<dyn EventSubscriber>>,
    pub(crate) connect_deadline: Duration,
    pub(crate) abort: CancellationToken,
    /// Fires when the scheduler is shut down or aborted: no more jobs are taken.
    pub(crate) closing: CancellationToken,
    pub(crate) runtime: Runtime,
    pub(crate) jobs: Mutex<Jobs>,
    timer: OnceLock<Timer>,
}

/// The jobs of a scheduler; `None` is one that is being registered.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    closed: bool,
    pub(crate) by_name: BTreeMap<JobName, Option<JobHandle>>,
}

impl Scheduler {
    /// Begins the description of a scheduler on a registry.
    #[must_use]
    pub fn builder(registry: impl IntoRegistry) -> SchedulerBuilder {
        SchedulerBuilder::new(registry.into_registry())
    }

    /// Registers a job. Await what is returned, with options before if need be.
    ///
    /// First everything is checked; nothing is written if something is wrong. Then the configuration is settled: if
    /// the registry has none, or the local one says `overwrite`, the local one is stored; otherwise the stored one is
    /// in force, and the differences are logged and listed by [`JobHandle::config_differences`]. A stored one that
    /// cannot be read stays as it is, and this job alone waits until it is repaired. Then the job takes part: see
    /// [`JobHandle::joined`].
    ///
    /// # Errors
    /// [`Error::Config`] names the field, its value and what would be valid. [`Error::AlreadyScheduled`],
    /// [`Error::Stopped`] after a shutdown; [`Error::Deadline`] and [`Error::Registry`] if the configuration could
    /// not be settled.
    ///
    /// # Cancel safety
    /// If the future is dropped the job is not started, and its configuration may have been stored.
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

    /// Offers a template for jobs that are made at run time: those that there are, and those that come. This process takes
    /// part in each of them, as long as it exists, unless its [labels](SchedulerBuilder::labels) say otherwise. How they stand is
    /// told by [`runtime_jobs`](Self::runtime_jobs); what can be done to one that runs here, by its [`job`](Self::job).
    ///
    /// With the first template this process begins to listen to the list of such jobs: one subscription, which costs a
    /// reading of the list for each new connection, and nothing while no job is made or removed. Each job that it takes costs
    /// what a job costs that is registered by code.
    ///
    /// # Errors
    /// [`Error::AlreadyOffered`] if there is one of this name, [`Error::ShutDown`] after a shutdown.
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
    /// assert!(scheduler.runtime_jobs().is_empty(), "nobody has made one yet");
    /// # scheduler.abort();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::unused_async, reason = "it starts a task, which needs a runtime")]
    pub async fn offer(&self, template: Template) -> Result<()> {
        runtime::offer(&self.inner, template)
    }

    /// Returns the jobs that were made at run time, as far as this process has heard of them, in the order of their names.
    /// Empty as long as it offers no template.
    #[must_use]
    pub fn runtime_jobs(&self) -> Vec<RuntimeJob> {
        self.inner.runtime.board.all()
    }

    /// Returns the job of this name, if it was registered here.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<JobHandle> {
        self.jobs().into_iter().find(|handle| handle.name().as_str() == name)
    }

    /// Returns all jobs that were registered here, ended ones included, in the order of their names. One that was made at run
    /// time is among them from when it is taken until it was removed.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobHandle> {
        self.inner.jobs.lock().by_name.values().flatten().cloned().collect()
    }

    /// Returns the address that operators know this process by.
    #[must_use]
    pub fn server_ip(&self) -> &ServerIp {
        self.inner.lives.server()
    }

    /// Answers at a port what the registry holds of a job, as Java instances do: one request line, `dump@{job}` or, with
    /// [`DumpOptions::job`], `dump`; then one line per node, `path | data`, addresses masked; then the connection is
    /// closed. A request that cannot be answered gets one line that begins with `error: ` and says why.
    ///
    /// # Errors
    /// [`Error::Listen`] if the port cannot be had. [`Error::Name`] and [`Error::Config`] if an option cannot be used.
    ///
    /// # Cancel safety
    /// If the future is dropped nobody listens.
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

    /// Shuts all jobs down at the same time, each as [`JobHandle::shutdown`] does, and takes no more.
    ///
    /// The registry centre stays open. A job whose report is not `deregistered` keeps what it owns until the centre
    /// is closed.
    ///
    /// # Cancel safety
    /// The shutdown goes on if the future is dropped.
    pub async fn shutdown(&self, deadline: Duration) -> Vec<ShutdownReport> {
        self.inner.jobs.lock().closed = true;
        self.inner.closing.cancel();
        let jobs = self.jobs();
        let reports = join_all(jobs.iter().map(|job| job.shutdown(deadline))).await;
        // A job that the runtime has taken down has nothing to report.
        reports.into_iter().flatten().collect()
    }

    /// Stops everything at once, without telling the registry: what a crash does, for tests and demonstrations.
    ///
    /// Futures of running items are dropped at their next await. What the process owned stays its own until its
    /// session ends: close the registry centre, or let it expire.
    pub fn abort(&self) {
        self.inner.jobs.lock().closed = true;
        self.inner.abort.cancel();
    }
}

impl Inner {
    /// The timer's task is started with the first job, when there is a runtime for certain.
    pub(crate) fn timer(&self) -> &Timer {
        self.timer.get_or_init(|| Timer::start(&self.seams))
    }

    /// Takes a name, so that two registrations of it at the same time do not both succeed.
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

/// A name that is taken; dropping it gives the name back if no job has come of it.
pub(crate) struct Reservation {
    inner: Arc<Inner>,
    name: JobName,
}

impl Reservation {
    /// Puts the job in its place.
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
/// | [`server_ip`](Self::server_ip) | the smallest IPv4 address of this host that is neither loopback nor link-local, else `127.0.0.1` |
/// | [`network_interface`](Self::network_interface), [`network`](Self::network) | any |
/// | [`life`](Self::life), [`java_life`](Self::java_life) | process id and random suffix, `4123-k3f9a` |
/// | [`dialect`](Self::dialect) | that of what is stored of the job, else ElasticJob 2.1.5 |
/// | [`following`](Self::following) | in jobs with 64 items or more, an instance follows its own |
/// | [`default_time_zone`](Self::default_time_zone) | UTC |
/// | [`connect_deadline`](Self::connect_deadline) | 30 s |
/// | [`strategies`](Self::strategies) | those of the `sharding` crate |
/// | [`error_handlers`](Self::error_handlers) | `LOG`, `IGNORE` and `THROW` |
/// | [`labels`](Self::labels) | none: jobs that are made at run time are taken whatever their label |
/// | [`max_runtime_jobs`](Self::max_runtime_jobs) | 1 000 |
/// | [`event_subscriber`](Self::event_subscriber) | the log only |
/// | [`clock`](Self::clock), [`spawner`](Self::spawner), [`randomness`](Self::randomness) | those of the operating system and tokio |
pub struct SchedulerBuilder {
    seams: Seams,
    server: Option<ServerIp>,
    preference: Preference,
    life: Option<String>,
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
            life: None,
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

    /// Sets the address that operators know this process by, and enable and disable. Java peers take IPv4 only.
    ///
    /// # Errors
    /// [`Error::Name`] if the text is no IP address.
    pub fn server_ip(mut self, ip: &str) -> Result<Self> {
        self.server = Some(ServerIp::new(ip)?);
        Ok(self)
    }

    /// Takes the address from the interface of this name, `eth1`, if [`server_ip`](Self::server_ip) names none: the smallest IPv4
    /// address that it has, of whatever kind. [`build`](Self::build) fails if it has none.
    #[must_use]
    pub fn network_interface(mut self, name: impl Into<String>) -> Self {
        self.preference.interface = Some(name.into());
        self
    }

    /// Takes the address from this IPv4 network, `10.0.0.0/8`, if [`server_ip`](Self::server_ip) names none: the smallest one that
    /// the host, or the [`network_interface`](Self::network_interface), has in it. [`build`](Self::build) fails if there is none.
    ///
    /// # Errors
    /// [`Error::Config`] if the text is no such network.
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

    /// Sets the name of this life, the part of the instance id after `@-@`. It must never have been used before in
    /// the job: not by another process of this server, and not by an earlier run of this one. A life after a lost
    /// session gets a random suffix.
    #[must_use]
    pub fn life(mut self, name: impl Into<String>) -> Self {
        self.life = Some(name.into());
        self
    }

    /// Names this life by the bare process id, as Java instances do. In containers, where the process id is always 1
    /// and addresses are used again, two lives can then look like one.
    #[must_use]
    pub fn java_life(self) -> Self {
        self.life(std::process::id().to_string())
    }

    /// Gives this process a name that it has in all its lives, for jobs with
    /// [`static_sharding`](crate::JobBuilder::static_sharding): the name of a host, or the ordinal of a replica. No other
    /// process that is there at the same time may have it.
    #[must_use]
    pub fn stable_name(mut self, name: impl Into<String>) -> Self {
        self.stable_name = Some(name.into());
        self
    }

    /// Says in which dialect the namespace is, for jobs that share it with Java instances. New jobs are stored in it, and a
    /// job that is stored in another one is refused. Without it, a stored job keeps its own, and new ones get that of
    /// ElasticJob 2.1.5.
    ///
    /// The dialect of a stored job is that of its configuration. Where there is none, or it cannot be read, the nodes of
    /// its instances and servers and its root tell it; if they do not, what a damaged document looks like.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the zone of cron expressions whose stored configuration names none: an IANA name or `GMT+08:00`. That is every
    /// configuration of ElasticJob 2.1.5, and most of 3.x: Java instances fire them in the default zone of their virtual
    /// machine. A configuration that names a zone is not affected.
    ///
    /// **All processes of a job must have the same one**, Java's included: it is stored nowhere, and nobody can tell that
    /// two processes differ. Each would fire its own items at its own times.
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

    /// Sets how long the registration of a job waits for the registry.
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

    /// Takes only those of the jobs that are made at run time which have one of these labels, and none without a label; see
    /// [`offer`](Scheduler::offer). Jobs that are registered by code have none. Called again, it adds to them.
    ///
    /// # Errors
    /// [`Error::Name`] if one is blank, longer than 128 bytes, has blanks at its ends, a comma, or control characters.
    pub fn labels(mut self, labels: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let known = self.labels.get_or_insert_default();
        for label in labels {
            known.insert(Label::new(label.as_ref())?);
        }
        Ok(self)
    }

    /// Sets how many jobs that are made at run time this process takes at most. Those beyond it are refused, and told, until
    /// others are removed: who can write to the registry cannot thereby use up this process's memory.
    #[must_use]
    pub fn max_runtime_jobs(mut self, max: usize) -> Self {
        self.max_runtime_jobs = max;
        self
    }

    /// Says of which jobs this process is told of its own items only, as long as nothing else concerns it.
    #[must_use]
    pub fn following(mut self, following: Following) -> Self {
        self.following = following;
        self
    }

    /// Adds somebody to be told what happens to all jobs.
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

    /// Sets how tasks are started.
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

    /// Makes the scheduler. Nothing is started and nothing is asked of the registry before the first job.
    ///
    /// # Errors
    /// [`Error::Name`] if the name of the life cannot be used; [`Error::Config`] if this host has no address of the
    /// interface or network that was asked for.
    pub fn build(self) -> Result<Scheduler> {
        let server = match self.server {
            Some(server) => server,
            None => address::server(&self.preference)?,
        };
        let abort = CancellationToken::new();
        let board = Board::new(self.subscribers.clone());
        let inner = Inner {
            lives: Arc::new(lives(server, self.life)?),
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
            runtime: Runtime::new(self.labels, self.max_runtime_jobs, board),
            timer: OnceLock::new(),
            jobs: Mutex::default(),
        };
        Ok(Scheduler { inner: Arc::new(inner) })
    }
}

fn lives(server: ServerIp, life: Option<String>) -> Result<Lives, InvalidName> {
    match life {
        Some(name) => Lives::named(server, name),
        None => Ok(Lives::of_process(server)),
    }
}

impl fmt::Debug for SchedulerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerBuilder").field("seams", &self.seams).finish_non_exhaustive()
    }
}
