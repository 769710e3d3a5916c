//! The cluster that a job is tested on.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use checker::history::Record;
use checker::{History, Options, Report, check};
use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use lite::{Job, JobConfig};

use super::store::FencedStore;
use crate::cluster::{Action, AdminOp, Cluster, ClusterError, LinkMode, Point, RegEvent, When};
use crate::system::chaos::{Director, Node, faults_of_the_world};
use crate::system::cluster::{ClusterOptions, ScenarioCluster};
use crate::system::process::JobToRun;

/// How long nothing goes wrong before the verdict, in periods of ten seconds.
const CALM_PERIODS: u32 = 12;

/// A cluster of simulated processes that run your job, in virtual time and from one seed.
///
/// Use it inside of [`run`](crate::run). Every process is a whole scheduler with a registry session, a clock and
/// tasks of its own; nothing is mocked but the registry, the network and time. What happens to a process is in force when
/// the call returns. An error means that the process is not in a state for it, and is the test's mistake.
///
/// Wait with [`pass`](Self::pass) and [`until`](Self::until), never with threads: `tokio::time` is virtual here, for your
/// job as well. A job that blocks a thread, spawns its own, or does real IO, blocks the world or escapes from it.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use lite::{JobBuilder, job_fn};
/// use testkit::{SimCluster, Verdict, run};
///
/// let report = run(async {
///     let config = JobBuilder::new("report", 4).cron("0/10 * * * * ?").failover(true).build()?;
///     let mut cluster = SimCluster::new(7);
///     let store = cluster.store();
///     cluster.schedule(config, move |_node| {
///         let store = store.clone();
///         job_fn(move |run| {
///             let store = store.clone();
///             async move {
///                 store.announce(&run)?;
///                 tokio::time::sleep(Duration::from_secs(3)).await;
///                 Ok(store.write(&run)?)
///             }
///         })
///     });
///     for node in ["a", "b", "c"] {
///         cluster.start(node)?;
///     }
///     cluster.until("something runs on a", |seen| seen.runs_on("a") > 0).await?;
///     cluster.crash("a")?;
///     cluster.pass(Duration::from_secs(60)).await;
///     Ok::<_, Box<dyn std::error::Error>>(cluster.judge().await)
/// })?;
/// assert_eq!(report.verdict, Verdict::Valid, "{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SimCluster {
    cluster: ScenarioCluster,
    job: Option<(JobConfig, Arc<MakeJob>)>,
    nodes: Vec<Node>,
    chance: Rng,
}

type MakeJob = dyn Fn(&str) -> Arc<dyn Job> + Send + Sync;

