//! Lateness of runs with many jobs in one process.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lite::{JobBuilder, Scheduler, job_fn};
use reg_center::MemoryRegistry;
use tokio::sync::mpsc;

use crate::report::{Cell, Table};
use crate::spread::quantile;
use crate::stage::within;
use crate::{Effort, Outcome};

const COLUMNS: [&str; 6] = ["fires a second", "work", "fires", "ms p50", "ms p99", "ms max"];

/// Measures one job, a hundred and ten thousand that all fire on each second.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "lateness",
        "how much later than its scheduled fire time a run begins; jobs of one item that fire on \
         each second, embedded registry, not monitored; the work waits and does not compute",
        2,
        &COLUMNS,
    );
    let seconds = effort.rounds();
    for jobs in [1, 100, 10_000] {
        for work in [Duration::ZERO, Duration::from_millis(1)] {
            let late = lateness(jobs, work, seconds).await?;
            let n_fires = Cell::Count(late.len() as u64);
            let mut row =
                vec![jobs.into(), Cell::Text(format!("{} ms", work.as_millis())), n_fires];
            row.extend([0.5, 0.99, 1.0].map(|share| quantile(&late, share).into()));
            table.push(row);
        }
    }
    Ok(table)
}

async fn lateness(jobs: u32, work: Duration, seconds: usize) -> Outcome<Vec<Duration>> {
    let registry = MemoryRegistry::new();
    let scheduler = Scheduler::builder(Arc::new(registry.connect())).build()?;
    let (started, mut starts) = mpsc::unbounded_channel();
    for number in 0..jobs {
        let mut config = JobBuilder::new(format!("job-{number}"), 1).cron("* * * * * ?").build()?;
        config.monitor_execution = false;
        let started = started.clone();
        let job = job_fn(move |context| {
            let lateness = Timestamp::now().duration_since(context.fire_time());
            // The receiver is dropped when the measurement ends.
            let _ = started.send((context.fire_time(), lateness.unsigned_abs()));
            async move {
                tokio::time::sleep(work).await;
                Ok(())
            }
        });
        scheduler.schedule(config, job).await?;
    }
    let scheduled = Timestamp::now();
    let mut late = Vec::new();
    while late.len() < seconds * jobs as usize {
        let (fire, by) = within("a start", starts.recv()).await?.ok_or("the jobs have stopped")?;
        late.extend((fire > scheduled).then_some(by));
    }
    scheduler.abort();
    Ok(late)
}
