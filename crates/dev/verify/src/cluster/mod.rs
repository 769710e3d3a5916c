//! The real cluster: worker processes, a proxy between each of them and each server, and a three-node ensemble.
//!
//! In reading order: `servers`, `slow_motion` (the ensemble) · `links` (the network) · `wire` (ending a session from outside) ·
//! `life` (a process) · `skew` (its clock) · `operator` · `nemesis` (what was done, for the record) · `live` (the
//! history so far) · `acts` (the contract that scenarios are written against) · `registry_acts` (its part about the
//! registry) · `finish` · this file.

mod acts;
mod finish;
mod life;
mod links;
mod live;
mod nemesis;
mod operator;
mod registry_acts;
mod servers;
mod skew;
mod slow_motion;
mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use checker::history::{FORMAT, Fact, NemesisEvent, Record};
use lite::{Following, JobConfig};
use testkit::harness::{ClusterError, LinkMode};
use tokio::task::block_in_place;

use crate::clock::{WallOffset, wall_ms};
use crate::journal::Journal;
use crate::protocol::{Arm, Order, What};
use crate::txnlog::Owners;
use life::{Life, Listener, State};
use links::Links;
use live::Live;
use nemesis::Nemesis;
use operator::Operator;
use servers::Servers;
use skew::SkewMeans;
use slow_motion::SlowMotion;

/// The period of the job's schedule.
const PERIOD: Duration = Duration::from_secs(2);
/// How long the registry keeps the session of a worker that it does not hear from.
const SESSION_TIMEOUT: Duration = Duration::from_secs(1);
/// The node that everything happens below.
const NAMESPACE: &str = "/verify";

/// How a real cluster is set up.
#[derive(Clone, Debug)]
pub struct ZkOptions {
    /// A folder for everything that is worth keeping: histories, logs, the servers' transactions. It is made, and must
    /// not have been used before.
    pub folder: PathBuf,
    /// The program of a worker, `ejob-worker`.
    pub worker: PathBuf,
    /// A name for the run.
    pub run: String,
    /// What the run must have reached to count, by the names of the checker's coverage rows.
    pub require: BTreeMap<String, u64>,
    /// Of which jobs workers follow their own items only.
    pub following: Following,
}

/// A cluster of processes on this machine. All of them end when it is dropped, also when a test panics.
#[derive(Debug)]
pub struct ZkCluster {
    options: ZkOptions,
    servers: Servers,
    server_addresses: Vec<SocketAddr>,
    means: SkewMeans,
    config: Option<JobConfig>,
    operator: Option<Operator>,
    workers: BTreeMap<String, Worker>,
    nemesis: Arc<Nemesis>,
    live: Live,
    started: WallOffset,
    /// A server that is stopped.
    stopped_server: Option<usize>,
    /// A server that is behind all the time.
    slow_server: Option<SlowMotion>,
}

/// A process by its name: what stays the same through all its lives.
#[derive(Debug)]
struct Worker {
    links: Arc<Links>,
    life: Option<Arc<Life>>,
    n_lives: u32,
    skew_ms: i64,
    /// Faults for its next life.
    arms: Vec<Arm>,
}

impl ZkCluster {
    /// Starts the ensemble; no worker yet. Takes about three seconds.
    ///
    /// # Errors
    /// [`ClusterError::Harness`] if there is no ZooKeeper on this machine, or if the folder cannot be used.
    ///
    /// # Panics
    /// Outside of a tokio runtime with several threads: servers and processes are waited for on them.
    pub async fn start(options: ZkOptions) -> Result<Self, ClusterError> {
        let folder = &options.folder;
        fs::create_dir_all(parts(folder))
            .map_err(|error| harness("make the folder of the run", error))?;
        let servers = Servers::start()?;
        let nemesis_path = parts(folder).join("nemesis.jsonl");
        let journal = Journal::create(&nemesis_path, "nemesis", 0, Box::new(wall_ms))
            .map_err(|error| harness("begin the history", error))?;
        let started = WallOffset::measure();
        let mut live = Live::new(servers.logs(), NAMESPACE, started);
        live.follow(&nemesis_path);
        live.follow_resource(&folder.join("resource.log"));
        let means = SkewMeans::of_this_machine();
        means.sweep();
        let nemesis = Arc::new(Nemesis::new(journal));
        nemesis.note(meta(&options, &means))?;
        Ok(Self {
            server_addresses: servers.addresses(),
            servers,
            means,
            config: None,
            operator: None,
            workers: BTreeMap::new(),
            nemesis,
            live,
            started,
            stopped_server: None,
            slow_server: None,
            options,
        })
    }

