//! The stage that scenarios play on: a cluster, with the words that their scripts are written in.

use std::time::Duration;

use checker::history::{ProcessEvent, SessionEvent};
use fastrand::Rng;
use lite::{JobBuilder, JobConfig};
use parking_lot::Mutex;

use super::history_queries::{JOB, Seen};
use super::{Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work};

/// How many periods a cluster has to get ready: processes start, join, and share the items.
const READY: u32 = 10;
/// How many periods everything has to be well again after the last fault is healed.
const WELL: u32 = 16;

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
    cluster: Box<dyn Cluster>,
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
    let (slow, fail, panic, hang) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Work { periods, slow, fail, panic, hang }
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

    /// Waits until the items are shared among so many instances.
    pub(crate) async fn until_shared(&mut self, n: usize) -> Played {
        let what = format!("the items are shared by {n}");
        self.until(&what, READY, move |seen| seen.assigned_for() == Some(n)).await
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

    /// Has a process leave in order, and waits until it has left.
    pub(crate) async fn close(&mut self, name: &'static str) -> Played {
        let mark = self.mark().await?;
        self.cluster.close(name).await?;
        let what = format!("{name} leaves");
        self.promised(&what, READY, move |seen| {
            seen.since(mark).process(name, ProcessEvent::Left).next().is_some()
        })
        .await
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

    /// Waits for something that the scenario needs. If it does not come, the run shows nothing.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Played {
        let (period, session) = (self.cluster.period(), self.cluster.session_timeout());
        let looks = |records: &[checker::history::Record]| holds(Seen::new(records, period, session));
        Ok(self.cluster.until(what, max_periods, &looks).await?)
    }

    /// Waits for something that the product promises. If it does not come, the promise is broken.
    pub(crate) async fn promised(
        &mut self,
        what: &str,
        max_periods: u32,
        holds: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Played {
        match self.until(what, max_periods, holds).await {
            Err(ScenarioError::Cluster(ClusterError::Timeout { what, max_periods })) => {
                Err(ScenarioError::Broken { what, max_periods })
            }
            other => other,
        }
    }

    /// Waits until there is an answer, and returns it.
    pub(crate) async fn find<T: Send>(
        &mut self,
        what: &str,
        max_periods: u32,
        answer: impl Fn(Seen<'_>) -> Option<T> + Sync,
    ) -> Result<T, ScenarioError> {
        let found = Mutex::new(None);
        let keep = |seen: Seen<'_>| {
            let answer = answer(seen);
            let is_found = answer.is_some();
            *found.lock() = answer;
            is_found
        };
        self.until(what, max_periods, keep).await?;
        found.into_inner().ok_or_else(|| {
            let (what, max_periods) = (what.to_owned(), max_periods);
            ClusterError::Timeout { what, max_periods }.into()
        })
    }

    /// Returns how much is known by now: a place to look from.
    pub(crate) async fn mark(&mut self) -> Result<usize, ScenarioError> {
        self.find("a look at what is known", 1, |seen| Some(seen.records().len())).await
    }

    /// Waits until there is a leader, and returns its name.
    pub(crate) async fn leader(&mut self) -> Result<String, ScenarioError> {
        self.find("there is a leader", READY, |seen| seen.leader().map(str::to_owned)).await
    }

    /// Waits until a process runs at least so many items at once.
    pub(crate) async fn until_running(&mut self, name: &str, n: usize) -> Played {
        let what = format!("{name} runs {n} items");
        self.until(&what, READY, |seen| seen.running_on(name).len() >= n).await
    }

    /// Waits until a process runs nothing.
    pub(crate) async fn until_idle(&mut self, name: &str) -> Played {
        let what = format!("{name} runs nothing");
        self.until(&what, READY, |seen| seen.running_on(name).is_empty()).await
    }

    /// Waits for the next run that a process begins, and returns its fire.
    pub(crate) async fn next_fire_of(&mut self, name: &str) -> Result<i64, ScenarioError> {
        let mark = self.mark().await?;
        let what = format!("{name} begins a run");
        self.find(&what, READY, |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().find(|run| run.p == name).map(|run| run.id.fire)
        })
        .await
    }

    /// Waits until a fault of this kind has been met so many times by this process.
    pub(crate) async fn until_hit(&mut self, kind: &'static str, name: &str, n: usize) -> Played {
        let what = format!("{kind} at a write of {name}");
        self.until(&what, READY, |seen| {
            seen.hits(kind).filter(|hit| hit.target == name).count() >= n
        })
        .await
    }

    /// Waits until a process has learned this about a session after the mark.
    pub(crate) async fn until_session(
        &mut self,
        name: &str,
        mark: usize,
        wanted: SessionEvent,
    ) -> Played {
        let what = format!("{name} learns that its session is {wanted:?}");
        self.until(&what, READY, |seen| {
            let seen = seen.since(mark);
            seen.records().iter().any(|record| {
                let fact = &record.fact;
                record.p == name
                    && matches!(fact, checker::history::Fact::Session { ev, .. } if *ev == wanted)
            })
        })
        .await
    }

    /// Waits until a process has joined anew after the mark.
    pub(crate) async fn until_rejoined(&mut self, name: &str, mark: usize) -> Played {
        let what = format!("{name} joins again");
        self.promised(&what, READY, |seen| {
            seen.since(mark).told("joined").any(|told| told.p == name)
        })
        .await
    }

    /// Waits until so many runs by failover have ended well after the mark.
    pub(crate) async fn until_taken_over(&mut self, n: usize, mark: usize, max: u32) -> Played {
        let what = format!("{n} runs are taken over and done");
        self.promised(&what, max, move |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().filter(|run| run.is_failover() && run.is_well()).count() >= n
        })
        .await
    }

    /// Waits until all these items have been run by a process in one fire after the mark.
    pub(crate) async fn until_all_run_by(
        &mut self,
        name: &str,
        items: std::ops::Range<u32>,
        mark: usize,
    ) -> Played {
        let what = format!("{name} runs all items of one fire");
        self.promised(&what, READY, |seen| {
            let mut runs = seen.since(mark).runs();
            runs.retain(|run| run.p == name && run.is_over());
            let has = |item, fire| runs.iter().any(|r| r.id.item == item && r.id.fire == fire);
            runs.iter().any(|run| items.clone().all(|item| has(item, run.id.fire)))
        })
        .await
    }

    /// Heals everything and waits until each of these items has been run once more, from beginning to end; then a
    /// little longer, so that promises about progress can be judged.
    pub(crate) async fn rest(&mut self, items: std::ops::Range<u32>) -> Played {
        self.rest_but(items, &[]).await
    }

    /// As [`rest`](Self::rest), without some items, which do not end.
    pub(crate) async fn rest_but(&mut self, items: std::ops::Range<u32>, but: &[u32]) -> Played {
        let mark = self.mark().await?;
        self.cluster.heal().await?;
        self.promised("every item is run again after the healing", WELL, |seen| {
            let runs = seen.since(mark).runs();
            let runs_again = |item| runs.iter().any(|run| run.id.item == item && run.is_over());
            items.clone().filter(|item| !but.contains(item)).all(runs_again)
        })
        .await?;
        self.elapse(self.sessions(1.5) + self.periods(1.5)).await;
        Ok(())
    }
}

/// Returns the IP of a process: that of `a` is 10.0.0.1, that of `b` 10.0.0.2 …
pub(crate) fn server_of(name: &str) -> String {
    let first = name.bytes().next().unwrap_or(b'a');
    format!("10.0.0.{}", first.saturating_sub(b'a') + 1)
}
