//! Builder of a scheduler.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Dialect, Following, InvalidConfig, InvalidName, Label, ServerIp};
use parking_lot::Mutex;
use reg_center::RegistryCenter;
use sharding::{InstanceAttributes, InvalidPlacement, StrategyRegistry};
use tokio_util::sync::CancellationToken;
use trigger::Zone;

use super::{Inner, Scheduler};
use crate::address::{self, Network, Preference};
use crate::identity::Incarnations;
use crate::places::Places;
use crate::reads::ReadTurns;
use crate::registration;
use crate::runtime::{self, Runtime, RuntimeJobStates};
use crate::seams::{Clock, Randomness, Seams, Spawn, SystemClock, SystemRandomness, TokioSpawn};
use crate::{ErrorHandlers, EventSubscriber, Result, config_check};

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
/// | [`weight`](Self::weight), [`zone`](Self::zone), [`label`](Self::label) | 1, none, none |
/// | [`strategies`](Self::strategies) | those of the `sharding` crate |
/// | [`error_handlers`](Self::error_handlers) | `LOG`, `IGNORE` and `THROW` |
/// | [`labels`](Self::labels) | none: runtime jobs are joined with any label |
/// | [`max_runtime_jobs`](Self::max_runtime_jobs) | 1 000 |
/// | [`max_concurrency`](Self::max_concurrency) | no limit |
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
    attributes: InstanceAttributes,
    dialect: Option<Dialect>,
    following: Following,
    default_time_zone: Zone,
    strategies: StrategyRegistry,
    error_handlers: ErrorHandlers,
    subscribers: Vec<Arc<dyn EventSubscriber>>,
    connect_deadline: Duration,
    labels: Option<BTreeSet<Label>>,
    max_runtime_jobs: usize,
    max_concurrency: Option<usize>,
}

impl SchedulerBuilder {
    pub(super) fn new(registry: Arc<dyn RegistryCenter>) -> Self {
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
            attributes: InstanceAttributes::default(),
            dialect: None,
            following: Following::default(),
            default_time_zone: Zone::utc(),
            strategies: StrategyRegistry::default(),
            error_handlers: ErrorHandlers::default(),
            subscribers: Vec::new(),
            connect_deadline: Duration::from_secs(30),
            labels: None,
            max_runtime_jobs: runtime::DEFAULT_MAX_JOBS,
            max_concurrency: None,
        }
    }

    /// Sets the address by which operators know, enable and disable this process. Java peers accept
    /// IPv4 only.
    ///
    /// # Errors
    /// [`Error::Name`](crate::Error::Name) if the text is not an IP address.
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
    /// [`Error::Config`](crate::Error::Config) if the text is not an IPv4 network.
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

    /// Sets the weight of this process, 1 to 100: one of weight 2 gets twice the items of one of
    /// weight 1, in jobs with the strategy `PLACEMENT`. Default 1.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the field `weight`.
    pub fn weight(mut self, weight: u32) -> Result<Self> {
        self.attributes = placed("weight", self.attributes.with_weight(weight))?;
        Ok(self)
    }

    /// Sets the zone of this process: processes of a zone can fail together. The strategy
    /// `PLACEMENT` gives no zone more than its share of a job's items.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the field `zone`.
    pub fn zone(mut self, zone: impl Into<String>) -> Result<Self> {
        self.attributes = placed("zone", self.attributes.with_zone(zone))?;
        Ok(self)
    }

    /// Adds a label of this process, which the [placement](crate::JobBuilder::placement) rules of
    /// jobs require, prefer or avoid. Labels of runtime jobs are another thing: see
    /// [`labels`](Self::labels).
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the field `label`.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::Scheduler;
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry)
    ///     .weight(2)?
    ///     .zone("eu-1")?
    ///     .label("disk", "ssd")?
    ///     .build()?;
    /// # Ok::<(), lite::Error>(())
    /// ```
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Result<Self> {
        self.attributes = placed("label", self.attributes.with_label(key, value))?;
        Ok(self)
    }

    /// Sets weight, zone and labels together.
    #[must_use]
    pub fn attributes(mut self, attributes: InstanceAttributes) -> Self {
        self.attributes = attributes;
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
    /// [`Error::Config`](crate::Error::Config) with the field `default_time_zone` if there is no
    /// such zone.
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
    /// [`Error::Name`](crate::Error::Name) if a label is blank, longer than 128 bytes, has blanks
    /// at its ends, a comma, or control characters.
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

    /// Sets how many items run at the same time in this process, over all of its jobs. There is no
    /// limit by default.
    ///
    /// Further claimed runs wait. Free places go to the jobs in turn, so that no job starves.
    /// [`Registration::max_concurrency`](crate::Registration::max_concurrency) limits one job; a
    /// run that waits for its own job takes no place here.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use lite::Scheduler;
    /// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
    /// let scheduler = Scheduler::builder(registry).max_concurrency(8).build()?;
    /// # Ok::<(), lite::Error>(())
    /// ```
    #[must_use]
    pub fn max_concurrency(mut self, max: usize) -> Self {
        self.max_concurrency = Some(max);
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
    /// [`Error::Name`](crate::Error::Name) if the name of the instance is invalid;
    /// [`Error::Config`](crate::Error::Config) if this host has no address of the requested
    /// interface or network, or if [`max_concurrency`](Self::max_concurrency) is 0.
    pub fn build(self) -> Result<Scheduler> {
        let server = match self.server {
            Some(server) => server,
            None => address::server(&self.preference)?,
        };
        let max_concurrency = registration::checked_concurrency(self.max_concurrency)?;
        let abort = CancellationToken::new();
        let job_states = RuntimeJobStates::new(self.subscribers.clone());
        let inner = Inner {
            incarnations: Arc::new(incarnations(server, self.instance_name)?),
            stable_name: self.stable_name,
            attributes: self.attributes,
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
            places: max_concurrency.map(Places::new),
            read_turns: ReadTurns::default(),
            timer: OnceLock::new(),
            jobs: Mutex::default(),
        };
        Ok(Scheduler { inner: Arc::new(inner) })
    }
}

fn placed(
    field: &'static str,
    attributes: Result<InstanceAttributes, InvalidPlacement>,
) -> Result<InstanceAttributes, InvalidConfig> {
    attributes.map_err(|error| {
        let value = format!("{:?} in {}", error.value, error.part);
        InvalidConfig::new(field, value, error.valid)
    })
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
