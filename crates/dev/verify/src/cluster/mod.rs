//! The real cluster: worker processes, their registry, and a proxy between each worker and each
//! server of the registry.
//!
//! In reading order: `servers`, `lagging_server` (servers that elect a leader) ·
//! `zookeeper_servers`, `etcd_servers` (their two kinds) · `database` (one server) ·
//! `registry_file` (no server) · `links` (the network) · `wire` (expiry of ZooKeeper's sessions
//! from outside) · `registry` (any of the registries) · `process` (a worker process) · `skew` (its
//! clock) · `operator` · `nemesis` (the record of faults) · `history` (the records so far) ·
//! `actions` (implements the trait `Cluster`) · `registry_actions` (its part about the registry) ·
//! `finish` · this file.

mod actions;
mod database;
mod etcd_servers;
mod finish;
mod history;
mod lagging_server;
mod links;
mod nemesis;
mod operator;
mod process;
mod registry;
mod registry_actions;
mod registry_file;
mod servers;
mod skew;
mod wire;
mod zookeeper_servers;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use checker::history::{FORMAT, Fact, Record};
use lite::{Following, JobConfig};
use testkit::harness::ClusterError;
use tokio::task::block_in_place;

use crate::clock::{WallOffset, wall_ms};
use crate::journal::Journal;
use crate::protocol::{Arm, Order, PointAction};
use crate::txnlog::Owners;
use history::{HistoryFollower, RegistryLog};
use lagging_server::LaggingServer;
use links::Links;
use nemesis::Nemesis;
use operator::Operator;
use process::{Listener, Process, State};
use registry::{Expiry, TestedRegistry};
use skew::SkewMethod;

pub use registry::RealBackend;

/// Namespace of all nodes on servers that have one tree for all programs.
const NAMESPACE: &str = "/verify";

/// Options of a real cluster.
#[derive(Clone, Debug)]
pub struct RealOptions {
    /// The registry.
    pub backend: RealBackend,
    /// Folder for histories, logs and the servers' transactions. It is created, and must not have
    /// been used before.
    pub folder: PathBuf,
    /// Path of the program `ejob-worker`.
    pub worker: PathBuf,
    /// Name of the run.
    pub run: String,
    /// Minimum coverage that the run needs to count, by the names of the checker's coverage rows.
    pub require: BTreeMap<String, u64>,
    /// Rule by which workers use a narrow watch.
    pub following: Following,
}

/// A cluster of processes on this machine. All of them end when it is dropped, also when a test
/// panics.
#[derive(Debug)]
pub struct RealCluster {
    options: RealOptions,
    registry: TestedRegistry,
    method: SkewMethod,
    config: Option<JobConfig>,
    operator: Option<Operator>,
    workers: BTreeMap<String, Worker>,
    nemesis: Arc<Nemesis>,
    history: HistoryFollower,
    started: WallOffset,
    /// Index of the stopped server.
    stopped_server: Option<usize>,
    /// The server that lags.
    lagging_server: Option<LaggingServer>,
}

/// A worker by its name, with the data that all its starts share.
#[derive(Debug)]
struct Worker {
    links: Arc<Links>,
    process: Option<Arc<Process>>,
    n_starts: u32,
    skew_ms: i64,
    /// Faults for its next start.
    arms: Vec<Arm>,
}

impl RealCluster {
    /// Starts the registry, without workers. Servers take up to three seconds on an idle machine.
    ///
    /// # Errors
    /// [`ClusterError::Harness`] if the registry is not installed, or if the folder cannot be used.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with several threads, because waits for servers and
    /// processes block a thread.
    pub async fn start(options: RealOptions) -> Result<Self, ClusterError> {
        let folder = &options.folder;
        fs::create_dir_all(parts(folder))
            .map_err(|error| harness("create the folder of the run", error))?;
        let registry = TestedRegistry::start(options.backend, folder)?;
        let nemesis_path = parts(folder).join("nemesis.jsonl");
        let journal = Journal::create(&nemesis_path, "nemesis", 0, Box::new(wall_ms))
            .map_err(|error| harness("create the history", error))?;
        let started = WallOffset::measure();
        let log = RegistryLog::follow(&registry).await?;
        let mut history = HistoryFollower::new(log, started);
        history.follow(&nemesis_path);
        history.follow_resource(&folder.join("resource.log"));
        let method = SkewMethod::of_this_machine();
        method.clean_up();
        let nemesis = Arc::new(Nemesis::new(journal));
        nemesis.note(meta(&options, &method))?;
        Ok(Self {
            registry,
            method,
            config: None,
            operator: None,
            workers: BTreeMap::new(),
            nemesis,
            history,
            started,
            stopped_server: None,
            lagging_server: None,
            options,
        })
    }

