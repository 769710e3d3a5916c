//! The cluster that a user's job is tested on.

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
use crate::system::chaos::{Director, Node, draw_environment_faults};
use crate::system::cluster::{ClusterOptions, ScenarioCluster};
use crate::system::process::JobToRun;

/// Time without faults before the verdict, in periods of ten seconds.
const CALM_PERIODS: u32 = 12;

/// A cluster of simulated processes that run your job, in virtual time and from one seed.
///
/// Use it inside of [`run`](crate::run). Each process is a complete scheduler with its own registry
/// session, clock and tasks. Only the registry, the network and time are simulated. A call takes
/// effect before it returns. An error means that the state of the process does not permit the call:
/// correct the test.
///
/// Wait with [`pass`](Self::pass) and [`until`](Self::until), never with threads. In the simulation
/// `tokio::time` is virtual, for your job as well. A job that blocks a thread stops the simulation;
/// one that spawns threads or does real IO escapes from it.
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
///     cluster.until("a runs an item", |seen| seen.runs_on("a") > 0).await?;
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
    /// Creates a world with an empty registry. The seed determines all random decisions in it.
    ///
    /// # Panics
    /// Outside of [`run`](crate::run), or of another tokio runtime with time.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let cluster = ScenarioCluster::with_options(ClusterOptions::new(seed));
        Self { cluster, job: None, nodes: Vec::new(), chance: Rng::with_seed(!seed) }
    }

    /// Sets the job that the processes run: its configuration, and a factory that makes the job for
    /// each process.
    ///
    /// Processes share only the values that the factory hands to them, such as a store.
    pub fn schedule<J: Job>(
        &mut self,
        config: JobConfig,
        job: impl Fn(&str) -> J + Send + Sync + 'static,
    ) {
        self.cluster.job = Some(config.clone());
        self.job = Some((config, Arc::new(move |node: &str| Arc::new(job(node)) as Arc<dyn Job>)));
    }

    /// Returns the external store, which rejects the writes of overtaken runs.
    #[must_use]
    pub fn store(&self) -> FencedStore {
        FencedStore { resource: Arc::clone(self.cluster.resource()) }
    }

    /// Returns the true time of this world.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.cluster.recorder.clock().wall()
    }

    /// Starts a process, or starts a process again that has ended. Each process has its own server:
    /// `10.0.0.1`, `10.0.0.2` …
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is running already, or no job was scheduled.
    pub fn start(&mut self, node: &str) -> Result<(), ClusterError> {
        let Some((config, make)) = &self.job else {
            let reason = "has no job to run; call `schedule` first".to_owned();
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

    /// Kills a process: no destructor runs, and its session continues until it expires.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
    pub fn crash(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.kill_now(node)
    }

    /// Shuts a process down gracefully: it starts nothing more, completes its runs, and leaves.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
    pub fn leave(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.close_now(node)
    }

    /// Pauses a process at any point of its work, as a long garbage collection or a frozen machine
    /// does.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
    pub fn pause(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.pause_now(node)
    }

    /// Resumes a paused process. Its timers that came due meanwhile all fire now.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
    pub fn resume(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.resume_now(node)
    }

    /// Changes the behaviour of the connection between a process and the registry;
    /// [`LinkMode::Pass`] heals.
    ///
    /// # Errors
    /// None at present. A process that is not running yet will start with this connection.
    pub fn link(&mut self, node: &str, mode: LinkMode) -> Result<(), ClusterError> {
        self.cluster.link_now(node, mode)
    }

    /// Ends the session of a healthy process on the registry's side.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
    pub fn expire(&mut self, node: &str) -> Result<(), ClusterError> {
        self.cluster.expire_now(node)
    }

    /// Sets the difference between the wall clock of a process and the true time; zero heals.
    ///
    /// # Errors
    /// None at present. A process that is not running yet will start with this clock.
    pub fn skew(&mut self, node: &str, by: SignedDuration) -> Result<(), ClusterError> {
        self.cluster.skew_now(node, i64::try_from(by.as_millis()).unwrap_or(0))
    }

    /// Arms an action for the next registry write of a duty of a process, such as `claim` or
    /// `release`.
    ///
    /// # Errors
    /// [`ClusterError::Process`] if the process is not running.
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

    /// Applies an event to the registry.
    pub fn registry(&mut self, event: RegEvent) {
        self.cluster.registry_now(event);
    }

    /// Performs an operator action. Returns false if the registry did not answer, or if nothing was
    /// changed.
    pub fn operator(&mut self, op: AdminOp) -> bool {
        self.cluster.operate(op)
    }

    /// Lets virtual time pass.
    pub async fn pass(&mut self, time: Duration) {
        self.cluster.elapse(time).await;
    }

    /// Waits until the history satisfies a condition, for at most an hour of virtual time.
    ///
    /// # Errors
    /// [`ClusterError::Timeout`] with `what`, the name of the condition.
    pub async fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(Seen<'_>) -> bool + Sync,
    ) -> Result<(), ClusterError> {
        const HOUR: u32 = 360;
        self.cluster.until(what, HOUR, &|records: &[Record]| wanted(Seen { records })).await
    }

    /// Applies random faults to all processes started so far: crashes, pauses, partitions, lost
    /// replies, wrong clocks, an unreliable registry.
    ///
    /// The seed determines the faults. Processes that are down at the end start again.
    pub async fn chaos(&mut self, time: Duration) {
        let Some((config, make)) = self.job.clone() else { return };
        let for_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let n_nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let faults = draw_environment_faults(&mut self.chance, n_nodes, for_ms);
        let job = config.clone();
        let spawn = move |cluster: &mut ScenarioCluster, node: &Node| {
            let jobs = vec![JobToRun::new(job.clone(), make(&node.name))];
            cluster.start(&node.name, &node.server, None, jobs)
        };
        let mut director = Director::new(&mut self.cluster, config, &self.nodes, &spawn, &faults);
        director.chaos(for_ms).await;
        director.restore_order().await;
    }

    /// Heals all faults, waits for two minutes, ends the world, and returns the checker's report.
    ///
    /// The verdict is [`Valid`](checker::Verdict::Valid) if no promise was broken. Print the report
    /// to see which promises were checked, and the records around a violation. Processes that the
    /// test has crashed stay dead.
    pub async fn judge(mut self) -> Report {
        self.cluster.heal_all();
        self.cluster.record_healed();
        self.cluster.elapse_in_calm(ScenarioCluster::PERIOD * CALM_PERIODS).await;
        check(&History::from_records(self.cluster.finish_now()), &Options::default())
    }
}

impl fmt::Debug for SimCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimCluster").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// The history so far.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    records: &'a [Record],
}

impl<'a> Seen<'a> {
    /// Returns all records in order.
    #[must_use]
    pub fn records(self) -> &'a [Record] {
        self.records
    }

    /// Returns the number of runs that have begun on a node.
    #[must_use]
    pub fn runs_on(self, node: &str) -> usize {
        self.execs(checker::history::ExecEvent::Start).filter(|record| record.p == node).count()
    }

    /// Returns the number of runs that have ended on all nodes, whether they succeeded or not.
    #[must_use]
    pub fn ended_runs(self) -> usize {
        self.execs(checker::history::ExecEvent::End).count()
    }

    fn execs(self, wanted: checker::history::ExecEvent) -> impl Iterator<Item = &'a Record> {
        let has_event = move |record: &&Record| matches!(&record.fact, checker::history::Fact::Exec { ev, .. } if *ev == wanted);
        self.records.iter().filter(has_event)
    }
}
