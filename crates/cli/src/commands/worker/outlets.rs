//! Event outlets of a worker: history, metrics and dumps.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use job_history::History;
use job_metrics::MetricsSubscriber;
use lite::{DumpListener, DumpOptions, Scheduler, SchedulerBuilder};
use operations::Operations;

use super::super::metrics_port::MetricsPort;
use super::super::readiness::Readiness;
use super::{WorkerArguments, audit_copy};
use crate::fault::Fault;

/// Maximum time for the history to write its queue at the end.
pub(crate) const HISTORY_DEADLINE: Duration = Duration::from_secs(10);

/// Subscribers to the events of a worker.
pub(super) struct Outlets {
    history: Option<History>,
    metrics: Option<MetricsPort>,
    pub(super) readiness: Arc<Readiness>,
}

impl Outlets {
    pub(super) async fn open(given: &WorkerArguments) -> Result<Self, Fault> {
        let readiness = Arc::new(Readiness::starting());
        let metrics = match given.metrics_port {
            Some(port) => Some(MetricsPort::open(port, Arc::clone(&readiness)).await?),
            None => None,
        };
        let history = match given.store.options()? {
            Some(options) => Some(History::open(options).await?),
            None => None,
        };
        Ok(Self { history, metrics, readiness })
    }

    /// Returns the line that names the metrics port, if there is one.
    pub(super) fn metrics_line(&self) -> Option<String> {
        let address = self.metrics.as_ref()?.local_addr();
        Some(format!("metrics: http://{address}/metrics"))
    }

    pub(super) fn subscribe(&self, mut builder: SchedulerBuilder) -> SchedulerBuilder {
        if let Some(history) = &self.history {
            builder = builder.event_subscriber(history.subscriber());
        }
        if self.metrics.is_some() {
            builder = builder.event_subscriber(MetricsSubscriber::new());
        }
        builder
    }

    /// Copies audited changes to the history, if there is one, until the future is dropped.
    pub(super) async fn copy_audited_changes(
        &self,
        operations: &Operations,
        scheduler: &Scheduler,
    ) -> Infallible {
        match &self.history {
            Some(history) => audit_copy::copy_changes(history, operations, scheduler).await,
            None => std::future::pending().await,
        }
    }

    /// Writes the queue of the history and closes it.
    pub(super) async fn close(self) -> Result<(), Fault> {
        match self.history {
            Some(history) => Ok(history.close(HISTORY_DEADLINE).await?),
            None => Ok(()),
        }
    }
}

/// Opens the dump port; dropping the listener closes it.
pub(super) async fn listen_for_dumps(
    scheduler: &Scheduler,
    port: Option<u16>,
) -> Result<Option<DumpListener>, Fault> {
    let Some(port) = port else { return Ok(None) };
    let listening = scheduler.listen_for_dumps(DumpOptions::on_port(port)).await;
    let named = |error| {
        let fault = Fault::from(error);
        Fault::new(fault.exit(), format!("--dump-port {port}: {fault}; name a free port"))
    };
    Ok(Some(listening.map_err(named)?))
}