    /// Returns the folder of the run.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.options.folder
    }

    /// Returns all records so far, in the order in which they were read.
    ///
    /// # Errors
    /// [`ClusterError::Harness`] if a history cannot be read.
    pub fn records(&mut self) -> Result<&[Record], ClusterError> {
        let owners = self.owners();
        self.history.read_on(&owners).map_err(|error| harness("read the history", error))
    }

    /// Returns the owners of sessions, as far as the log or the proxies have shown them.
    fn owners(&self) -> Owners {
        if let Some(owners) = self.history.owners() {
            return owners;
        }
        let of_worker = |(name, worker): (&String, &Worker)| {
            let name = name.clone();
            let sessions: Vec<_> = worker.links.sessions().collect();
            sessions.into_iter().map(move |found| (found.session, name.clone()))
        };
        self.workers.iter().flat_map(of_worker).collect()
    }

    fn worker(&self, act: &'static str, name: &str) -> Result<&Worker, ClusterError> {
        self.workers.get(name).ok_or_else(|| refused(act, name, "is unknown"))
    }

    fn process(&self, act: &'static str, name: &str) -> Result<Arc<Process>, ClusterError> {
        let process = self.worker(act, name)?.process.clone();
        process
            .filter(|process| process.state() != State::Ended)
            .ok_or_else(|| refused(act, name, "is not running"))
    }

    fn operator(&self) -> Result<&Operator, ClusterError> {
        let missing = || {
            harness("act as an operator", std::io::Error::other("the job has not been created yet"))
        };
        self.operator.as_ref().ok_or_else(missing)
    }

    fn processes(&self) -> impl Iterator<Item = &Arc<Process>> {
        let processes = self.workers.values().filter_map(|worker| worker.process.as_ref());
        processes.filter(|process| process.state() != State::Ended)
    }
}

/// Returns the folder of the history files of all processes.
fn parts(folder: &Path) -> PathBuf {
    folder.join("parts")
}

fn meta(options: &RealOptions, method: &SkewMethod) -> Fact {
    let params = [("skew_means", method.name())];
    Fact::RunMeta {
        v: FORMAT,
        run: options.run.clone(),
        seed: None,
        backend: options.backend.name().to_owned(),
        session_timeout_ms: u64::try_from(options.backend.session_timeout().as_millis())
            .unwrap_or(u64::MAX),
        require: options.require.clone(),
        params: params.map(|(name, value)| (name.to_owned(), value.into())).into(),
    }
}

/// Handler of the messages of one worker.
struct ProcessListener {
    nemesis: Arc<Nemesis>,
    links: Arc<Links>,
    expiry: Expiry,
}

impl Listener for ProcessListener {
    fn wrote(&self) {
        self.nemesis.notify();
    }

    async fn reached(
        &self,
        process: &Arc<Process>,
        arm: u32,
        session: Option<i64>,
    ) -> Option<Order> {
        let what = self.nemesis.reached(arm)?;
        if let Err(error) = self.take_effect(process, arm, what, session).await {
            self.nemesis.failed(&format!("point {arm} of {}", process.name), error);
        }
        (what == PointAction::Expire).then_some(Order::Proceed { arm })
    }

    fn ended_by_itself(&self, process: &Process, how: &str) {
        self.nemesis.failed(
            &format!("worker {}", process.name),
            format!("the process ended unexpectedly: {how}"),
        );
    }
}

impl ProcessListener {
    /// Does the harness's part of a fault at a point, and then records it.
    ///
    /// The order matters: a scenario that waits for the record finds the fault in force.
    async fn take_effect(
        &self,
        process: &Arc<Process>,
        arm: u32,
        what: PointAction,
        session: Option<i64>,
    ) -> Result<(), ClusterError> {
        match what {
            PointAction::Kill => {
                process.expect_end();
                let (process, nemesis) = (Arc::clone(process), Arc::clone(&self.nemesis));
                // A separate task, because this handler must continue in order to see the end of
                // the process.
                tokio::spawn(async move {
                    let ended = process.ended(process::END_LIMIT).await;
                    if let Err(error) = ended.and_then(|()| nemesis.note_point(arm)) {
                        nemesis.failed(&format!("point {arm} of {}", process.name), error);
                    }
                });
                return Ok(());
            }
            PointAction::Pause => block_in_place(|| process.stopped_by_itself())?,
            PointAction::Expire => {
                let none = || std::io::Error::other("the worker has no session");
                let session = session.ok_or_else(|| harness("end a session", none()))?;
                self.expiry.end(&self.links, session).await?;
            }
            // A reset of the connection loses the held bytes.
            PointAction::Lose => {
                self.links.reset().await.map_err(|error| harness("reset a link", error))?
            }
            PointAction::Delay { .. } => {}
        }
        self.nemesis.note_point(arm)
    }
}

/// Returns an error of the harness itself.
fn harness(
    act: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ClusterError {
    ClusterError::Harness { act: act.into(), source: error.into() }
}

/// Returns an error about a process that is not in the required state.
fn refused(act: &'static str, name: &str, reason: &str) -> ClusterError {
    ClusterError::Process { act, name: name.to_owned(), reason: reason.to_owned() }
}
