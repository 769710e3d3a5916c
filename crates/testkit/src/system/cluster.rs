//! The simulated cluster: processes, links, the registry and an operator in one world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use checker::history::{FORMAT, Fact, FaultOutcome, NemesisEvent, Record};
use jiff::Timestamp;
use lite::JobConfig;

use super::process::{JobToRun, Life, Process, Start};
use super::recorder::{Recorder, Voice};
use super::registry::{SimRegistry, Weather};
use super::resource::FencedResource;
use super::work::WorkJob;
use super::world::{Streams, WorldClock};
use crate::scenario::{Action, ClusterError, InstOpts, LinkMode, Point, RegEvent};

/// How long a process that leaves may take until what still runs is cancelled.
const DRAIN_DEADLINE: Duration = Duration::from_secs(45);

/// What a simulated cluster is like.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// What the history calls the run.
    pub run: String,
    /// Where all chance comes from.
    pub seed: u64,
    /// What the network is like.
    pub weather: Weather,
    /// What time it is at the beginning.
    pub start: Timestamp,
    /// What the history must have reached to count, by the checker's coverage rows.
    pub require: BTreeMap<String, u64>,
}

impl ClusterOptions {
    /// Returns the options of a cluster with [`Weather::USUAL`] that begins at noon of a leap day, half a period before
    /// the next fire.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "the constant is a time")]
    pub fn new(seed: u64) -> Self {
        let start = Timestamp::from_second(1_709_207_995).expect("a time of our era");
        let run = format!("seed-{seed}");
        Self { run, seed, weather: Weather::USUAL, start, require: BTreeMap::new() }
    }
}

/// A cluster in virtual time: see [`Cluster`](crate::scenario::Cluster), which it implements.
///
/// Make it and use it inside of [`run`](super::run).
#[derive(Debug)]
pub struct SimCluster {
    pub(super) recorder: Recorder,
    pub(super) nemesis: Arc<Voice>,
    pub(super) registry: SimRegistry,
    pub(super) job: Option<JobConfig>,
    resource: Arc<FencedResource>,
    streams: Streams,
    processes: BTreeMap<String, Process>,
    /// Earlier lives. What they own is never dropped before the world ends.
    past: Vec<Process>,
    links: BTreeMap<String, LinkMode>,
    skews: BTreeMap<String, i64>,
    /// Faults that have begun, by target and kind.
    open: BTreeSet<(String, &'static str)>,
    /// The number of the registry's outage that goes on now; 0 if there is none.
    outage: Arc<AtomicU64>,
    n_outages: u64,
}

impl SimCluster {
    /// The period of the job's schedule.
    pub const PERIOD: Duration = Duration::from_secs(10);
    /// The timeout of sessions.
    pub const SESSION_TIMEOUT: Duration = Duration::from_secs(4);
    /// The schedule that fires once a period.
    pub const CRON: &'static str = "0/10 * * * * ?";

    /// Begins a world with [`ClusterOptions::new`].
    ///
    /// # Panics
    /// Outside of [`run`](super::run), or of another tokio runtime with time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_options(ClusterOptions::new(seed))
    }

    /// Begins a world.
    ///
    /// # Panics
    /// Outside of [`run`](super::run), or of another tokio runtime with time.
    #[must_use]
    pub fn with_options(options: ClusterOptions) -> Self {
        let ClusterOptions { run, seed, weather, start, require } = options;
        let recorder = Recorder::new(WorldClock::starting_at(start));
        let nemesis = Arc::new(recorder.voice("nemesis", 0));
        nemesis.say(Fact::RunMeta {
            v: FORMAT,
            run,
            seed: Some(seed),
            backend: "embedded".to_owned(),
            session_timeout_ms: u64::try_from(Self::SESSION_TIMEOUT.as_millis()).unwrap_or(0),
            require,
            params: BTreeMap::new(),
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
            processes: BTreeMap::new(),
            past: Vec::new(),
            links: BTreeMap::new(),
            skews: BTreeMap::new(),
            open: BTreeSet::new(),
            outage: Arc::default(),
            n_outages: 0,
        }
    }

    /// Returns how much has been recorded so far.
    #[must_use]
    pub fn n_records(&self) -> usize {
        self.recorder.look(<[Record]>::len)
    }

    /// Returns how far this world's time has come.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.recorder.clock().elapsed()
    }

    /// Returns true if there is a process of this name that has neither ended nor been killed.
    #[must_use]
    pub fn lives(&self, name: &str) -> bool {
        self.processes.get(name).is_some_and(Process::lives)
    }

