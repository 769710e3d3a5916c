//! A job on a registry that is opened by its address.

use std::sync::Arc;
use std::time::Duration;

use lite::{JobBuilder, Scheduler, job_fn};
use registry::Registry;
use tokio::sync::Notify;

/// Runs a job once on the registry at an address.
async fn run_once(address: &str) {
    let registry = Registry::open(address).await.expect("the registry is opened");
    let scheduler = Scheduler::builder(registry).build().expect("the options are valid");
    let ran = Arc::new(Notify::new());
    let notify = Arc::clone(&ran);
    let job = job_fn(move |_| {
        let notify = Arc::clone(&notify);
        async move {
            notify.notify_one();
            Ok(())
        }
    });
    let config = JobBuilder::new("report", 1).cron("* * * * * ?").build();
    let config = config.expect("the configuration is valid");
    let _handle = scheduler.schedule(config, job).await.expect("the job is scheduled");
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, ran.notified()).await.expect("the job runs within a minute");
    scheduler.shutdown(Duration::from_secs(10)).await;
}

#[cfg(feature = "etcd")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd; `cargo xtask ci` runs it"]
async fn a_job_runs_on_etcd_by_its_address() {
    let server = etcd_fixture::Server::start().expect("an etcd server is needed");
    let address = format!("etcd://{}/jobs", server.address());
    run_once(&address).await;
    run_once(&address).await;
}

#[tokio::test]
async fn a_job_runs_on_each_registry_and_continues_on_a_file() {
    run_once("memory:").await;
    let directory = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", directory.path().join("registry.db").display());
    run_once(&address).await;
    run_once(&address).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL; `cargo xtask ci` runs it"]
async fn a_job_runs_on_a_database_and_continues_there() {
    let server = postgres_fixture::Server::start().expect("a PostgreSQL server is needed");
    let address = format!("{}?namespace=jobs&notify=off", server.url());
    run_once(&address).await;
    run_once(&address).await;
}
