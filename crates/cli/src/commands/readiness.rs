//! Whether a worker takes part in its jobs, for probes and for the service manager.

use std::time::Duration;

use futures_util::future::join_all;
use lite::Scheduler;
use parking_lot::Mutex;

use super::service::ServiceManager;

/// Time within which a job must give its status. A job that does not is not ready.
const STATUS_LIMIT: Duration = Duration::from_secs(1);

/// State of a worker, which probes of its metrics port and the service manager see.
#[derive(Debug)]
pub(crate) struct Readiness {
    phase: Mutex<Phase>,
    manager: ServiceManager,
}

#[derive(Clone, Debug)]
enum Phase {
    Starting,
    /// All jobs of the file were registered or refused.
    Started(Scheduler),
    Leaving,
}

impl Readiness {
    pub(crate) fn starting() -> Self {
        Self { phase: Mutex::new(Phase::Starting), manager: ServiceManager::begin() }
    }

    /// Notes that the worker has registered its jobs, with a line that names them.
    pub(crate) fn start(&self, scheduler: &Scheduler, line: &str) {
        *self.phase.lock() = Phase::Started(scheduler.clone());
        self.manager.ready(line);
    }

    /// Notes that the worker is leaving, and starts no more runs.
    pub(crate) fn leave(&self) {
        *self.phase.lock() = Phase::Leaving;
        self.manager.leaving();
    }

    /// Returns why the worker does not take part in all of its jobs; `None` if it does.
    ///
    /// It does not while the registry does not answer: its instances count as lost after the
    /// session timeout.
    pub(crate) async fn obstacle(&self) -> Option<String> {
        let phase = self.phase.lock().clone();
        let scheduler = match phase {
            Phase::Starting => return Some("starting".to_owned()),
            Phase::Leaving => return Some("leaving".to_owned()),
            Phase::Started(scheduler) => scheduler,
        };
        // An operator has shut an ended job down, which is no fault of the worker.
        let jobs = scheduler.jobs().into_iter().filter(|job| !job.has_ended());
        let absent = join_all(jobs.map(async |job| {
            let status = tokio::time::timeout(STATUS_LIMIT, job.status()).await;
            let is_registered = status.is_ok_and(|status| status.is_ok_and(|s| s.registered));
            (!is_registered).then(|| job.name().to_string())
        }));
        let absent: Vec<String> = absent.await.into_iter().flatten().collect();
        (!absent.is_empty()).then(|| format!("no live instance of: {}", absent.join(", ")))
    }
}
