//! A worker process that counts the lines of all files in a folder, one part of the files per
//! sharding item.
//!
//! ```text
//! cargo run --example line_count -- --registry sqlite:lines.db --dir crates
//! ```
//! `--registry zk://127.0.0.1:2181/lines` shares the work of several hosts in the same way.
//!
//! Start any number of workers and kill any of them: every file is counted under exactly one
//! accepted token. The scheduler alone cannot guarantee that. The module [`store`] rejects late
//! writers, and shows how your own store can.

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
use registry::Registry;
use tokio::signal::unix::{SignalKind, signal};
use worker::Worker;

/// Time that items have to end after a signal to end.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> ExitCode {
    // The standard output is reserved for the protocol lines, so the log goes to the standard
    // error.
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
    let registry = Registry::open_at(options.registry()).await?;
    let scheduler = Scheduler::builder(registry.clone()).build()?;
    let config = JobBuilder::new("line-count", options.items)
        .cron("0/2 * * * * ?")
        .failover(true)
        .description("counts the lines of every file in a folder")
        .build()?;
    scheduler.schedule(config, worker).await?;
    wait_for_signal().await?;
    for report in scheduler.shutdown(SHUTDOWN_DEADLINE).await {
        eprintln!("{}: deregistered: {}, {:?}", report.job, report.deregistered, report.items);
    }
    reg_center::RegistryCenter::close(&*registry).await?;
    Ok(())
}

/// Waits for SIGTERM or ctrl-c.
async fn wait_for_signal() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        biased;
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
