//! The worker from its plan to its exit.

use std::io::{self, BufRead};
use std::process::{ExitCode, exit};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use checker::history::{Fact, ProcessEvent};
use coordination::ID_DELIMITER;
use lite::{Clock, Following, JobHandle, JobRecord, Scheduler};
use reg_center::{RegistryCenter, SessionChange, SessionFeed};
use registry::{Address, OpenError, Registry};
use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::sync::{mpsc, watch};
use tracing_subscriber::EnvFilter;

use super::WorkerError;
use super::events::{fact_of, session_fact};
use super::inject::{InjectedCenter, Points};
use super::job::TestedJob;
use super::recorder::Recorder;
use super::skew::SkewedClock;
use crate::journal::Journal;
use crate::protocol::{Message, Order, Plan};
use crate::writelog::LoggedCenter;

/// Exit status of a worker that has left in order.
pub(crate) const LEFT_IN_ORDER: i32 = 0;
/// Exit status of a worker whose harness is gone.
const HARNESS_GONE: i32 = 71;
/// Limit of the first connection. A scenario may have taken the registry down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);
/// Delay before the next attempt to connect.
const CONNECT_PAUSE: Duration = Duration::from_millis(100);
/// Limit of the attempt to close the session at the registry.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A worker with everything that orders affect.
struct Worker {
    plan: Plan,
    recorder: Arc<Recorder>,
    clock: Arc<SkewedClock>,
    points: Arc<Points>,
}

pub(super) fn run() -> Result<ExitCode, WorkerError> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| WorkerError::System {
        act: "set the parent death signal",
        source: error.into(),
    })?;
    let plan: Plan = parse(&first_line()?)?;
    let worker = Worker::new(plan)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|source| WorkerError::System { act: "start a runtime", source })?;
    runtime.block_on(worker.run())
}

fn first_line() -> Result<String, WorkerError> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(WorkerError::Input)?;
    Ok(line)
}

fn parse<T: serde::de::DeserializeOwned>(line: &str) -> Result<T, WorkerError> {
    serde_json::from_str(line)
        .map_err(|source| WorkerError::Order { line: line.to_owned(), source })
}

/// Reads orders on a thread of its own. The input ends with the harness, and this process ends with
/// the input.
fn orders() -> mpsc::UnboundedReceiver<Order> {
    let (sender, orders) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            match line.map_err(WorkerError::Input).and_then(|line| parse(&line)) {
                Ok(order) => drop(sender.send(order)),
                Err(error) => tracing::error!(%error, "an order is invalid and was ignored"),
            }
        }
        exit(HARNESS_GONE);
    });
    orders
}

impl Worker {
    fn new(plan: Plan) -> Result<Self, WorkerError> {
        let clock = Arc::new(SkewedClock::new(plan.skew_ms));
        let wall = Arc::clone(&clock);
        let wall = Box::new(move || wall.wall().as_millisecond());
        let journal =
            Journal::create(&plan.history, &plan.name, plan.life, wall).map_err(|source| {
                WorkerError::File { path: plan.history.display().to_string(), source }
            })?;
        let recorder = Arc::new(Recorder::new(journal));
        let points = Points::new(plan.arms.clone(), Arc::clone(&recorder));
        Ok(Self { plan, recorder, clock, points })
    }

    async fn run(self) -> Result<ExitCode, WorkerError> {
        // Orders are executed from the beginning, because a fault may be armed before there is a
        // session.
        let orders = orders();
        self.note(ProcessEvent::Start);
        let center = self.connect().await?;
        let job = watch::Sender::new(None);
        let first_instance = format!("{}{ID_DELIMITER}{}", self.plan.server, self.plan.life_name);
        let sessions = SessionRecorder {
            recorder: Arc::clone(&self.recorder),
            job: job.subscribe(),
            first_instance,
        };
        let sessions = tokio::spawn(sessions.follow(center.session_feed()));
        let handle = self.schedule(Arc::clone(&center)).await?;
        job.send_replace(Some(handle.clone()));
        tokio::spawn(record_when_joined(
            handle.clone(),
            self.process(ProcessEvent::Ready),
            Arc::clone(&self.recorder),
        ));
        self.follow_orders(orders, &handle).await;
        let closed = tokio::time::timeout(CLOSE_TIMEOUT, center.close()).await;
        if !matches!(closed, Ok(Ok(()))) {
            tracing::warn!(?closed, "the session could not be closed");
        }
        // The task ends with its feed, which ends with the registry centre.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, sessions).await;
        self.note(ProcessEvent::Exit);
        exit(LEFT_IN_ORDER)
    }

