//! The simulated cluster: processes, connections, the registry and an operator in one world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use checker::history::{FORMAT, Fact, MAX_CONCURRENCY, Record};
use jiff::Timestamp;
use lite::{Following, JobConfig};

use super::process::{Gate, GatedSpawn, JobToRun, Process, Start};
use super::recorder::{FactWriter, Recorder};
use super::registry::{SimRegistry, Weather};
use super::resource::FencedResource;
use super::work::WorkJob;
use super::world::{Streams, WorldClock};
use crate::cluster::{Cluster as _, ClusterError, InstOpts, LinkMode};

/// Options of a simulated cluster.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Name of the run in the history.
    pub run: String,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Network conditions.
    pub weather: Weather,
    /// Time at the beginning.
    pub start: Timestamp,
    /// Coverage that the history must reach to count, by row of the checker.
    pub require: BTreeMap<String, u64>,
    /// True if processes take part in once-per-cluster callbacks; the history records the calls.
    pub calls_back: bool,
    /// Jobs with narrow watches. By default: all jobs if the seed is odd.
    pub following: Following,
    /// Maximum number of runs at the same time in each process; `None` is no limit.
    pub max_concurrency: Option<u32>,
}

impl ClusterOptions {
    /// Returns the options of a cluster with [`Weather::USUAL`]. It begins at noon of a leap day,
    /// half a period before the next fire.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the constant is a time")]
    pub fn new(seed: u64) -> Self {
        let start = Timestamp::from_second(1_709_207_995).expect("the constant is a valid time");
        let run = format!("seed-{seed}");
        Self {
            run,
            seed,
            weather: Weather::USUAL,
            start,
            require: BTreeMap::new(),
            calls_back: false,
            following: following(seed),
            max_concurrency: None,
        }
    }
}

/// Returns the setting for narrow watches: with odd seeds, every job has narrow watches.
#[must_use]
pub fn following(seed: u64) -> Following {
    if seed.is_multiple_of(2) {
        Following::default()
    } else {
        Following::new(1, Duration::from_secs(1))
    }
}

/// How a process is known to the registry.
struct Identity {
    server: String,
    life: Option<String>,
    zone: Option<String>,
}

/// A cluster in virtual time. It implements [`Cluster`](crate::cluster::Cluster).
///
/// Create and use it inside of [`run`](super::run).
#[derive(Debug)]
pub struct ScenarioCluster {
    pub(super) recorder: Recorder,
    pub(super) nemesis: Arc<FactWriter>,
    pub(super) registry: SimRegistry,
    pub(super) job: Option<JobConfig>,
    resource: Arc<FencedResource>,
    streams: Streams,
    calls_back: bool,
    following: Following,
    max_concurrency: Option<u32>,
    pub(super) processes: BTreeMap<String, Process>,
    /// Ended incarnations of processes. What they own is not dropped before the world ends.
    past: Vec<Process>,
    pub(super) links: BTreeMap<String, LinkMode>,
    pub(super) skews: BTreeMap<String, i64>,
    /// Faults in force, by target and kind.
    pub(super) open: BTreeSet<(String, &'static str)>,
    /// Number of the registry outage in force; 0 if there is none.
    pub(super) outage: Arc<AtomicU64>,
    pub(super) n_outages: u64,
}

impl ScenarioCluster {
    /// Period of the job's schedule.
    pub const PERIOD: Duration = Duration::from_secs(10);
    /// Session timeout.
    pub const SESSION_TIMEOUT: Duration = Duration::from_secs(4);
    /// Schedule that fires once a period.
    pub const CRON: &'static str = "0/10 * * * * ?";

    /// Creates a world with [`ClusterOptions::new`].
    ///
    /// # Panics
    /// Outside of [`run`](super::run), or of another tokio runtime with time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_options(ClusterOptions::new(seed))
    }

    /// Creates a world.
    ///
    /// # Panics
    /// Outside of [`run`](super::run), or of another tokio runtime with time.
    #[must_use]
    pub fn with_options(options: ClusterOptions) -> Self {
        let ClusterOptions { run, seed, weather, start, require, .. } = options;
        let ClusterOptions { calls_back, following, max_concurrency, .. } = options;
        let limit = max_concurrency.map(|max| (MAX_CONCURRENCY.to_owned(), max.into()));
        let recorder = Recorder::new(WorldClock::starting_at(start));
        let nemesis = Arc::new(recorder.writer("nemesis", 0));
        nemesis.write(Fact::RunMeta {
            v: FORMAT,
            run,
            seed: Some(seed),
            backend: "embedded".to_owned(),
            session_timeout_ms: u64::try_from(Self::SESSION_TIMEOUT.as_millis()).unwrap_or(0),
            require,
            params: limit.into_iter().collect(),
        });
        let mut streams = Streams::new(seed);
        let registry = SimRegistry::new(
            &recorder,
            Arc::clone(&nemesis),
            streams.network.fork(),
            weather,
            Self::SESSION_TIMEOUT,
        );
        Self {
            resource: Arc::new(FencedResource::new(&recorder)),
            recorder,
            nemesis,
            registry,
            job: None,
            streams,
            calls_back,
            following,
            max_concurrency,
            processes: BTreeMap::new(),
            past: Vec::new(),
            links: BTreeMap::new(),
            skews: BTreeMap::new(),
            open: BTreeSet::new(),
            outage: Arc::default(),
            n_outages: 0,
        }
    }

