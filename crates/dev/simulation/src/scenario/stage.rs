//! The stage: a cluster, with the functions that scripts are written with.

use std::time::Duration;

use fastrand::Rng;
use lite::{GroupLimits, GroupName, JobBuilder, JobConfig};

use super::history_queries::JOB;
use super::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};

/// Error that ends a script early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The cluster failed, or a precondition of the scenario was not reached. The run proves
    /// nothing.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The product did not keep a promise in time.
    #[error("{what}: promised, but not reached within {max_periods} periods")]
    Broken {
        /// The promised condition.
        what: String,
        /// Limit, in periods.
        max_periods: u32,
    },
    /// The configuration of the scenario's own job is invalid.
    #[error("the configuration of the scenario's job is invalid")]
    Job(#[from] lite::InvalidConfig),
}

/// Result of a step of a script.
pub(crate) type StepResult = Result<(), ScenarioError>;

/// A cluster on which one scenario is played.
pub struct Stage {
    pub(super) cluster: Box<dyn Cluster>,
    job: Option<JobConfig>,
    /// Random source for scenarios with random choices.
    pub(crate) chance: Rng,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("job", &self.job).finish_non_exhaustive()
    }
}

/// Returns the behaviour of a job whose items all work for this many periods.
pub(crate) fn work(periods: f64) -> Work {
    Work { periods, ..Work::default() }
}

impl Stage {
    pub(super) fn new(cluster: Box<dyn Cluster>, seed: u64) -> Self {
        Self { cluster, job: None, chance: Rng::with_seed(seed) }
    }

    pub(super) fn into_cluster(self) -> Box<dyn Cluster> {
        self.cluster
    }

    pub(crate) fn period(&self) -> Duration {
        self.cluster.period()
    }

    /// Returns the duration of `n` periods.
    pub(crate) fn periods(&self, n: f64) -> Duration {
        self.cluster.period().mul_f64(n)
    }

    /// Returns the duration of `n` session timeouts.
    pub(crate) fn sessions(&self, n: f64) -> Duration {
        self.cluster.session_timeout().mul_f64(n)
    }

    /// Returns an hour in virtual time; in real time, eight periods, which a test can wait for.
    pub(crate) fn an_hour(&self) -> Duration {
        let virtual_time = self.period() >= Duration::from_secs(10);
        if virtual_time { Duration::from_secs(3600) } else { self.periods(8.0) }
    }

    /// Creates the job with failover, misfires and monitoring. It has no schedule until all
    /// processes have joined.
    pub(crate) async fn create_job(
        &mut self,
        items: u32,
        change: impl FnOnce(&mut JobConfig),
    ) -> StepResult {
        let mut config = JobBuilder::new(JOB, items).failover(true).build()?;
        change(&mut config);
        self.cluster.create_job(config.clone()).await?;
        self.job = Some(config);
        Ok(())
    }

    /// Creates the job, starts these processes, waits until they share the items, and starts the
    /// schedule.
    pub(crate) async fn assemble(&mut self, items: u32, names: &[&str], work: &Work) -> StepResult {
        self.assemble_with(items, names, work, |_| {}).await
    }

    /// As [`assemble`](Self::assemble), with changes of the configuration.
    pub(crate) async fn assemble_with(
        &mut self,
        items: u32,
        names: &[&str],
        work: &Work,
        change: impl FnOnce(&mut JobConfig),
    ) -> StepResult {
        self.create_job(items, change).await?;
        for name in names {
            self.spawn(name, work).await?;
        }
        self.until_shared(names.len()).await?;
        self.start_schedule().await
    }

    /// Sets the schedule, which fires once a period.
    pub(crate) async fn start_schedule(&mut self) -> StepResult {
        let cron = self.cluster.cron();
        self.configure(|config| config.cron = Some(cron)).await
    }

    /// Starts a process on its own server.
    pub(crate) async fn spawn(&mut self, name: &str, work: &Work) -> StepResult {
        let opts = InstOpts::new(&server_of(name), work.clone());
        Ok(self.cluster.spawn(name, opts).await?)
    }

