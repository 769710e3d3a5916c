//! Set-up of a measurement: a server of its own, and schedulers whose requests are recorded.

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

/// Longest wait before the measurement fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Heap of the server in MiB, as in production: 100 000 items and the latest transactions do not
/// fit into much less.
const HEAP_MIB: u32 = 1_024;
/// Shortest pause between two status requests.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Pause after a status request, as a multiple of the request's time.
///
/// A status lists all items, and the driver answers it before all other events.
const PAUSE_FACTOR: u32 = 10;
/// Longest pause between two status requests.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// A ZooKeeper server for one measurement.
#[derive(Debug)]
pub(crate) struct Stage {
    server: Server,
    fsync: bool,
}

/// A session and a scheduler, like those of one process.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) center: Arc<Recorder>,
    pub(crate) scheduler: Scheduler,
}

impl Stage {
    /// Starts a server, with or without fsync of each transaction.
    pub(crate) fn set(fsync: bool) -> Outcome<Self> {
        let options = ServerOptions::default().fsync(fsync).tick(Duration::from_millis(500));
        let options = options.heap_mib(HEAP_MIB);
        Ok(Self { server: Server::start_with(&options)?, fsync })
    }

    pub(crate) fn fsync(&self) -> &'static str {
        on_or_off(self.fsync)
    }

    /// Returns the server's connect string for clients.
    pub(crate) fn connect_string(&self) -> String {
        self.server.connect_string()
    }

    /// Returns the number of requests from clients, by the server's own count, with pings.
    pub(crate) fn request_count(&self) -> Outcome<u64> {
        Ok(self.server.request_count()?)
    }

    /// Returns the number of packets that the server has sent: answers and watch events.
    pub(crate) fn sent_count(&self) -> Outcome<u64> {
        Ok(self.server.sent_count()?)
    }

    /// Opens a session for a scheduler on a host of its own.
    pub(crate) async fn instance(&self, namespace: &str, host: u32) -> Outcome<Instance> {
        let center = Arc::new(Recorder::new(self.session(namespace).await?));
        let scheduler = scheduler_on(Arc::clone(&center) as Arc<dyn RegistryCenter>, host)?;
        Ok(Instance { center, scheduler })
    }

    /// Opens a session for a scheduler like [`Stage::instance`], without a recorder.
    ///
    /// Recorded requests would add to measured memory.
    pub(crate) async fn unrecorded(&self, namespace: &str, host: u32) -> Outcome<Scheduler> {
        scheduler_on(self.session(namespace).await?, host)
    }

    /// Opens a session without a scheduler.
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

impl Instance {
    /// Shuts down the scheduler and closes the session.
    pub(crate) async fn leave(self) -> Outcome<()> {
        self.scheduler.shutdown(PATIENCE).await;
        Ok(self.center.close().await?)
    }

    /// Simulates the loss of the process: ends the session at once, without a shutdown.
    pub(crate) async fn crash(self) -> Outcome<()> {
        self.scheduler.abort();
        Ok(self.center.close().await?)
    }
}

/// Waits until the instance of `handle` owns `items` items and runs none.
pub(crate) async fn settled(handle: &JobHandle, items: usize) -> Outcome<()> {
    let is_settled = |status: &JobStatus| status.owned.len() == items && status.running.is_empty();
    until(handle, &format!("the instance to own {items} items and to run none"), is_settled).await
}

/// Waits until a job's status satisfies a condition. `what` names the condition in the error.
///
/// With very many items the condition can hold for [`LONGEST_PAUSE`] before this returns.
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
            let pause = (begin.elapsed() * PAUSE_FACTOR).min(LONGEST_PAUSE);
            tokio::time::sleep(POLL_INTERVAL.max(pause)).await;
        }
    };
    within(what, look).await?
}

/// Waits for a future for at most [`PATIENCE`]. `what` names it in the error.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> Outcome<T> {
    timeout(PATIENCE, wait).await.map_err(|_| format!("waited {PATIENCE:?} for {what}").into())
}

/// Returns `config` with the measured flags.
pub(crate) fn with_flags(mut config: JobConfig, monitor: bool, failover: bool) -> JobConfig {
    config.monitor_execution = monitor;
    config.failover = failover;
    config
}
