//! Implements the trait `Cluster` with real processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use checker::history::{Fact, FaultOutcome, NemesisEvent, Record};
use coordination::encode_config;
use lite::JobConfig;
use testkit::harness::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent,
};
use tokio::process::Command;
use tokio::task::block_in_place;

use super::links::{self, Links};
use super::operator::Operator;
use super::process::{END_LIMIT, Process, State};
use super::skew::SkewMethod;
use super::{ProcessListener, RealCluster, Worker, harness, parts, refused};
use crate::protocol::{Arm, Order, Plan, WorkPlan};

/// Factor on time limits, because a loaded machine is slow. A longer wait proves nothing less: the
/// checker judges times.
const SLACK: u32 = 3;
/// Interval between reads of the registry's log, whose growth causes no notification.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Drain time of a graceful shutdown, in periods: longer than any run of a scenario that ends.
const DRAIN_PERIODS: u32 = 10;

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[async_trait]
impl Cluster for RealCluster {
    fn period(&self) -> Duration {
        self.options.backend.period()
    }

    fn session_timeout(&self) -> Duration {
        self.options.backend.session_timeout()
    }

    fn cron(&self) -> String {
        format!("0/{} * * * * ?", self.period().as_secs())
    }

    async fn create_job(&mut self, config: JobConfig) -> Result<(), ClusterError> {
        let operator = Operator::new(self.registry.connect_operator().await?, &config.job_name);
        operator.configure(&config).await?;
        self.operator = Some(operator);
        self.operated(&format!("create job total={}", config.sharding_total_count), true)?;
        self.config = Some(config);
        Ok(())
    }

    async fn spawn(&mut self, name: &str, opts: InstOpts) -> Result<(), ClusterError> {
        if let Ok(process) = self.process("spawn", name) {
            // A process that is leaving may still need a moment to end.
            let is_ending = process.state() == State::Leaving;
            if !is_ending || process.ended(END_LIMIT).await.is_err() {
                return Err(refused("spawn", name, "runs already"));
            }
        }
        if !self.workers.contains_key(name) {
            let links = Links::start(&self.registry.servers()).await;
            let links = links.map_err(|error| harness("start proxies", error))?;
            self.workers.insert(name.to_owned(), Worker::new(links));
        }
        let plan = self.plan(name, &opts)?;
        let command = self.command(&plan)?;
        self.history.follow(&plan.history);
        let (nemesis, expiry) = (Arc::clone(&self.nemesis), self.registry.expiry());
        let worker =
            self.workers.get_mut(name).ok_or_else(|| refused("spawn", name, "has no links"))?;
        let listener = ProcessListener { nemesis, expiry, links: Arc::clone(&worker.links) };
        worker.process = Some(Process::start(command, &plan, Arc::new(listener))?);
        worker.n_starts += 1;
        worker.arms.clear();
        Ok(())
    }

    async fn kill(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("kill", name)?;
        self.end_pause(&process)?;
        process.kill().await?;
        self.nemesis.fault(NemesisEvent::Point, "crash", name, "")
    }

    async fn pause(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("pause", name)?;
        block_in_place(|| process.pause())?;
        self.nemesis.fault(NemesisEvent::Begin, "pause", name, "")
    }

    async fn resume(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("resume", name)?;
        self.end_pause(&process)?;
        process.resume()
    }

    async fn close(&mut self, name: &str) -> Result<(), ClusterError> {
        let process = self.process("close", name)?;
        process.expect_end();
        let deadline_ms = ms(self.period() * DRAIN_PERIODS);
        process.order("close", Order::Close { deadline_ms }).await?;
        if process.state() == State::Running {
            process.enter(State::Leaving);
        }
        Ok(())
    }

    async fn link(&mut self, name: &str, mode: LinkMode) -> Result<(), ClusterError> {
        let worker = self.worker("link", name)?;
        if worker.links.is_empty() && mode != LinkMode::Pass {
            return Err(refused("link", name, "has no network to its registry"));
        }
        let before = worker.links.mode();
        worker.links.set(mode).await.map_err(|error| harness("change a link", error))?;
        if let Some((kind, why)) = links::fault(before) {
            self.nemesis.fault(NemesisEvent::End, kind, name, why)?;
        }
        match links::fault(mode) {
            Some((kind, why)) if mode == LinkMode::Reset => {
                self.nemesis.fault(NemesisEvent::Point, kind, name, why)
            }
            Some((kind, why)) => self.nemesis.fault(NemesisEvent::Begin, kind, name, why),
            None => Ok(()),
        }
    }

    async fn expire(&mut self, name: &str) -> Result<(), ClusterError> {
        let session = self.session_of(name)?;
        let session = session.ok_or_else(|| refused("expire", name, "has no session"))?;
        let links = &self.worker("expire", name)?.links;
        // Recorded first: a worker on the same host can see the end before the request that ends
        // the session is answered, and cancel the run that the fault was meant for.
        self.nemesis.fault(NemesisEvent::Point, "expire", name, format!("session {session:#x}"))?;
        self.registry.expiry().end(links, session).await
    }

