//! A process of the simulation: a complete scheduler behind the four seams.

mod gate;
mod recorded;
mod seams;

use std::sync::Arc;
use std::time::Duration;

use checker::history::{Fact, ProcessEvent};
use fastrand::Rng;
use lite::{Following, Job, JobConfig, JobHandle, JobRecord, Scheduler, Spawn};
use parking_lot::Mutex;
use reg_center::{RegistryCenter, SessionChange};

pub(crate) use gate::{Gate, GatedSpawn, ProcessState};
pub(crate) use recorded::{ProcessWriter, Recorded, run_id};
pub(crate) use seams::{SeededRandomness, SimClock};

use super::recorder::Recorder;
use super::registry::{ClientId, SimCenter, SimRegistry};

/// Delay before another attempt to register a job, after the registry did not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A job that a process takes part in.
#[derive(Clone)]
pub(crate) struct JobToRun {
    pub(crate) config: JobConfig,
    pub(crate) job: Arc<dyn Job>,
    /// True if the process takes part in once-per-cluster callbacks.
    pub(crate) calls_back: bool,
}

impl JobToRun {
    pub(crate) fn new(config: JobConfig, job: Arc<dyn Job>) -> Self {
        Self { config, job, calls_back: false }
    }
}

/// Parameters for the start of a process.
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) inc: u32,
    /// Gate for all tasks of the process.
    pub(crate) gate: Arc<Gate>,
    pub(crate) server: &'a str,
    pub(crate) life: String,
    pub(crate) zone: Option<String>,
    pub(crate) skew_ms: i64,
    pub(crate) rng: Rng,
    pub(crate) following: Following,
    /// Maximum number of runs at the same time; `None` is no limit.
    pub(crate) max_concurrency: Option<u32>,
    pub(crate) jobs: Vec<JobToRun>,
}

/// One incarnation of a process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) inc: u32,
    pub(crate) server: String,
    pub(crate) gate: Arc<Gate>,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) center: Arc<SimCenter>,
    spawn: GatedSpawn,
    writer: ProcessWriter,
    scheduler: Scheduler,
}

impl Process {
    /// Starts a process, which connects, registers its jobs and joins. The call does not wait for
    /// any of these steps.
    ///
    /// # Errors
    /// [`lite::Error`] if the server address or the instance name is invalid.
    pub(crate) fn start(
        start: Start<'_>,
        recorder: &Recorder,
        registry: &SimRegistry,
    ) -> Result<Self, lite::Error> {
        let gate = start.gate;
        let clock = Arc::new(SimClock::new(recorder.clock(), start.skew_ms));
        let facts = Arc::new(recorder.writer(start.name, start.inc));
        let writer = ProcessWriter { facts, clock: Arc::clone(&clock) };
        let server = start.server.to_owned();
        writer.write(Fact::Process { ev: ProcessEvent::Start, server: server.clone() });
        let center = Arc::new(registry.connect(start.name, &gate));
        let spawn = GatedSpawn { gate: Arc::clone(&gate) };
        let events = writer.clone();
        let mut builder = Scheduler::builder(Arc::clone(&center) as Arc<dyn RegistryCenter>);
        if let Some(zone) = start.zone {
            builder = builder.zone(zone)?;
        }
        if let Some(max) = start.max_concurrency {
            builder = builder.max_concurrency(usize::try_from(max).unwrap_or(usize::MAX));
        }
        let scheduler = builder
            .server_ip(&server)?
            .instance_name(start.life.clone())
            .following(start.following)
            .clock(Arc::clone(&clock) as Arc<dyn lite::Clock>)
            .spawner(Arc::new(spawn.clone()))
            .randomness(Arc::new(SeededRandomness::new(start.rng)))
            .event_subscriber(move |record: &JobRecord| events.write_event(record))
            .build()?;
        let first_instance = format!("{server}@-@{}", start.life);
        let program = Program {
            jobs: start.jobs,
            scheduler: scheduler.clone(),
            center: Arc::clone(&center),
            writer: writer.clone(),
            server: server.clone(),
            handles: Arc::default(),
        };
        spawn.spawn(Box::pin(program.clone().watch_session(first_instance)));
        spawn.spawn(Box::pin(program.run()));
        Ok(Self { inc: start.inc, server, gate, clock, center, spawn, writer, scheduler })
    }