    pub(super) fn resource(&self) -> &Arc<FencedResource> {
        &self.resource
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = (&str, &Process)> {
        self.processes.iter().map(|(name, process)| (name.as_str(), process))
    }

    /// Changes what the network is like for everybody.
    pub fn set_weather(&mut self, weather: Weather) {
        self.registry.set_weather(weather);
    }

    pub(super) fn process(&self, act: &'static str, name: &str) -> Result<&Process, ClusterError> {
        self.processes.get(name).filter(|process| process.lives()).ok_or_else(|| {
            let reason = "does not live".to_owned();
            ClusterError::Process { act, name: name.to_owned(), reason }
        })
    }

    /// Starts a process with the job of scenarios.
    pub(super) fn start_worker(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError> {
        let Some(config) = self.job.clone() else {
            let reason = "has no job to run: create one first".to_owned();
            return Err(ClusterError::Process { act: "spawn", name: name.to_owned(), reason });
        };
        let resource = Arc::clone(&self.resource);
        let job = WorkJob { work: opts.work, period: Self::PERIOD, resource };
        let jobs = vec![JobToRun { config, job: Arc::new(job) }];
        self.start(name, &opts.server, opts.life, jobs)
    }

    /// Starts a process, or a new life of one that has ended.
    pub(super) fn start(
        &mut self,
        name: &str,
        server: &str,
        life: Option<String>,
        jobs: Vec<JobToRun>,
    ) -> Result<(), ClusterError> {
        if self.lives(name) {
            let reason = "lives already".to_owned();
            return Err(ClusterError::Process { act: "spawn", name: name.to_owned(), reason });
        }
        let inc = self.processes.get(name).map_or(0, |process| process.inc + 1);
        let start = Start {
            name,
            inc,
            server,
            life: life.unwrap_or_else(|| format!("{name}{inc}")),
            skew_ms: self.skews.get(name).copied().unwrap_or(0),
            rng: self.streams.lives.fork(),
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

    pub(super) fn kill_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let client = self.process("kill", name)?.client();
        self.end_fault(name, "pause");
        self.end_fault(name, "jobs_paused");
        self.registry.kill(client);
        self.point("crash", name, "");
        Ok(())
    }

    pub(super) fn pause_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let client = self.process("pause", name)?.client();
        self.registry.pause(client);
        self.begin_fault(name, "pause", "");
        Ok(())
    }

    pub(super) fn resume_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("resume", name)?;
        let (client, life) = (process.client(), process.gate.life());
        if life == Life::Paused {
            self.registry.resume(client);
            // A pause at a point of a write has begun without us.
            self.open.insert((name.to_owned(), "pause"));
            self.end_fault(name, "pause");
        }
        Ok(())
    }

    pub(super) fn close_now(&mut self, name: &str) -> Result<(), ClusterError> {
        self.process("close", name)?.close(DRAIN_DEADLINE);
        Ok(())
    }

    pub(super) fn link_now(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError> {
        self.end_fault(name, "partition");
        self.end_fault(name, "delay");
        match mode {
            LinkMode::Pass => {}
            LinkMode::Reset => self.point("reset", name, ""),
            LinkMode::Delay(time) => {
                self.begin_fault(name, "delay", &format!("ms={}", time.as_millis()))
            }
            LinkMode::Black | LinkMode::DropRequests | LinkMode::DropReplies => {
                self.begin_fault(name, "partition", &format!("{mode:?}"));
            }
        }
        let lasting = if mode == LinkMode::Reset { LinkMode::Pass } else { mode };
        self.links.insert(name.to_owned(), lasting);
        if let Some(process) = self.processes.get(name) {
            self.registry.set_link(process.client(), mode);
        }
        Ok(())
    }

    /// Lets so many of a thousand calls of a process lose their request or their reply; 0 heals.
    pub(super) fn lose_now(&mut self, name: &str, permille: u32) -> Result<(), ClusterError> {
        let client = self.process("lose", name)?.client();
        self.end_fault(name, "loss");
        self.registry.set_loss(client, permille);
        if permille > 0 {
            self.begin_fault(name, "loss", &format!("permille={permille}"));
        }
        Ok(())
    }

    pub(super) fn expire_now(&mut self, name: &str) -> Result<(), ClusterError> {
        let client = self.process("expire", name)?.client();
        let outcome = match self.registry.expire(client) {
            true => FaultOutcome::Installed,
            false => FaultOutcome::Skipped,
        };
        self.note(NemesisEvent::Point, "expire", name, outcome, "");
        Ok(())
    }

    pub(super) fn skew_now(&mut self, name: &str, ms: i64) -> Result<(), ClusterError> {
        self.end_fault(name, "skew");
        self.skews.insert(name.to_owned(), ms);
        if let Some(process) = self.processes.get(name) {
            process.clock.set_skew(ms);
        }
        if ms != 0 {
            self.begin_fault(name, "skew", &format!("ms={ms}"));
        }
        Ok(())
    }

    pub(super) fn inject_now(
        &mut self,
        name: &str,
        at: Point,
        action: Action,
    ) -> Result<(), ClusterError> {
        let client = self.process("inject", name)?.client();
        self.registry.inject(client, at, action);
        Ok(())
    }

    pub(super) fn registry_now(&mut self, event: RegEvent) {
        match event {
            RegEvent::KillLeader => {
                self.registry.power_off(Duration::from_millis(400));
                self.outage(Duration::from_millis(400), "kill_leader");
            }
            RegEvent::StopLeader(time) => {
                self.registry.freeze(time);
                self.outage(time, "stop_leader");
            }
            RegEvent::RestartAll(time) => {
                self.registry.power_off(time);
                self.outage(time, "restart_all");
            }
            RegEvent::Lag(time) => {
                self.end_fault("registry", "lag");
                self.registry.set_lag(time);
                if !time.is_zero() {
                    self.begin_fault("registry", "lag", &format!("ms={}", time.as_millis()));
                }
            }
        }
    }

    /// Notes an outage that ends by itself, and with it an earlier one that it has overtaken.
    fn outage(&mut self, time: Duration, how: &str) {
        self.end_outage();
        self.n_outages += 1;
        let (number, why) = (self.n_outages, format!("{how} ms={}", time.as_millis()));
        self.outage.store(number, Ordering::Relaxed);
        self.note(NemesisEvent::Begin, "registry_down", "registry", FaultOutcome::Installed, &why);
        let (nemesis, outage) = (Arc::clone(&self.nemesis), Arc::clone(&self.outage));
        drop(tokio::spawn(async move {
            tokio::time::sleep(time).await;
            if outage.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                nemesis.say(end_of_outage());
            }
        }));
    }

    fn end_outage(&mut self) {
        if self.outage.swap(0, Ordering::Relaxed) != 0 {
            self.nemesis.say(end_of_outage());
        }
    }

    /// Heals everything that is still wrong. Who was killed stays dead.
    pub(super) fn mend(&mut self) {
        let alive = self.processes.iter().filter(|(_, process)| process.lives());
        for name in alive.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            // They live: they were asked in the line above.
            let _ = self.resume_now(&name);
            let _ = self.lose_now(&name, 0);
        }
        for name in self.links.keys().cloned().collect::<Vec<_>>() {
            let _ = self.link_now(&name, LinkMode::Pass);
        }
        for name in self.skews.keys().cloned().collect::<Vec<_>>() {
            let _ = self.skew_now(&name, 0);
        }
        self.registry_now(RegEvent::Lag(Duration::ZERO));
        self.registry.restore();
        self.end_outage();
        self.disarm();
    }