    /// Opens a session. A scenario may have taken the registry down, so it tries for a while.
    async fn connect(&self) -> Result<Arc<dyn RegistryCenter>, WorkerError> {
        let timeout = Duration::from_millis(self.plan.session_timeout_ms);
        let address =
            Address::parse(&self.plan.registry).map_err(OpenError::from)?.session_timeout(timeout);
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        let center = loop {
            match Registry::open_at(address.clone()).await {
                Ok(center) => break center,
                Err(error) if Instant::now() >= deadline => return Err(error.into()),
                Err(error) => tracing::warn!(%error, "the registry cannot be opened yet"),
            }
            tokio::time::sleep(CONNECT_PAUSE).await;
        };
        if !self.plan.writes_log {
            return Ok(center);
        }
        let prefix = format!("{}.{}", self.plan.name, self.plan.life);
        Ok(Arc::new(LoggedCenter::new(center, &self.plan.name, &prefix)))
    }

    fn process(&self, ev: ProcessEvent) -> Fact {
        Fact::Process { ev, server: self.plan.server.clone() }
    }

    fn note(&self, ev: ProcessEvent) {
        self.recorder.note(self.process(ev));
    }

    async fn schedule(&self, center: Arc<dyn RegistryCenter>) -> Result<JobHandle, WorkerError> {
        let config = coordination::decode_config(self.plan.config.as_bytes())
            .map_err(WorkerError::Config)?;
        let resource = &self.plan.resource;
        let job = TestedJob::new(self.plan.work.clone(), Arc::clone(&self.recorder), resource)
            .map_err(|source| WorkerError::File { path: resource.display().to_string(), source })?;
        let injected = InjectedCenter::new(center, Arc::clone(&self.points));
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let recorder = Arc::clone(&self.recorder);
        let mut builder = Scheduler::builder(Arc::new(injected));
        if let Some(zone) = &self.plan.zone {
            builder = builder.zone(zone)?;
        }
        let scheduler = builder
            .server_ip(&self.plan.server)?
            .instance_name(&self.plan.life_name)
            .following(Following::new(
                self.plan.own_from,
                Duration::from_millis(self.plan.own_after_ms),
            ))
            .clock(clock)
            .connect_deadline(CONNECT_TIMEOUT)
            .event_subscriber(move |record: &JobRecord| recorder.note(fact_of(record)))
            .build()?;
        Ok(scheduler.schedule(config, job).await?)
    }

    /// Executes orders until the worker has left.
    async fn follow_orders(&self, mut orders: mpsc::UnboundedReceiver<Order>, handle: &JobHandle) {
        let (left, mut has_left) = watch::channel(false);
        loop {
            let order = tokio::select! {
                biased;
                _ = has_left.wait_for(|left| *left) => return,
                Some(order) = orders.recv() => order,
            };
            match order {
                Order::Close { deadline_ms } => {
                    self.note(ProcessEvent::Drain);
                    let (fact, left) = (self.process(ProcessEvent::Left), left.clone());
                    let deadline = Duration::from_millis(deadline_ms);
                    let leaving = leave(handle.clone(), deadline, fact, Arc::clone(&self.recorder));
                    tokio::spawn(async move {
                        leaving.await;
                        left.send_replace(true);
                    });
                }
                Order::Arm(arm) => self.points.arm(arm),
                Order::Disarm => self.points.disarm(),
                Order::Skew { ms } => self.clock.set(ms),
                Order::Proceed { arm } => self.points.proceed(arm),
            }
            self.recorder.send(&Message::Took);
        }
    }
}

async fn leave(handle: JobHandle, deadline: Duration, left: Fact, recorder: Arc<Recorder>) {
    match handle.shutdown(deadline).await {
        Ok(report) if report.is_clean() => recorder.note(left),
        report => tracing::warn!(?report, "the worker did not leave in order"),
    }
}

/// Records that the worker is ready once its instance has joined. The checker judges the duration.
async fn record_when_joined(handle: JobHandle, ready: Fact, recorder: Arc<Recorder>) {
    loop {
        match handle.joined().await {
            Ok(()) => return recorder.note(ready),
            Err(lite::Error::Deadline { .. }) => {}
            Err(error) => return tracing::warn!(%error, "the instance never joined"),
        }
    }
}

/// Records the session events of the process.
struct SessionRecorder {
    recorder: Arc<Recorder>,
    job: watch::Receiver<Option<JobHandle>>,
    /// Instance id of the first session; the job handle knows the ids of later sessions.
    first_instance: String,
}

impl SessionRecorder {
    async fn follow(self, mut sessions: SessionFeed) {
        let (mut last, mut first) = (0, None);
        while let Some(change) = sessions.next().await {
            let instance = match change {
                SessionChange::Connected { session, .. } => {
                    match *first.get_or_insert(session) == session {
                        true => Some(self.first_instance.clone()),
                        false => self.present_instance().await,
                    }
                }
                SessionChange::Suspended { .. }
                | SessionChange::Lost { .. }
                | SessionChange::Closed => None,
            };
            self.recorder.note(session_fact(change, &mut last, instance));
        }
    }

    /// Returns the instance id from the job handle, which learns about sessions before it answers.
    async fn present_instance(&self) -> Option<String> {
        let handle = self.job.borrow().clone()?;
        let status = handle.status().await.ok()?;
        status.instance.map(|id| id.to_string())
    }
}
