//! The stage that scenarios play on: a cluster, with the words that their scripts are written in.

use std::time::Duration;

use fastrand::Rng;
use lite::{JobBuilder, JobConfig};

use super::history_queries::JOB;
use super::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};

/// Why a script could not be played to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The cluster could not do what was asked, or something that the scenario needs did not come about: the run shows
    /// nothing.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Something did not happen that the product promises.
    #[error("{what} did not happen within {max_periods} periods")]
    Broken {
        /// What was promised.
        what: String,
        /// Within how many periods.
        max_periods: u32,
    },
    /// The scenario's own job cannot be described.
    #[error("the job of the scenario is not valid")]
    Job(#[from] lite::InvalidConfig),
}

/// What a script returns.
pub(crate) type Played = Result<(), ScenarioError>;

/// A cluster on which one scenario is played.
pub struct Stage {
    pub(super) cluster: Box<dyn Cluster>,
    job: Option<JobConfig>,
    /// For scenarios that leave something to chance.
    pub(crate) chance: Rng,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("job", &self.job).finish_non_exhaustive()
    }
}

/// Returns work that takes this many periods for every item.
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

    /// Returns a time of so many periods.
    pub(crate) fn periods(&self, n: f64) -> Duration {
        self.cluster.period().mul_f64(n)
    }

    /// Returns a time of so many session timeouts.
    pub(crate) fn sessions(&self, n: f64) -> Duration {
        self.cluster.session_timeout().mul_f64(n)
    }

    /// Returns an hour where time is virtual; where it is real, as many periods as anybody can wait for.
    pub(crate) fn an_hour(&self) -> Duration {
        let virtual_time = self.period() >= Duration::from_secs(10);
        if virtual_time { Duration::from_secs(3600) } else { self.periods(8.0) }
    }

    /// Makes the job: failover, misfires and monitoring on. It has no schedule until everybody is there.
    pub(crate) async fn create_job(
        &mut self,
        items: u32,
        change: impl FnOnce(&mut JobConfig),
    ) -> Played {
        let mut config = JobBuilder::new(JOB, items).failover(true).build()?;
        change(&mut config);
        self.cluster.create_job(config.clone()).await?;
        self.job = Some(config);
        Ok(())
    }

    /// Makes the job, starts these processes, waits until they share the items, then lets the job fire once a period.
    pub(crate) async fn assemble(&mut self, items: u32, names: &[&str], work: &Work) -> Played {
        self.assemble_with(items, names, work, |_| {}).await
    }

    /// As [`assemble`](Self::assemble), with a configuration of one's own.
    pub(crate) async fn assemble_with(
        &mut self,
        items: u32,
        names: &[&str],
        work: &Work,
        change: impl FnOnce(&mut JobConfig),
    ) -> Played {
        self.create_job(items, change).await?;
        for name in names {
            self.spawn(name, work).await?;
        }
        self.until_shared(names.len()).await?;
        self.start_schedule().await
    }

    /// Lets the job fire once a period from now on.
    pub(crate) async fn start_schedule(&mut self) -> Played {
        let cron = self.cluster.cron();
        self.configure(|config| config.cron = Some(cron)).await
    }

    /// Starts a process on the server of its name.
    pub(crate) async fn spawn(&mut self, name: &str, work: &Work) -> Played {
        let opts = InstOpts { server: server_of(name), work: work.clone(), life: None };
        Ok(self.cluster.spawn(name, opts).await?)
    }

    /// Starts a process with a fixed name of its life.
    pub(crate) async fn spawn_as(&mut self, name: &str, life: &str, work: &Work) -> Played {
        let life = Some(life.to_owned());
        let opts = InstOpts { server: server_of(name), work: work.clone(), life };
        Ok(self.cluster.spawn(name, opts).await?)
    }

    pub(crate) async fn kill(&mut self, name: &str) -> Played {
        Ok(self.cluster.kill(name).await?)
    }

    pub(crate) async fn pause(&mut self, name: &str) -> Played {
        Ok(self.cluster.pause(name).await?)
    }

    pub(crate) async fn resume(&mut self, name: &str) -> Played {
        Ok(self.cluster.resume(name).await?)
    }

    /// Has a process begin to leave.
    pub(crate) async fn begin_close(&mut self, name: &str) -> Played {
        Ok(self.cluster.close(name).await?)
    }

    pub(crate) async fn link(&mut self, name: &str, mode: LinkMode) -> Played {
        Ok(self.cluster.link(name, mode).await?)
    }

    pub(crate) async fn expire(&mut self, name: &str) -> Played {
        Ok(self.cluster.expire(name).await?)
    }

    /// Shifts a wall clock forward or back; zero heals.
    pub(crate) async fn skew(&mut self, name: &str, ahead: f64) -> Played {
        let ms = self.period().as_secs_f64() * 1_000.0 * ahead;
        #[expect(clippy::cast_possible_truncation, reason = "some hours, in milliseconds")]
        Ok(self.cluster.skew(name, ms.round() as i64).await?)
    }

    /// Arranges that something happens before the next write of a duty.
    pub(crate) async fn before(&mut self, name: &str, duty: &str, action: Action) -> Played {
        self.inject(name, duty, When::Before, action).await
    }

    /// Arranges that something happens after the next write of a duty, before its reply is seen.
    pub(crate) async fn after(&mut self, name: &str, duty: &str, action: Action) -> Played {
        self.inject(name, duty, When::After, action).await
    }

    async fn inject(&mut self, name: &str, duty: &str, when: When, action: Action) -> Played {
        let point = Point { duty: Some(duty.to_owned()), nth: 0, when };
        Ok(self.cluster.inject(name, point, action).await?)
    }

    pub(crate) async fn registry(&mut self, event: RegEvent) -> Played {
        Ok(self.cluster.registry(event).await?)
    }

    pub(crate) async fn admin(&mut self, op: AdminOp) -> Played {
        Ok(self.cluster.admin(op).await?)
    }

    /// Disables the server of a process, or enables it again.
    pub(crate) async fn disable(&mut self, name: &str, disabled: bool) -> Played {
        self.admin(AdminOp::Server { ip: server_of(name), disabled }).await
    }

    /// Changes the stored configuration.
    pub(crate) async fn configure(&mut self, change: impl FnOnce(&mut JobConfig)) -> Played {
        let Some(mut config) = self.job.take() else {
            let source = "there is no job yet".into();
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

/// Returns the IP of a process: that of `a` is 10.0.0.1, that of `b` 10.0.0.2 …
pub(crate) fn server_of(name: &str) -> String {
    let first = name.bytes().next().unwrap_or(b'a');
    format!("10.0.0.{}", first.saturating_sub(b'a') + 1)
}