impl SimCluster {
    /// Begins a world with an empty registry; all chance in it comes from the seed.
    ///
    /// # Panics
    /// Outside of [`run`](crate::run), or of another tokio runtime with time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let cluster = ScenarioCluster::with_options(ClusterOptions::new(seed));
        Self { cluster, job: None, nodes: Vec::new(), chance: Rng::with_seed(!seed) }
    }

    /// Says what the processes run: a configuration, and how each process makes its job. Processes share nothing but
    /// what you let them share, such as a store.
    pub fn schedule<J: Job>(
        &mut self,
        config: JobConfig,
        job: impl Fn(&str) -> J + Send + Sync + 'static,
    ) {
        self.cluster.job = Some(config.clone());
        self.job = Some((config, Arc::new(move |node: &str| Arc::new(job(node)) as Arc<dyn Job>)));
    }

    /// Returns the store outside of all processes that judges effects.
    #[must_use]
    pub fn store(&self) -> FencedStore {
        FencedStore { resource: Arc::clone(self.cluster.resource()) }
    }

    /// Returns the true time in this world.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cluster.recorder.clock().wall()
    }

    /// Starts a process, or starts one again that has ended. Each has a server of its own: `10.0.0.1`, `10.0.0.2` …
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it lives already, or no job was scheduled.
    pub fn start(&mut self, node: &str) -> Result<(), ClusterError> {
        let Some((config, make)) = &self.job else {
            let reason = "has nothing to run: schedule a job first".to_owned();
            return Err(ClusterError::Process { act: "start", name: node.to_owned(), reason });
        };
        let known = self.nodes.iter().position(|known| known.name == node);
        let place = known.unwrap_or(self.nodes.len());
        let server = format!("10.0.0.{}", place + 1);
        let jobs = vec![JobToRun::new(config.clone(), make(node))];
        self.cluster.start(node, &server, None, jobs)?;
        if known.is_none() {
            self.nodes.push(Node { name: node.to_owned(), server });
        }
        Ok(())
    }

    /// Kills a process: no destructor runs, and its session goes on until it expires.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn crash(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.kill_now(node)
    }

    /// Has a process leave in order: it starts nothing more, finishes what runs, and hands over.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn leave(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.close_now(node)
    }

    /// Stops a process in the middle of whatever it does, as a long garbage collection or a frozen machine would.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn pause(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.pause_now(node)
    }

    /// Lets a paused process go on. All its timers that came due meanwhile fire now.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn resume(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.resume_now(node)
    }

    /// Changes what the connection between a process and the registry does; [`LinkMode::Pass`] heals.
    ///
    /// # Errors
    /// None at present; a node that does not live yet begins with this connection.
    pub fn link(&mut self, node: &str, mode: LinkMode) -> Result<(), ClusterError> {
        self.cluster.link_now(node, mode)
    }

    /// Ends the session of a process on the registry's side, although the process is well.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn expire(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.expire_now(node)
    }

    /// Sets the wall clock of a process off by this much from the true time; zero heals.
    ///
    /// # Errors
    /// None at present; a node that does not live yet begins with this clock.
    pub fn skew(&mut self, node: &str, by: SignedDuration) -> Result<(), ClusterError> {
        self.cluster.skew_now(node, i64::try_from(by.as_millis()).unwrap_or(0))
    }

    /// Arranges that something happens to a process at its next registry write of a duty, such as `claim` or `release`.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if it does not live.
    pub fn at_next(
        &mut self,
        node: &str,
        duty: &str,
        when: When,
        action: Action,
    ) -> Result<(), ClusterError> {
        let point = Point { duty: Some(duty.to_owned()), nth: 0, when };
        self.cluster.inject_now(node, point, action)
    }

    /// Does something to the registry.
    pub fn registry(&mut self, event: RegEvent) {
        self.cluster.registry_now(event);
    }

    /// Acts as an operator. Returns whether it was done: not if the registry does not answer, or there is nothing to do.
    pub fn operator(&mut self, op: AdminOp) -> bool {
        self.cluster.operate(op)
    }

    /// Lets virtual time pass.
    pub async fn pass(&mut self, time: Duration) {
        self.cluster.elapse(time).await;
    }

    /// Waits until the history is as wanted, at most an hour of virtual time.
    ///
    /// # Errors
    /// [`ClusterError::Timeout`] with what was waited for.
    pub async fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Result<(), ClusterError> {
        const HOUR: u32 = 360;
        self.cluster.until(what, HOUR, &|records: &[Record]| wanted(Seen { records })).await
    }

    /// Lets everything go wrong that can, to all processes started so far: crashes, pauses, partitions, lost replies,
    /// clocks, an unreliable registry. The seed decides what; who is gone at the end comes back.
    pub async fn chaos(&mut self, time: Duration) {
        let Some((config, make)) = self.job.clone() else { return };
        let for_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let n_nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let faults = faults_of_the_world(&mut self.chance, n_nodes, for_ms);
        let job = config.clone();
        let spawn = move |cluster: &mut ScenarioCluster, node: &Node| {
            let jobs = vec![JobToRun::new(job.clone(), make(&node.name))];
            cluster.start(&node.name, &node.server, None, jobs)
        };
        let mut director = Director::new(&mut self.cluster, config, &self.nodes, &spawn, &faults);
        director.chaos(for_ms).await;
        director.restore_order().await;
    }

    /// Heals everything, waits for two minutes, ends the world, and says which promises held.
    ///
    /// A verdict of [`Valid`](checker::Verdict::Valid) means that none was broken; print the report to see what was
    /// checked, and the records around what was broken. Who was crashed by the test stays dead.
    pub async fn judge(mut self) -> Report {
        self.cluster.mend();
        self.cluster.say_healed();
        self.cluster.elapse(ScenarioCluster::PERIOD * CALM_PERIODS).await;
        check(&History::from_records(self.cluster.finish_now()), &Options::default())
    }
}

impl fmt::Debug for SimCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimCluster").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    records: &'a [Record],
}

impl<'a> Seen<'a> {
    /// Returns everything that was recorded, in order.
    #[must_use]
    pub fn records(self) -> &'a [Record] {
        self.records
    }

    /// Returns how many runs have begun on a node.
    #[must_use]
    pub fn runs_on(self, node: &str) -> usize {
        self.execs(checker::history::ExecEvent::Start).filter(|record| record.p == node).count()
    }

    /// Returns how many runs have ended, well or not, on all nodes.
    #[must_use]
    pub fn ended_runs(self) -> usize {
        self.execs(checker::history::ExecEvent::End).count()
    }

    fn execs(self, wanted: checker::history::ExecEvent) -> impl Iterator<Item = &'a Record> {
        let is_it = move |record: &&Record| matches!(&record.fact, checker::history::Fact::Exec { ev, .. } if *ev == wanted);
        self.records.iter().filter(is_it)
    }
}
