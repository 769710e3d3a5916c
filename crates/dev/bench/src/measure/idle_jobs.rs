//! What jobs cost that do nothing: memory, threads, and requests to register them and while they are idle.

use std::env;
use std::process::{self, Command};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use interop::peers::size_of;
use lite::{JobBuilder, job_fn};
use serde::{Deserialize, Serialize};

use crate::report::{Cell, Table};
use crate::stage::{Stage, settled};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 6] = [
    "jobs",
    "KiB per job",
    "threads",
    "ms to register all",
    "requests to register one",
    "requests while idle, per minute",
];

/// How long requests are counted while nothing happens.
const IDLE: Duration = Duration::from_secs(10);

/// How many jobs are registered at once.
const AT_ONCE: usize = 64;

/// Measures processes of their own, so that one does not inherit the memory of the other.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "idle-jobs",
        "jobs of one item that fire once a year, in one process with one session; memory: what is resident, less what is \
         without any job",
        1,
        &COLUMNS,
    );
    let sizes: &[u32] = match effort {
        Effort::Quick => &[10, 100],
        Effort::Full => &[10, 100, 1_000, 10_000],
    };
    for &jobs in sizes {
        let program = env::current_exe()?;
        let output =
            Command::new(program).args(["idle-jobs-process", &jobs.to_string()]).output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("the process with {jobs} jobs: {error}").into());
        }
        let seen: Seen = serde_json::from_slice(&output.stdout)?;
        note(&mut table, jobs, &seen);
    }
    Ok(table)
}

/// What a process has seen of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    kib: f64,
    threads: u64,
    register_ms: f64,
    register_requests: u64,
    idle_requests: u64,
}

/// Runs as a process of its own, and prints what it has seen.
pub(crate) async fn in_a_process(jobs: u32) -> Outcome<String> {
    let stage = Stage::set(false)?;
    let scheduler = stage.unrecorded("idle", 1).await?;
    // The first job brings what there is once for a process.
    schedule(&scheduler, "first").await?;
    let (before, _) = size_of(process::id())?;
    let (requests, begin) = (stage.request_count()?, Instant::now());
    let joined = (0..jobs).map(|number| join(&scheduler, format!("job-{number}")));
    let handles: Vec<_> = stream::iter(joined).buffer_unordered(AT_ONCE).try_collect().await?;
    let register_ms = begin.elapsed().as_secs_f64() * 1e3;
    let registered = stage.request_count()?;
    tokio::time::sleep(IDLE).await;
    let (resident, threads) = size_of(process::id())?;
    drop(handles);
    let seen = Seen {
        kib: resident as f64 - before as f64,
        threads,
        register_ms,
        register_requests: registered - requests,
        idle_requests: stage.request_count()? - registered,
    };
    Ok(serde_json::to_string(&seen)?)
}

/// Registers a job, and returns when its item is assigned.
async fn join(scheduler: &lite::Scheduler, name: String) -> Outcome<lite::JobHandle> {
    let handle = schedule(scheduler, &name).await?;
    settled(&handle, 1).await?;
    Ok(handle)
}

async fn schedule(scheduler: &lite::Scheduler, name: &str) -> Outcome<lite::JobHandle> {
    let config = JobBuilder::new(name, 1).cron("0 0 0 1 1 ?").build()?;
    Ok(scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await?)
}

fn note(table: &mut Table, jobs: u32, seen: &Seen) {
    let per_job = seen.kib / f64::from(jobs);
    let minutes = IDLE.as_secs_f64() / 60.0;
    table.push(vec![
        jobs.into(),
        Cell::Number(per_job),
        Cell::Count(seen.threads),
        Cell::Number(seen.register_ms),
        Cell::Number(seen.register_requests as f64 / f64::from(jobs)),
        Cell::Number(seen.idle_requests as f64 / minutes),
    ]);
    if jobs >= 1_000 {
        table.target(format!("KiB per idle job, {jobs} jobs"), 20.0, Some(per_job));
    }
}
