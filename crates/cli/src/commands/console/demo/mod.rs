//! The demonstration: three servers in this process share a registry in memory and run jobs. One of
//! the servers is lost in each minute and comes back.
//!
//! In reading order: `jobs` (their code) · this file (the servers, and the operators before the
//! visitor).

mod jobs;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coordination::{GroupLimits, GroupName, JobName};
use futures_util::future::join_all;
use jiff::Timestamp;
use job_history::{History, HistoryOptions};
use job_watch::WatchFile;
use lite::{Scheduler, ShardingItem};
use operations::{By, Operations, Scope};
use reg_center::{MemoryCenter, MemoryRegistry, RegistryCenter};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Opened, Watched};
use crate::fault::Fault;
use jobs::DemoJob;

const SERVERS: [&str; 3] = ["10.0.0.11", jobs::HANGING_SERVER, LOST_SERVER];
/// Server that is lost and comes back.
const LOST_SERVER: &str = "10.0.0.13";
/// Second of each minute at which the server is lost. `settle-payments` runs at that time.
const LOST_AT: i8 = 25;
/// Second of each minute at which the server comes back.
const BACK_AT: i8 = 40;
/// Maximum time for leaving at the end.
const LEAVE: Duration = Duration::from_secs(2);
/// Maximum wait for a run that the demonstration requests at its start.
const FIRST_RUN: Duration = Duration::from_secs(10);

/// Expectations of the jobs. Nothing is sent, because there is no channel.
const EXPECTATIONS: &str = r#"
name = "demo"

[[expect]]
job = "*"
failures = 3
instances_at_least = 2

[[expect]]
job = "heartbeat"
late_after = "5s"
must_succeed_within = "1m"

[[expect]]
job = "sync-stock"
late_after = "10s"
at_most = "30s"
severity = "critical"

[[expect]]
job = "price-update"
failures = 1

[[expect]]
job = "nightly-invoices"
late_after = "5m"
"#;

/// A running demonstration.
pub(super) struct Demo {
    registry: MemoryRegistry,
    story: JoinHandle<Result<(), Fault>>,
    ending: CancellationToken,
    history: Arc<History>,
    /// Has the history. It is removed when this is dropped.
    folder: TempDir,
}

impl Demo {
    /// Starts the servers, and makes the changes of the operators.
    pub(super) async fn start() -> Result<Self, Fault> {
        let folder = tempfile::Builder::new().prefix("ejob-demo-").tempdir();
        let folder = folder.map_err(|error| {
            Fault::refused(format!("a folder for the history cannot be created: {error}"))
        })?;
        let history = Arc::new(open_history(folder.path()).await?);
        let registry = MemoryRegistry::new();
        let mut servers = Vec::new();
        for ip in SERVERS {
            servers.push(Server::start(&registry, ip, &history).await?);
        }
        change_as_operators(&registry).await?;
        let ending = CancellationToken::new();
        let story = Story { registry: registry.clone(), history: Arc::clone(&history), servers };
        let story = tokio::spawn(story.play(ending.clone()));
        Ok(Self { registry, story, ending, history, folder })
    }

    /// Returns the namespace for the console, on a session of its own.
    pub(super) async fn opened(&self) -> Result<Opened, Fault> {
        Ok(Opened {
            name: "demo".to_owned(),
            registry: "three servers in the memory of this process".to_owned(),
            center: Arc::new(self.registry.connect()),
            history: Some(open_history(self.folder.path()).await?),
            watched: Some(Watched {
                file: WatchFile::parse(EXPECTATIONS).map_err(Fault::usage)?,
                center: Arc::new(self.registry.connect()),
                java: None,
            }),
        })
    }

    /// Ends the servers, and removes the history.
    pub(super) async fn end(self) -> Result<(), Fault> {
        self.ending.cancel();
        let played = self.story.await.map_err(Fault::refused)?;
        let closed = self.history.close(LEAVE).await;
        played.and(closed.map_err(Fault::from))
    }
}

async fn open_history(folder: &Path) -> Result<History, Fault> {
    Ok(History::open(HistoryOptions::sqlite(folder.join("history.db"))).await?)
}

