//! Cost of idle jobs: memory, threads, and requests for registration and while idle.

use std::env;
use std::process::{self, Command};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use interop::peers::size_of;
use lite::{JobBuilder, job_fn};
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
use crate::report::{Bound, Cell, Table};
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

/// Time for which requests are counted while no job fires.
const IDLE: Duration = Duration::from_secs(10);

/// Number of jobs that are registered at the same time.
const AT_ONCE: usize = 64;

/// Measures each number of jobs in a process of its own, so that no measurement inherits the memory
/// of another.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "idle-jobs",
        "jobs of one item that fire once a year, in one process with one session; memory: resident \
         memory beyond that of the process with a single job; requests: by ZooKeeper's count",
        1,
        &COLUMNS,
    );
    let sizes: &[u32] = match (effort, backend) {
        (Effort::Quick, _) => &[10, 100],
        (Effort::Full, Backend::Zookeeper) => &[10, 100, 1_000, 10_000],
        (Effort::Full, _) => &[10, 100, 1_000],
    };
    for &jobs in sizes {
        let program = env::current_exe()?;
        let mut process = Command::new(program);
        process.args(["--backend", backend.name(), "idle-jobs-process", &jobs.to_string()]);
        let output = process.output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("the process with {jobs} jobs: {error}").into());
        }
        let figures: Figures = serde_json::from_slice(&output.stdout)?;
        note(&mut table, backend, jobs, &figures);
    }
    Ok(table)
}

/// Figures that a process reports about itself.
#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    kib: f64,
    threads: u64,
    register_ms: f64,
    /// `None` if the registry counts no requests.
    register_requests: Option<u64>,
    idle_requests: Option<u64>,
}

/// Registers `jobs` jobs in this process, and returns its figures as JSON.
pub(crate) async fn in_a_process(backend: Backend, jobs: u32) -> Outcome<String> {
    let fsync = backend.fsync_choices()[0];
    let stage = Stage::set(backend, fsync)?;
    let scheduler = stage.unrecorded("idle", 1).await?;
    // The first job allocates the parts that a process has once.
    schedule(&scheduler, "first").await?;
    let (before, _) = size_of(process::id())?;
    let (requests, begin) = (stage.request_count()?, Instant::now());
    let joined = (0..jobs).map(|number| join(&scheduler, format!("job-{number}")));
    let handles: Vec<_> = stream::iter(joined).buffer_unordered(AT_ONCE).try_collect().await?;
    let register_ms = begin.elapsed().as_secs_f64() * 1e3;
    let register_requests = stage.requests_since(requests)?;
    let registered = stage.request_count()?;
    tokio::time::sleep(IDLE).await;
    let (resident, threads) = size_of(process::id())?;
    drop(handles);
    let figures = Figures {
        kib: resident as f64 - before as f64,
        threads,
        register_ms,
        register_requests,
        idle_requests: stage.requests_since(registered)?,
    };
    Ok(serde_json::to_string(&figures)?)
}

/// Registers a job and waits until its item is assigned.
async fn join(scheduler: &lite::Scheduler, name: String) -> Outcome<lite::JobHandle> {
    let handle = schedule(scheduler, &name).await?;
    settled(&handle, 1).await?;
    Ok(handle)
}

async fn schedule(scheduler: &lite::Scheduler, name: &str) -> Outcome<lite::JobHandle> {
    let config = JobBuilder::new(name, 1).cron("0 0 0 1 1 ?").build()?;
    Ok(scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await?)
}

fn note(table: &mut Table, backend: Backend, jobs: u32, figures: &Figures) {
    let per_job = figures.kib / f64::from(jobs);
    let minutes = IDLE.as_secs_f64() / 60.0;
    let per = |count: Option<u64>, n: f64| Cell::from(count.map(|count| count as f64 / n));
    table.push(vec![
        jobs.into(),
        Cell::Number(per_job),
        Cell::Count(figures.threads),
        Cell::Number(figures.register_ms),
        per(figures.register_requests, f64::from(jobs)),
        per(figures.idle_requests, minutes),
    ]);
    if jobs >= 1_000 && backend == Backend::Zookeeper {
        let figure = format!("KiB per idle job, {jobs} jobs");
        table.target(figure, Bound::AtMost(20.0), Some(per_job));
    }
}
