//! A worker process: counts the lines of all files in a folder, one shard of the files per sharding item.
//!
//! ```text
//! cargo run --example line_count -- --registry zk://127.0.0.1:2181/lines --dir crates --instance worker-1
//! ```
//! Start it as often as you like, kill what you like: every file is counted under exactly one accepted token. What
//! makes that true beyond the scheduler is [`store`], which refuses late writers: the recipe for your own store.

mod count;
mod options;
mod store;
mod worker;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use lite::{JobBuilder, Scheduler};
use options::Options;
use reg_center_zookeeper::ZookeeperCenter;
use tokio::signal::unix::{SignalKind, signal};
use worker::Worker;

/// How long items may go on after a signal to end.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    // The log goes to the standard error; the standard output is for the protocol.
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error + Send + Sync>> {
    let worker = Worker::new(&options)?;
    let center = ZookeeperCenter::connect(options.registry()?).await?;
    let scheduler = Scheduler::builder(center.clone()).build()?;
    let config = JobBuilder::new("line-count", options.items)
        .cron("0/2 * * * * ?")
        .failover(true)
        .description("counts the lines of every file in a folder")
        .build()?;
    scheduler.schedule(config, worker).await?;
    asked_to_end().await?;
    for report in scheduler.shutdown(SHUTDOWN_DEADLINE).await {
        eprintln!("{}: deregistered: {}, {:?}", report.job, report.deregistered, report.items);
    }
    reg_center::RegistryCenter::close(&*center).await?;
    Ok(())
}

/// Waits for SIGTERM or ctrl-c.
async fn asked_to_end() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
