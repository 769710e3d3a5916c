//! How late runs begin, with many jobs in one process.

use std::time::Duration;

use jiff::Timestamp;
use lite::{JobBuilder, Scheduler, job_fn};
use reg_center::MemoryRegistry;
use tokio::sync::mpsc;

use crate::report::{Cell, Table};
use crate::stage::within;
use crate::{Effort, Outcome};
use std::sync::Arc;

const COLUMNS: [&str; 6] = ["fires a second", "work", "fires", "ms p50", "ms p99", "ms max"];

/// Measures one job, a hundred and ten thousand that all fire on each second.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut rows = Vec::new();
    let seconds = effort.rounds();
    for jobs in [1, 100, 10_000] {
        for work in [Duration::ZERO, Duration::from_millis(1)] {
            let mut late = lateness(jobs, work, seconds).await?;
            late.sort_unstable();
            let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize];
            let ms = |late: Duration| Cell::Number(late.as_secs_f64() * 1e3);
            let n_fires = Cell::Count(late.len() as u64);
            let work = format!("{} ms", work.as_millis());
            let figures = [ms(at(0.5)), ms(at(0.99)), ms(at(1.0))];
            rows.push(
                [jobs.into(), Cell::Text(work), n_fires].into_iter().chain(figures).collect(),
            );
        }
    }
    Ok(Table {
        name: "lateness",
        title: "how much later than its fire a run begins; jobs of one item that fire on each second, embedded registry, not \
                monitored; the work waits and does not compute"
            .to_owned(),
        settings: 2,
        columns: COLUMNS.to_vec(),
        rows,
        targets: Vec::new(),
    })
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
            let late = Timestamp::now().duration_since(context.fire_time());
            // Nobody listens any more once the measurement is over.
            let _ = started.send((context.fire_time(), late.unsigned_abs()));
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
        let (fire, by) = within("a start", starts.recv()).await?.ok_or("the jobs are gone")?;
        late.extend((fire > scheduled).then_some(by));
    }
    scheduler.abort();
    Ok(late)
}