    pub(crate) fn client(&self) -> ClientId {
        self.center.id()
    }

    /// Returns true if the process has neither ended nor been killed.
    pub(crate) fn lives(&self) -> bool {
        matches!(self.gate.state(), ProcessState::Running | ProcessState::Paused)
    }

    /// Begins a graceful shutdown. The process ends when it has left, or at the deadline.
    pub(crate) fn close(&self, deadline: Duration) {
        let (scheduler, center) = (self.scheduler.clone(), Arc::clone(&self.center));
        let (writer, gate, server) =
            (self.writer.clone(), Arc::clone(&self.gate), self.server.clone());
        self.spawn.spawn(Box::pin(async move {
            let write = |ev| writer.write(Fact::Process { ev, server: server.clone() });
            write(ProcessEvent::Drain);
            let reports = scheduler.shutdown(deadline).await;
            if reports.iter().all(lite::ShutdownReport::is_clean) {
                write(ProcessEvent::Left);
            }
            // If the registry does not answer, the session expires later.
            let _ = center.close().await;
            write(ProcessEvent::Exit);
            gate.end();
        }));
    }
}

/// The program of a process.
#[derive(Clone)]
struct Program {
    jobs: Vec<JobToRun>,
    scheduler: Scheduler,
    center: Arc<SimCenter>,
    writer: ProcessWriter,
    server: String,
    handles: Arc<Mutex<Vec<JobHandle>>>,
}

impl Program {
    async fn run(self) {
        self.connected().await;
        for job in &self.jobs {
            let Some(handle) = self.register(job).await else { return };
            self.handles.lock().push(handle.clone());
            // The checker judges how long a join takes. A process that leaves before has not
            // joined.
            while let Err(lite::Error::Deadline { .. }) = handle.joined().await {}
        }
        self.writer.write(Fact::Process { ev: ProcessEvent::Ready, server: self.server.clone() });
    }

    async fn connected(&self) {
        let mut changes = self.center.session_feed();
        while let Some(change) = changes.next().await {
            if matches!(change, SessionChange::Connected { .. }) {
                return;
            }
        }
    }

    /// Registers a job, with retries. Returns `None` if the process is leaving, or the job cannot
    /// be registered.
    async fn register(&self, to_run: &JobToRun) -> Option<JobHandle> {
        loop {
            let job = Recorded { job: Arc::clone(&to_run.job), writer: self.writer.clone() };
            let mut registration = self.scheduler.schedule(to_run.config.clone(), job);
            if to_run.calls_back {
                registration = registration.once_per_cluster(self.writer.clone());
            }
            match registration.await {
                Ok(handle) => return Some(handle),
                Err(lite::Error::Deadline { .. } | lite::Error::Registry { .. }) => {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(lite::Error::Stopped { .. }) => return None,
                // No program can register a job after the last fire of its schedule.
                Err(lite::Error::Config(_)) if to_run.config.not_after.is_some() => return None,
                Err(error) => {
                    let (at, error) = ("registering the job".to_owned(), error.to_string());
                    self.writer.write(Fact::HarnessFailure { at, error });
                    return None;
                }
            }
        }
    }

    /// Records the session changes that the process sees, each with the instance id that it uses
    /// afterwards.
    async fn watch_session(self, first_instance: String) {
        let mut changes = self.center.session_feed();
        let mut is_first = true;
        while let Some(change) = changes.next().await {
            let instance = match change {
                SessionChange::Connected { .. } if std::mem::take(&mut is_first) => {
                    Some(first_instance.clone())
                }
                SessionChange::Connected { .. } => self.present_instance().await,
                SessionChange::Suspended { .. }
                | SessionChange::Lost { .. }
                | SessionChange::Closed => None,
            };
            self.writer.write_session(change, instance);
        }
    }

    /// Reads the instance id from the status of a job. The job handles session changes before it
    /// answers.
    async fn present_instance(&self) -> Option<String> {
        let handle = self.handles.lock().first().cloned()?;
        let status = handle.status().await.ok()?;
        status.instance.map(|id| id.to_string())
    }
}