    /// Returns the folder of everything that is worth keeping.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.options.folder
    }

    /// Returns everything that is known so far, in the order in which it became known.
    ///
    /// # Errors
    /// [`ClusterError::Harness`] if a history cannot be read.
    pub fn records(&mut self) -> Result<&[Record], ClusterError> {
        let owners = self.owners();
        self.live.read_on(&owners).map_err(|error| harness("read the history", error))
    }

    /// Returns whose session is whose, as far as the proxies have seen.
    fn owners(&self) -> Owners {
        let of_worker = |(name, worker): (&String, &Worker)| {
            let name = name.clone();
            let sessions: Vec<_> = worker.links.sessions().collect();
            sessions.into_iter().map(move |found| (found.session, name.clone()))
        };
        self.workers.iter().flat_map(of_worker).collect()
    }

    fn worker(&self, act: &'static str, name: &str) -> Result<&Worker, ClusterError> {
        self.workers.get(name).ok_or_else(|| refused(act, name, "is not known"))
    }

    fn life(&self, act: &'static str, name: &str) -> Result<Arc<Life>, ClusterError> {
        let life = self.worker(act, name)?.life.clone();
        life.filter(|life| life.state() != State::Ended)
            .ok_or_else(|| refused(act, name, "does not run"))
    }

    fn operator(&self) -> Result<&Operator, ClusterError> {
        let missing =
            || harness("act as an operator", std::io::Error::other("there is no job yet"));
        self.operator.as_ref().ok_or_else(missing)
    }

    fn lives(&self) -> impl Iterator<Item = &Arc<Life>> {
        let lives = self.workers.values().filter_map(|worker| worker.life.as_ref());
        lives.filter(|life| life.state() != State::Ended)
    }
}

/// Returns where each process of a run writes its part of the history.
fn parts(folder: &Path) -> PathBuf {
    folder.join("parts")
}

fn meta(options: &ZkOptions, means: &SkewMeans) -> Fact {
    let params = [("skew_means", means.name()), ("servers", "3")];
    Fact::RunMeta {
        v: FORMAT,
        run: options.run.clone(),
        seed: None,
        backend: "zookeeper".to_owned(),
        session_timeout_ms: u64::try_from(SESSION_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        require: options.require.clone(),
        params: params.map(|(name, value)| (name.to_owned(), value.into())).into(),
    }
}

/// What the harness makes of the words of one worker.
struct Attendance {
    nemesis: Arc<Nemesis>,
    links: Arc<Links>,
    servers: Vec<SocketAddr>,
}

impl Listener for Attendance {
    fn wrote(&self) {
        self.nemesis.tell();
    }

    async fn reached(&self, life: &Arc<Life>, arm: u32, session: Option<i64>) -> Option<Order> {
        let what = self.nemesis.reached(arm)?;
        if let Err(error) = self.meet(life, arm, what, session).await {
            self.nemesis.failed(&format!("point {arm} of {}", life.name), error);
        }
        (what == What::Expire).then_some(Order::Proceed { arm })
    }

    fn ended_by_itself(&self, life: &Life, how: &str) {
        self.nemesis
            .failed(&format!("worker {}", life.name), format!("ended by itself with {how}"));
    }
}

impl Attendance {
    /// Does the harness's part of what happens at a point, and notes it: after it has happened, so that whoever waits
    /// for the note finds it done.
    async fn meet(
        &self,
        life: &Arc<Life>,
        arm: u32,
        what: What,
        session: Option<i64>,
    ) -> Result<(), ClusterError> {
        match what {
            What::Kill => {
                life.expect_end();
                let (life, nemesis) = (Arc::clone(life), Arc::clone(&self.nemesis));
                // Whoever listens here must go on listening, or nobody finds out that it has ended.
                tokio::spawn(async move {
                    let ended = life.ended(life::END_LIMIT).await;
                    if let Err(error) = ended.and_then(|()| nemesis.note_point(arm)) {
                        nemesis.failed(&format!("point {arm} of {}", life.name), error);
                    }
                });
                return Ok(());
            }
            What::Pause => block_in_place(|| life.stopped_by_itself())?,
            What::Expire => drop(expire(&self.links, &self.servers, session).await?),
            // What is lost is lost with its connection.
            What::Lose => {
                self.links.reset().await.map_err(|error| harness("reset a link", error))?
            }
            What::Delay { .. } => {}
        }
        self.nemesis.note_point(arm)
    }
}

fn note_expiry(nemesis: &Nemesis, name: &str, session: i64) -> Result<(), ClusterError> {
    nemesis.fault(NemesisEvent::Point, "expire", name, format!("session {session:#x}"))
}

/// Ends a session that was opened through these links and returns which it was.
///
/// Two clients in one session push each other out, so the links are cut before if the owner could come back through
/// them.
async fn expire(
    links: &Links,
    servers: &[SocketAddr],
    session: Option<i64>,
) -> Result<i64, ClusterError> {
    const ACT: &str = "end a session";
    let found = links.sessions().find(|found| Some(found.session) == session);
    let found = found.ok_or_else(|| harness(ACT, std::io::Error::other("there is none")))?;
    let is_cut = links.mode() == LinkMode::Black;
    if !is_cut {
        links.refuse().await.map_err(|error| harness(ACT, error))?;
    }
    let ended = wire::end_session(servers, &found, SESSION_TIMEOUT).await;
    if !is_cut {
        links.apply().await.map_err(|error| harness(ACT, error))?;
    }
    ended.map_err(|error| harness(ACT, error))?;
    Ok(found.session)
}

/// The harness failed.
fn harness(
    act: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ClusterError {
    ClusterError::Harness { act: act.into(), source: error.into() }
}

/// A process is not in the state that the act needs.
fn refused(act: &'static str, name: &str, reason: &str) -> ClusterError {
    ClusterError::Process { act, name: name.to_owned(), reason: reason.to_owned() }
}