    /// Notes that nothing is wrong any more.
    pub(super) fn say_healed(&self) {
        self.nemesis.say(Fact::Healed);
    }

    /// Returns who is stopped.
    pub(super) fn stopped(&self) -> Vec<String> {
        let stopped = self.processes.iter().filter(|(_, p)| p.gate.life() == Life::Paused);
        stopped.map(|(name, _)| name.clone()).collect()
    }

    /// Notes that a fault was not possible.
    pub(super) fn skip(&self, kind: &str, why: &str) {
        self.note(NemesisEvent::Point, kind, "", FaultOutcome::Skipped, why);
    }

    fn disarm(&mut self) {
        for (owner, what) in self.registry.disarm() {
            self.note(NemesisEvent::Point, "injection", &owner, FaultOutcome::Skipped, &what);
        }
    }

    /// Ends the world and returns its history.
    pub(super) fn finish_now(&mut self) -> Vec<Record> {
        self.disarm();
        if self.registry.has_failed() {
            let at = "the simulated network".to_owned();
            let error = "its task has ended with a panic".to_owned();
            self.nemesis.say(Fact::HarnessFailure { at, error });
        }
        self.nemesis.say(Fact::End);
        for process in self.processes.values().filter(|process| process.lives()) {
            self.registry.kill(process.client());
        }
        self.recorder.close()
    }

    pub(super) fn pause_jobs(&mut self, name: &str, paused: bool) {
        if let Some(process) = self.processes.get(name) {
            process.pause_jobs(paused);
        }
        self.end_fault(name, "jobs_paused");
        if paused {
            self.begin_fault(name, "jobs_paused", "");
        }
    }

    pub(super) fn point(&self, kind: &'static str, target: &str, why: &str) {
        self.note(NemesisEvent::Point, kind, target, FaultOutcome::Installed, why);
    }

    fn begin_fault(&mut self, target: &str, kind: &'static str, why: &str) {
        self.note(NemesisEvent::Begin, kind, target, FaultOutcome::Installed, why);
        self.open.insert((target.to_owned(), kind));
    }

    fn end_fault(&mut self, target: &str, kind: &'static str) {
        if self.open.remove(&(target.to_owned(), kind)) {
            self.note(NemesisEvent::End, kind, target, FaultOutcome::Installed, "");
        }
    }

    fn note(&self, ev: NemesisEvent, kind: &str, target: &str, outcome: FaultOutcome, why: &str) {
        self.nemesis.say(nemesis_fact(ev, kind, target, outcome, why));
    }
}

fn end_of_outage() -> Fact {
    let installed = FaultOutcome::Installed;
    nemesis_fact(NemesisEvent::End, "registry_down", "registry", installed, "")
}

fn nemesis_fact(
    ev: NemesisEvent,
    kind: &str,
    target: &str,
    outcome: FaultOutcome,
    why: &str,
) -> Fact {
    Fact::Nemesis {
        ev,
        kind: kind.to_owned(),
        target: target.to_owned(),
        outcome,
        why: why.to_owned(),
    }
}