    async fn skew(&mut self, name: &str, ms: i64) -> Result<(), ClusterError> {
        let file = self.skew_file(name);
        self.method.write(&file, ms).map_err(|error| harness("skew a clock", error))?;
        if self.method == SkewMethod::Clock
            && let Ok(process) = self.process("skew", name)
        {
            process.order("skew", Order::Skew { ms }).await?;
        }
        let worker =
            self.workers.get_mut(name).ok_or_else(|| refused("skew", name, "is unknown"))?;
        let before = std::mem::replace(&mut worker.skew_ms, ms);
        let why = |ms: i64| format!("ms={ms}, by {}", self.method.name());
        if before != 0 {
            self.nemesis.fault(NemesisEvent::End, "skew", name, why(before))?;
        }
        if ms != 0 {
            self.nemesis.fault(NemesisEvent::Begin, "skew", name, why(ms))?;
        }
        Ok(())
    }

    async fn inject(&mut self, name: &str, at: Point, action: Action) -> Result<(), ClusterError> {
        let arm = self.nemesis.arm(name, |id| Arm::new(id, &at, action));
        match self.process("inject", name) {
            Ok(process) => process.order("inject", Order::Arm(arm)).await,
            Err(_) => {
                // The writes are counted from the next start of the process.
                let worker = self.workers.get_mut(name);
                worker.ok_or_else(|| refused("inject", name, "is unknown"))?.arms.push(arm);
                Ok(())
            }
        }
    }

    async fn registry(&mut self, event: RegEvent) -> Result<(), ClusterError> {
        self.registry_event(event).await
    }

    async fn admin(&mut self, op: AdminOp) -> Result<(), ClusterError> {
        self.administer(op).await
    }

    async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: &(dyn for<'a> Fn(&'a [Record]) -> bool + Sync),
    ) -> Result<(), ClusterError> {
        let deadline = Instant::now() + self.period() * max_periods * SLACK;
        let mut news = self.nemesis.news();
        loop {
            news.mark_unchanged();
            if holds(self.records()?) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(ClusterError::Timeout { what: what.to_owned(), max_periods });
            }
            // The notifications cover processes only, so the wait is limited for the sake of the
            // registry's log.
            let _ = tokio::time::timeout(LOOK_AGAIN, news.changed()).await;
        }
    }

    async fn elapse(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn heal(&mut self) -> Result<(), ClusterError> {
        self.heal_registry().await?;
        let names: Vec<String> = self.workers.keys().cloned().collect();
        for name in names {
            if self.worker("heal", &name)?.links.mode() != LinkMode::Pass {
                self.link(&name, LinkMode::Pass).await?;
            }
            if self.worker("heal", &name)?.skew_ms != 0 {
                self.skew(&name, 0).await?;
            }
            let Ok(process) = self.process("heal", &name) else { continue };
            if process.state() == State::Paused {
                self.resume(&name).await?;
            }
            if process.state() == State::Running {
                process.order("disarm", Order::Disarm).await?;
            }
        }
        self.nemesis.note(Fact::Healed)
    }

    async fn finish(mut self: Box<Self>) -> Result<Vec<Record>, ClusterError> {
        self.finish_run().await
    }
}

impl Worker {
    fn new(links: Links) -> Self {
        Self { links: Arc::new(links), process: None, n_starts: 0, skew_ms: 0, arms: Vec::new() }
    }
}

impl RealCluster {
    fn skew_file(&self, name: &str) -> std::path::PathBuf {
        self.options.folder.join(format!("{name}.faketime"))
    }

    fn plan(&self, name: &str, opts: &InstOpts) -> Result<Plan, ClusterError> {
        let worker = self.worker("spawn", name)?;
        let config = self.config.as_ref();
        let config = config.ok_or_else(|| refused("spawn", name, "has no job: create it first"))?;
        let start = worker.n_starts;
        Ok(Plan {
            name: name.to_owned(),
            life: start,
            registry: self.registry.address(&worker.links),
            writes_log: self.registry.is_logged_by_clients(),
            session_timeout_ms: ms(self.session_timeout()),
            server: opts.server.clone(),
            life_name: opts.life.clone().unwrap_or_else(|| format!("{name}{start}")),
            zone: opts.zone.clone(),
            config: encode_config(config),
            work: WorkPlan::new(&opts.work, ms(self.period())),
            history: parts(&self.options.folder).join(format!("{name}.{start}.jsonl")),
            resource: self.options.folder.join("resource.log"),
            own_from: self.options.following.own_from,
            own_after_ms: ms(self.options.following.after),
            skew_ms: if self.method == SkewMethod::Clock { worker.skew_ms } else { 0 },
            arms: worker.arms.clone(),
        })
    }

    fn command(&self, plan: &Plan) -> Result<Command, ClusterError> {
        let log = self.options.folder.join(format!("{}.{}.log", plan.name, plan.life));
        let log =
            std::fs::File::create(&log).map_err(|error| harness("create a worker's log", error))?;
        let file = self.skew_file(&plan.name);
        let skew_ms = self.worker("spawn", &plan.name)?.skew_ms;
        self.method.write(&file, skew_ms).map_err(|error| harness("skew a clock", error))?;
        let mut command = Command::new(&self.options.worker);
        self.method.prepare(&mut command, &file);
        command.stderr(log);
        Ok(command)
    }

    /// Records the end of a pause before it takes effect.
    fn end_pause(&self, process: &Process) -> Result<(), ClusterError> {
        match process.state() {
            State::Paused => self.nemesis.fault(NemesisEvent::End, "pause", &process.name, ""),
            State::Running | State::Leaving | State::Ended => Ok(()),
        }
    }

    pub(super) fn operated(&self, what: &str, done: bool) -> Result<(), ClusterError> {
        let outcome = if done { FaultOutcome::Installed } else { FaultOutcome::Skipped };
        self.nemesis.note(Fact::Operator { what: what.to_owned(), outcome })
    }
}