    /// Starts a process on its own server, in a zone.
    pub(crate) async fn spawn_in(&mut self, zone: &str, name: &str, work: &Work) -> StepResult {
        let opts = InstOpts::new(&server_of(name), work.clone());
        let opts = InstOpts { zone: Some(zone.to_owned()), ..opts };
        Ok(self.cluster.spawn(name, opts).await?)
    }

    /// Starts a process with a fixed instance name.
    pub(crate) async fn spawn_as(&mut self, name: &str, life: &str, work: &Work) -> StepResult {
        let opts = InstOpts::new(&server_of(name), work.clone());
        let opts = InstOpts { life: Some(life.to_owned()), ..opts };
        Ok(self.cluster.spawn(name, opts).await?)
    }

    pub(crate) async fn kill(&mut self, name: &str) -> StepResult {
        Ok(self.cluster.kill(name).await?)
    }

    pub(crate) async fn pause(&mut self, name: &str) -> StepResult {
        Ok(self.cluster.pause(name).await?)
    }

    pub(crate) async fn resume(&mut self, name: &str) -> StepResult {
        Ok(self.cluster.resume(name).await?)
    }

    /// Begins the graceful shutdown of a process.
    pub(crate) async fn begin_close(&mut self, name: &str) -> StepResult {
        Ok(self.cluster.close(name).await?)
    }

    pub(crate) async fn link(&mut self, name: &str, mode: LinkMode) -> StepResult {
        Ok(self.cluster.link(name, mode).await?)
    }

    pub(crate) async fn expire(&mut self, name: &str) -> StepResult {
        Ok(self.cluster.expire(name).await?)
    }

    /// Sets the difference of a wall clock from the true time, in periods; zero heals.
    pub(crate) async fn skew(&mut self, name: &str, ahead: f64) -> StepResult {
        let ms = self.period().as_secs_f64() * 1_000.0 * ahead;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a difference of hours, in milliseconds, fits"
        )]
        Ok(self.cluster.skew(name, ms.round() as i64).await?)
    }

    /// Arms an action before the next write of a duty.
    pub(crate) async fn before(&mut self, name: &str, duty: &str, action: Action) -> StepResult {
        self.inject(name, duty, When::Before, action).await
    }

    /// Arms an action after the next write of a duty, before its reply is seen.
    pub(crate) async fn after(&mut self, name: &str, duty: &str, action: Action) -> StepResult {
        self.inject(name, duty, When::After, action).await
    }

    async fn inject(&mut self, name: &str, duty: &str, when: When, action: Action) -> StepResult {
        let point = Point { duty: Some(duty.to_owned()), nth: 0, when };
        Ok(self.cluster.inject(name, point, action).await?)
    }

    pub(crate) async fn registry(&mut self, event: RegEvent) -> StepResult {
        Ok(self.cluster.registry(event).await?)
    }

    pub(crate) async fn admin(&mut self, op: AdminOp) -> StepResult {
        Ok(self.cluster.admin(op).await?)
    }

    /// Disables the server of a process, or enables it again.
    pub(crate) async fn disable(&mut self, name: &str, disabled: bool) -> StepResult {
        self.admin(AdminOp::Server { ip: server_of(name), disabled }).await
    }

    /// Stores the limits of a group of jobs.
    pub(crate) async fn set_group(&mut self, group: &GroupName, limits: GroupLimits) -> StepResult {
        self.admin(AdminOp::Group { group: group.clone(), limits }).await
    }

    /// Changes the stored configuration.
    pub(crate) async fn configure(&mut self, change: impl FnOnce(&mut JobConfig)) -> StepResult {
        let Some(mut config) = self.job.take() else {
            let source = "the job was not created yet".into();
            let act = "configure".to_owned();
            return Err(ClusterError::Harness { act, source }.into());
        };
        change(&mut config);
        self.job = Some(config.clone());
        self.admin(AdminOp::Configure(Box::new(config))).await
    }

    pub(crate) async fn elapse(&mut self, time: Duration) {
        self.cluster.elapse(time).await;
    }
}

/// Returns the server of a process: 10.0.0.1 for `a`, 10.0.0.2 for `b` …
pub(crate) fn server_of(name: &str) -> String {
    let first = name.bytes().next().unwrap_or(b'a');
    format!("10.0.0.{}", first.saturating_sub(b'a') + 1)
}
