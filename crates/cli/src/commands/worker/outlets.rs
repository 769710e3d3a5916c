//! Where a worker tells what happens: a history, metrics, dumps.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use job_history::History;
use job_metrics::MetricsSubscriber;
use lite::{DumpListener, DumpOptions, Scheduler, SchedulerBuilder};
use metrics_exporter_prometheus::PrometheusBuilder;

use super::WorkerArguments;
use crate::fault::Fault;

/// Upper bounds of the buckets of histograms, in seconds.
const BUCKETS: [f64; 7] = [0.005, 0.05, 0.5, 5.0, 50.0, 500.0, 5_000.0];
/// How long the history may take to write what waits.
const HISTORY_DEADLINE: Duration = Duration::from_secs(10);

/// Who is told what happens to the jobs of a worker.
pub(super) struct Outlets {
    history: Option<History>,
    metrics: bool,
}

impl Outlets {
    pub(super) async fn open(given: &WorkerArguments) -> Result<Self, Fault> {
        if let Some(port) = given.metrics_port {
            serve_metrics(port).await?;
        }
        let history = match given.store.options()? {
            Some(options) => Some(History::open(options).await?),
            None => None,
        };
        Ok(Self { history, metrics: given.metrics_port.is_some() })
    }

    pub(super) fn subscribe(&self, mut builder: SchedulerBuilder) -> SchedulerBuilder {
        if let Some(history) = &self.history {
            builder = builder.event_subscriber(history.subscriber());
        }
        if self.metrics {
            builder = builder.event_subscriber(MetricsSubscriber::new());
        }
        builder
    }

    /// Writes what waits.
    pub(super) async fn close(self) -> Result<(), Fault> {
        match self.history {
            Some(history) => Ok(history.close(HISTORY_DEADLINE).await?),
            None => Ok(()),
        }
    }
}

/// Nobody is asked who they are: other hosts are none of those who may ask.
async fn serve_metrics(port: u16) -> Result<(), Fault> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let refused = |error: &dyn std::fmt::Display| {
        Fault::usage(format!(
            "--metrics-port {port}: nobody can listen there: {error}; name a free port"
        ))
    };
    // The exporter tells only its log that a port is taken.
    let probe = tokio::net::TcpListener::bind(address).await;
    drop(probe.map_err(|error| refused(&error))?);
    let builder = PrometheusBuilder::new().with_http_listener(address).set_buckets(&BUCKETS);
    let installed = builder.and_then(PrometheusBuilder::install);
    installed.map_err(|error| refused(&error))
}

/// Listens until what is returned is dropped.
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
