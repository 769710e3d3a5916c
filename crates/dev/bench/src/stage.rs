//! Set-up of a measurement: a registry of its own, and schedulers whose requests are recorded.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lite::{JobConfig, JobHandle, JobStatus, Scheduler};
use reg_center::RegistryCenter;
use registry::{Address, Registry};
use tokio::time::timeout;

use crate::Outcome;
use crate::backend::{Backend, Running};
use crate::raw::RawClient;
use crate::recorder::Recorder;

/// Longest wait before the measurement fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Timeout of all sessions.
const SESSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Shortest pause between two status requests.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Pause after a status request, as a multiple of the request's time.
///
/// A status lists all items, and the driver answers it before all other events.
const PAUSE_FACTOR: u32 = 10;
/// Longest pause between two status requests.
const LONGEST_PAUSE: Duration = Duration::from_millis(25);

/// A registry for one measurement.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) registry: Running,
    backend: Backend,
    fsync: bool,
}

/// A session and a scheduler, like those of one process.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) center: Arc<Recorder>,
    pub(crate) scheduler: Scheduler,
}

impl Stage {
    /// Starts a registry, with or without fsync of each transaction.
    pub(crate) fn set(backend: Backend, fsync: bool) -> Outcome<Self> {
        Ok(Self { registry: backend.start(fsync)?, backend, fsync })
    }

    /// Starts the registries of all variants of a backend, one after the other.
    pub(crate) fn all(backend: Backend) -> impl Iterator<Item = Outcome<Self>> {
        backend.fsync_choices().iter().map(move |&fsync| Self::set(backend, fsync))
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn fsync(&self) -> bool {
        self.fsync
    }

    /// Returns the name of the variant in the terms of the registry.
    pub(crate) fn durability(&self) -> &'static str {
        self.backend.durability(self.fsync)
    }

    /// Returns the number of requests from clients, by the server's own count, with pings. Only
    /// ZooKeeper counts them.
    pub(crate) fn request_count(&self) -> Outcome<Option<u64>> {
        match &self.registry {
            Running::Zookeeper(server) => Ok(Some(server.request_count()?)),
            Running::Sqlite { .. } | Running::Postgres(_) | Running::Etcd(_) => Ok(None),
        }
    }

    /// Returns the number of requests since a former count.
    pub(crate) fn requests_since(&self, before: Option<u64>) -> Outcome<Option<u64>> {
        Ok(before.zip(self.request_count()?).map(|(before, now)| now - before))
    }

    /// Opens a client of the registry without a center.
    pub(crate) async fn raw_client(&self) -> Outcome<RawClient> {
        Ok(RawClient::open(&self.registry, 1).await?.remove(0))
    }

    /// Opens a session for a scheduler on a host of its own.
    pub(crate) async fn instance(&self, namespace: &str, host: u32) -> Outcome<Instance> {
        Instance::on(self.session(namespace).await?, host)
    }

    /// Opens a session for a scheduler like [`Stage::instance`], without a recorder.
    ///
    /// Recorded requests would add to measured memory.
    pub(crate) async fn unrecorded(&self, namespace: &str, host: u32) -> Outcome<Scheduler> {
        scheduler_on(self.session(namespace).await?, host)
    }

    /// Opens a session without a scheduler.
    pub(crate) async fn session(&self, namespace: &str) -> Outcome<Arc<dyn RegistryCenter>> {
        open(self.registry.address(namespace)?).await
    }
}

/// Opens a session at an address.
pub(crate) async fn open(address: Address) -> Outcome<Arc<dyn RegistryCenter>> {
    Ok(Registry::open_at(address.session_timeout(SESSION_TIMEOUT)).await?)
}

fn scheduler_on(center: Arc<dyn RegistryCenter>, host: u32) -> Outcome<Scheduler> {
    let ip = format!("10.0.{}.{}", host / 250, host % 250 + 1);
    Ok(Scheduler::builder(center).server_ip(&ip)?.build()?)
}

impl Instance {
    /// Starts a scheduler in a session, on a host of its own.
    pub(crate) fn on(session: Arc<dyn RegistryCenter>, host: u32) -> Outcome<Self> {
        let center = Arc::new(Recorder::new(session));
        let scheduler = scheduler_on(Arc::clone(&center) as Arc<dyn RegistryCenter>, host)?;
        Ok(Self { center, scheduler })
    }

    /// Shuts down the scheduler and closes the session.
    pub(crate) async fn leave(self) -> Outcome<()> {
        self.scheduler.shutdown(PATIENCE).await;
        Ok(self.center.close().await?)
    }

    /// Simulates the loss of the process: ends the session at once, without a shutdown.
    pub(crate) async fn crash(&self) -> Outcome<()> {
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