/// One server: a process with a session of its own.
struct Server {
    center: Arc<MemoryCenter>,
    scheduler: Scheduler,
}

impl Server {
    async fn start(registry: &MemoryRegistry, ip: &str, history: &History) -> Result<Self, Fault> {
        let center = Arc::new(registry.connect());
        let scheduler = Scheduler::builder(center.clone())
            .server_ip(ip)?
            .event_subscriber(history.subscriber())
            .build()?;
        scheduler.offer(jobs::template()?).await?;
        let group = GroupName::new(jobs::GROUP).map_err(Fault::usage)?;
        scheduler.define_group(group, jobs::GROUP_LIMITS).await?;
        let jobs = jobs::all().map_err(Fault::usage)?;
        for job in jobs.into_iter().filter(|job| job.runs_on(ip)) {
            let code = job.code();
            let DemoJob { config, .. } = job;
            scheduler.schedule(config, code).await?.joined().await?;
        }
        Ok(Self { center, scheduler })
    }

    /// Ends the server as a crash does: its runs stop, and its session ends.
    async fn crash(self) -> Result<(), Fault> {
        self.scheduler.abort();
        Ok(self.center.close().await?)
    }
}

/// The servers in the course of time.
struct Story {
    registry: MemoryRegistry,
    history: Arc<History>,
    /// In the order of [`SERVERS`].
    servers: Vec<Server>,
}

impl Story {
    async fn play(mut self, ending: CancellationToken) -> Result<(), Fault> {
        let played = ending.run_until_cancelled(self.lose_and_restart()).await;
        let leaving = self.servers.iter().map(|server| server.scheduler.shutdown(LEAVE));
        join_all(leaving).await;
        played.unwrap_or(Ok(()))
    }

    /// Loses the last server again and again.
    async fn lose_and_restart(&mut self) -> Result<(), Fault> {
        loop {
            until_second(LOST_AT).await;
            if let Some(server) = self.servers.pop() {
                server.crash().await?;
            }
            until_second(BACK_AT).await;
            self.servers.push(Server::start(&self.registry, LOST_SERVER, &self.history).await?);
        }
    }
}

/// Waits until the next minute, or the present one, has this second.
async fn until_second(second: i8) {
    let now = Timestamp::now().as_millisecond().rem_euclid(60_000);
    let wait = (i64::from(second) * 1000 - now).rem_euclid(60_000);
    sleep(Duration::from_millis(wait.unsigned_abs())).await;
}

/// Changes that operators have made before the visitor comes.
async fn change_as_operators(registry: &MemoryRegistry) -> Result<(), Fault> {
    let center: Arc<dyn RegistryCenter> = Arc::new(registry.connect());
    let operations = Operations::new(Arc::clone(&center));
    let job = |name: &str| JobName::new(name).map_err(Fault::usage);

    let anna = By::new("anna", "the mail provider is being replaced")?;
    operations.pause(&Scope::of_job(job("newsletter")?), &anna).await?;

    let anna = By::new("anna", "the service allows two calls at once")?;
    let group = GroupName::new(jobs::GROUP).map_err(Fault::usage)?;
    let limits = GroupLimits { cluster_concurrency: Some(2), ..jobs::GROUP_LIMITS };
    operations.set_group(&group, limits, &anna).await?;

    let ben = By::new("ben", "the disk of the region africa is being replaced")?;
    let items = BTreeSet::from([ShardingItem::new(3)]);
    operations.disable_items(&job("archive-logs")?, &items, &ben).await?;

    // Its page names the change only if the job has succeeded before.
    let (prices, anna) = (job("price-update")?, By::new("anna", "check the new prices")?);
    if let Some(request) = operations.trigger(&prices, None, &anna).await?.request {
        operations.outcome(&request, FIRST_RUN).await?;
    }
    let ben = By::new("ben", "use the currency's full name")?;
    let stored = operations.config(&prices).await?;
    let mut config = stored.config.map_err(Fault::refused)?;
    config.job_parameter = "EURO".to_owned();
    operations.update_config(&config, stored.revision, &ben).await?;
    Ok(center.close().await?)
}
