//! A strategy of the program: two instances share a job, and the items follow the parameters of a
//! strategy that no other program knows. The argument names a registry, such as
//! `zk://127.0.0.1:2181/demo`; without it the registry is in memory.
//!
//! ```text
//! cargo run --example registered_strategy
//! ```
#![expect(clippy::print_stdout, reason = "an example prints its results")]

mod strategy;

use std::sync::Arc;
use std::time::Duration;

use lite::{JobBuilder, JobEvent, JobHandle, Scheduler, job_fn};
use reg_center::{MemoryRegistry, RegistryCenter};
use registry::Registry;
use sharding::StrategyRegistry;
use strategy::Alternating;

type Failure = Box<dyn std::error::Error>;

const N_ITEMS: u32 = 6;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1);
    let memory = MemoryRegistry::new();
    let mut members = Vec::new();
    for n in 1..=2 {
        // Each instance has a session of its own, as a process would.
        let registry: Arc<dyn RegistryCenter> = match &address {
            Some(address) => Registry::open(address).await?,
            None => Arc::new(memory.connect()),
        };
        members.push(start(registry, n).await?);
    }
    for (_, handle) in &members {
        let items = until_owned(handle, N_ITEMS as usize / 2).await?;
        println!("an instance of {} owns items {}", handle.name(), items.join(" "));
    }
    for (scheduler, _) in &members {
        scheduler.shutdown(Duration::from_secs(5)).await;
    }
    Ok(())
}

async fn start(
    registry: Arc<dyn RegistryCenter>,
    n: u8,
) -> Result<(Scheduler, JobHandle), Failure> {
    let mut strategies = StrategyRegistry::default();
    strategies.register(Arc::new(Alternating));
    let scheduler = Scheduler::builder(registry)
        .server_ip(&format!("10.0.0.{n}"))?
        .strategies(strategies)
        .build()?;
    let config = JobBuilder::new("alternating", N_ITEMS)
        .cron("* * * * * ?")
        .strategy("ALTERNATING")
        .build()?;
    let handle = scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await?;
    handle.joined().await?;
    Ok((scheduler, handle))
}

/// Waits until the instance owns this number of items, and returns them. The job fires every
/// second, so that events come.
async fn until_owned(handle: &JobHandle, n_items: usize) -> Result<Vec<String>, Failure> {
    let mut events = handle.events();
    loop {
        let owned = handle.status().await?.owned;
        if owned.len() == n_items {
            return Ok(owned.iter().map(ToString::to_string).collect());
        }
        let event = events.next().await.map(|record| record.event);
        if let Some(JobEvent::StrategyFailed { reason }) = event {
            return Err(reason.into());
        }
    }
}