    /// Returns the number of records so far.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.recorder.with_records(<[Record]>::len)
    }

    /// Returns the virtual time since the world began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.recorder.clock().elapsed()
    }

    /// Returns true if a process of this name exists that has neither ended nor been killed.
    #[must_use]
    pub fn lives(&self, name: &str) -> bool {
        self.processes.get(name).is_some_and(Process::lives)
    }

    /// Lets time pass without faults, and records the feeds in the middle of it. Another record
    /// follows at the end. One of them can have the feed of a reconciliation that is in progress.
    pub async fn elapse_in_calm(&mut self, time: Duration) {
        self.elapse(time / 2).await;
        self.record_feeds();
        self.elapse(time - time / 2).await;
    }

    /// Records how many feeds each session has at the registry.
    pub(super) fn record_feeds(&self) {
        self.registry.record_feeds();
    }

    pub(super) fn resource(&self) -> &Arc<FencedResource> {
        &self.resource
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = (&str, &Process)> {
        self.processes.iter().map(|(name, process)| (name.as_str(), process))
    }

    /// Changes the network conditions of all processes.
    pub fn set_weather(&mut self, weather: Weather) {
        self.registry.set_weather(weather);
    }

    pub(super) fn process(&self, act: &'static str, name: &str) -> Result<&Process, ClusterError> {
        self.processes.get(name).filter(|process| process.lives()).ok_or_else(|| {
            let reason = "is not running".to_owned();
            ClusterError::Process { act, name: name.to_owned(), reason }
        })
    }

    /// Starts a process with the job of the scenarios.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is running already, or no job was created.
    pub fn start_worker(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError> {
        let Some(config) = self.job.clone() else {
            let reason = "has no job to run; create a job first".to_owned();
            return Err(ClusterError::Process { act: "spawn", name: name.to_owned(), reason });
        };
        let resource = Arc::clone(&self.resource);
        let gate = Gate::open();
        let spawn = GatedSpawn { gate: Arc::clone(&gate) };
        let InstOpts { server, work, life, zone } = opts;
        let job = WorkJob { work, period: Self::PERIOD, resource, spawn };
        let jobs = vec![JobToRun { config, job: Arc::new(job), calls_back: self.calls_back }];
        self.start_behind(gate, name, Identity { server, life, zone }, jobs)
    }

    /// Starts a process, or starts a process again that has ended.
    pub(super) fn start(
        &mut self,
        name: &str,
        server: &str,
        life: Option<String>,
        jobs: Vec<JobToRun>,
    ) -> Result<(), ClusterError> {
        let identity = Identity { server: server.to_owned(), life, zone: None };
        self.start_behind(Gate::open(), name, identity, jobs)
    }

    fn start_behind(
        &mut self,
        gate: Arc<Gate>,
        name: &str,
        identity: Identity,
        jobs: Vec<JobToRun>,
    ) -> Result<(), ClusterError> {
        if self.lives(name) {
            let reason = "is running already".to_owned();
            return Err(ClusterError::Process { act: "spawn", name: name.to_owned(), reason });
        }
        let inc = self.processes.get(name).map_or(0, |process| process.inc + 1);
        let start = Start {
            name,
            inc,
            gate,
            server: &identity.server,
            life: identity.life.unwrap_or_else(|| format!("{name}{inc}")),
            zone: identity.zone,
            skew_ms: self.skews.get(name).copied().unwrap_or(0),
            rng: self.streams.lives.fork(),
            following: self.following,
            max_concurrency: self.max_concurrency,
            jobs,
        };
        let process = Process::start(start, &self.recorder, &self.registry).map_err(|error| {
            ClusterError::Harness { act: "spawn".to_owned(), source: error.into() }
        })?;
        if let Some(mode) = self.links.get(name) {
            self.registry.set_link(process.client(), *mode);
        }
        let earlier = self.processes.insert(name.to_owned(), process);
        self.past.extend(earlier);
        Ok(())
    }

    /// Ends the world and returns the history.
    pub(super) fn finish_now(&mut self) -> Vec<Record> {
        self.disarm();
        if self.registry.has_failed() {
            let at = "the simulated network".to_owned();
            let error = "its task has ended with a panic".to_owned();
            self.nemesis.write(Fact::HarnessFailure { at, error });
        }
        self.record_feeds();
        self.nemesis.write(Fact::End);
        for process in self.processes.values().filter(|process| process.lives()) {
            self.registry.kill(process.client());
        }
        self.recorder.close()
    }
}
