//! Mounts the console in a program, beside jobs of the program's own.
//!
//! `cargo run -p job-console --example mounted` prints an address to open. The jobs run, fail, and
//! go on past their next fire, so that each page has content.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use job_console::Console;
use job_history::{History, HistoryOptions};
use lite::{JobBuilder, Scheduler, ShardingContext, job_fn};
use operations::{By, Operations, Scope};
use reg_center::MemoryRegistry;

/// Name, items, cron expression and description of each job.
const JOBS: [(&str, u32, &str, &str); 6] = [
    ("settlement", 12, "0/20 * * * * ?", "Settles the orders of the last interval"),
    ("invoices", 6, "0/15 * * * * ?", "Sends invoices; item 2 fails"),
    ("archive", 600, "0/30 * * * * ?", "Moves old rows, one item for each table"),
    ("slow-report", 3, "0/30 * * * * ?", "Runs longer than its interval"),
    ("nightly", 4, "0 30 2 * * ?", "Runs once a day"),
    ("cleanup", 2, "0 0/1 * * * ?", "Paused by an operator"),
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let history = History::open(HistoryOptions::sqlite(folder.path().join("history.db"))).await?;
    let registry = MemoryRegistry::new();
    let mut schedulers = Vec::new();
    for server in 1..=4_u8 {
        let center = Arc::new(registry.connect());
        let scheduler = Scheduler::builder(center)
            .server_ip(&format!("10.0.0.{server}"))?
            .instance_name(format!("demo-{server}"))
            .event_subscriber(history.subscriber())
            .build()?;
        for (name, items, cron, description) in JOBS {
            let config = JobBuilder::new(name, items)
                .cron(cron)
                .time_zone("Asia/Shanghai")
                .description(description)
                .sharding_item_parameters("0=Beijing,1=Shanghai,2=Guangzhou,3=Chengdu,4=Osaka")
                .failover(true)
                .misfire(true);
            let job = job_fn(move |run| work(name, run));
            scheduler.schedule(config.build()?, job).await?.joined().await?;
        }
        schedulers.push(scheduler);
    }
    let operations = Operations::new(Arc::new(registry.connect()));
    let by = By::new("on-call", "data repair, ticket 4711")?;
    operations.pause(&Scope::of_job(JobName::new("cleanup")?), &by).await?;

    let port = std::env::args().nth(1).map_or(Ok(8080), |port| port.parse())?;
    let console =
        Console::new().namespace("orders", Arc::new(registry.connect()), Some(history))?;
    // Links are relative, so the console works at any path prefix.
    let router = axum::Router::new().nest("/console", console.router());
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    eprintln!("console: http://{}/console/n/orders", listener.local_addr()?);
    // The console has no sign-in here, so it answers peers of this machine only.
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

/// The code of all jobs.
async fn work(name: &str, run: ShardingContext) -> Result<(), Box<dyn Error + Send + Sync>> {
    let item = run.item().index();
    let length = match name {
        "slow-report" if item == 1 => Duration::from_secs(75),
        "archive" => Duration::from_millis(u64::from(item % 97) * 120),
        _ => Duration::from_millis(400 + u64::from(item) * 350),
    };
    tokio::time::sleep(length).await;
    match (name, item) {
        ("invoices", 2) => Err("smtp: 451 <mailbox> is busy & the server asks to retry".into()),
        _ => Ok(()),
    }
}
