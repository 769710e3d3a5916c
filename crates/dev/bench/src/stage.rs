//! What measurements run on: a server of their own, and schedulers whose requests are noted.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lite::{JobConfig, JobHandle, JobStatus, Scheduler};
use reg_center::RegistryCenter;
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use tokio::time::timeout;
use zookeeper_fixture::{Server, ServerOptions};

use crate::Outcome;
use crate::recorder::Recorder;
use crate::report::on_or_off;

/// How long anything may take before the measurement fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// What a server has in production at least: 100 000 items and the latest transactions do not fit into much less.
const HEAP_MIB: u32 = 1_024;
/// How often a status is looked at.
const GLANCE: Duration = Duration::from_millis(1);
/// How much longer it is not looked at than that takes, and at most: a status lists all items, and is answered before anything else.
const REST: u32 = 10;
const LONGEST_REST: Duration = Duration::from_millis(25);

/// A ZooKeeper server for one measurement.
#[derive(Debug)]
pub(crate) struct Stage {
    server: Server,
    fsync: bool,
}

/// One process, as far as the registry is concerned: a session and a scheduler.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) center: Arc<Recorder>,
    pub(crate) scheduler: Scheduler,
}

impl Stage {
    /// Starts a server that forces each transaction to the disk, or does not.
    pub(crate) fn set(fsync: bool) -> Outcome<Self> {
        let options = ServerOptions::default().fsync(fsync).tick(Duration::from_millis(500));
        let options = options.heap_mib(HEAP_MIB);
        Ok(Self { server: Server::start_with(&options)?, fsync })
    }

    pub(crate) fn fsync(&self) -> &'static str {
        on_or_off(self.fsync)
    }

    /// Returns where the server is, as clients take it.
    pub(crate) fn connect_string(&self) -> String {
        self.server.connect_string()
    }

    /// Returns the requests that clients have sent, by the server's own count. It contains pings.
    pub(crate) fn request_count(&self) -> Outcome<u64> {
        Ok(self.server.request_count()?)
    }

    /// Returns the packets that the server has sent: answers, notifications of watches.
    pub(crate) fn sent_count(&self) -> Outcome<u64> {
        Ok(self.server.sent_count()?)
    }

    /// Opens a session for a scheduler on a host of its own.
    pub(crate) async fn member(&self, namespace: &str, host: u32) -> Outcome<Member> {
        let center = Arc::new(Recorder::new(self.session(namespace).await?));
        let scheduler = scheduler_on(Arc::clone(&center) as Arc<dyn RegistryCenter>, host)?;
        Ok(Member { center, scheduler })
    }

    /// The same, without anybody who keeps requests: for what is measured in memory.
    pub(crate) async fn unrecorded(&self, namespace: &str, host: u32) -> Outcome<Scheduler> {
        scheduler_on(self.session(namespace).await?, host)
    }

    /// Opens a session for nobody in particular.
    pub(crate) async fn session(&self, namespace: &str) -> Outcome<Arc<dyn RegistryCenter>> {
        let url = format!("zk://{}/{namespace}", self.connect_string());
        let options = ZookeeperOptions::parse_url(&url)?.session_timeout(Duration::from_secs(20));
        Ok(ZookeeperCenter::connect(options).await?)
    }
}

fn scheduler_on(center: Arc<dyn RegistryCenter>, host: u32) -> Outcome<Scheduler> {
    let ip = format!("10.0.{}.{}", host / 250, host % 250 + 1);
    Ok(Scheduler::builder(center).server_ip(&ip)?.build()?)
}

impl Member {
    /// Leaves in an orderly way.
    pub(crate) async fn leave(self) -> Outcome<()> {
        self.scheduler.shutdown(PATIENCE).await;
        Ok(self.center.close().await?)
    }

    /// Is lost: its session ends at once, and nothing is handed over.
    pub(crate) async fn crash(self) -> Outcome<()> {
        self.scheduler.abort();
        Ok(self.center.close().await?)
    }
}

/// Waits until a job owns this many items here and runs none.
pub(crate) async fn settled(handle: &JobHandle, items: usize) -> Outcome<()> {
    let is_settled = |status: &JobStatus| status.owned.len() == items && status.running.is_empty();
    until(handle, &format!("{items} items here, none running"), is_settled).await
}

/// Waits until a job's status is as wanted; `what` says how. It may have been so for [`LONGEST_REST`] if there are very many items.
pub(crate) async fn until(
    handle: &JobHandle,
    what: &str,
    is_wanted: impl Fn(&JobStatus) -> bool,
) -> Outcome<()> {
    let look = async {
        loop {
            let begin = Instant::now();
            if is_wanted(&handle.status().await?) {
                return Ok(());
            }
            let rest = (begin.elapsed() * REST).min(LONGEST_REST);
            tokio::time::sleep(GLANCE.max(rest)).await;
        }
    };
    within(what, look).await?
}

/// Waits for something, but not for ever.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> Outcome<T> {
    timeout(PATIENCE, wait).await.map_err(|_| format!("waited {PATIENCE:?} for {what}").into())
}

/// Describes a job with whatever flags are measured.
pub(crate) fn with_flags(mut config: JobConfig, monitor: bool, failover: bool) -> JobConfig {
    config.monitor_execution = monitor;
    config.failover = failover;
    config
}
