//! Serves the metrics of a job to Prometheus, on the loopback address: `prometheus [ADDRESS:PORT]`.
//!
//! The port has no authentication. Use another address than the default only if every client that
//! can reach it may read the names of jobs.
#![expect(clippy::print_stdout, reason = "a program prints its address")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use job_metrics::MetricsSubscriber;
use lite::{JobBuilder, Scheduler, job_fn};
use metrics_exporter_prometheus::PrometheusBuilder;
use reg_center::MemoryRegistry;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9184".to_owned());
    let address: SocketAddr = address.parse()?;
    // Buckets can be added up over processes; the default summaries cannot.
    PrometheusBuilder::new()
        .with_http_listener(address)
        .set_buckets(&[0.005, 0.05, 0.5, 5.0, 50.0, 500.0])?
        .install()?;

    let registry = MemoryRegistry::new();
    let scheduler = Scheduler::builder(Arc::new(registry.connect()))
        .event_subscriber(MetricsSubscriber::new())
        .build()?;
    let config = JobBuilder::new("report", 3).cron("* * * * * ?").build()?;
    let job = job_fn(|context| async move {
        match context.item().index() {
            0 => Err("item 0 fails each time".into()),
            _ => Ok(()),
        }
    });
    scheduler.schedule(config, job).await?;
    println!("serving http://{address}/metrics until Ctrl-C");
    tokio::signal::ctrl_c().await?;
    scheduler.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
