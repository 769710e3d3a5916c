//! The figures of one size, taken in a process of its own.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use coordination::JobName;
use futures_util::FutureExt;
use operations::{LiveNamespace, Updates};
use reg_center::Revision;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use super::feed::{Size, Source, job_name};

use crate::Outcome;
use crate::spread::{Spread, quantile};

/// Number of single changes, lists, and requests for the oldest runs.
const ROUNDS: u32 = 300;
/// Number of changes in the measurement of the rate.
const CHANGES: u32 = 200_000;
/// Number of runs that a page shows.
const RUNS: usize = 200;
/// Longest wait for the model.
const PATIENCE: Duration = Duration::from_secs(600);
/// Interval in which a page is updated.
const INTERVAL: Duration = Duration::from_millis(100);

/// Figures that a process reports about itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(super) resident_kib: f64,
    pub(super) peak_kib: f64,
    pub(super) load_s: f64,
    pub(super) reload_s: f64,
    pub(super) change_ms: Option<Spread>,
    pub(super) held_ms: Option<Spread>,
    pub(super) list_p99_ms: f64,
    pub(super) running_p99_ms: f64,
    pub(super) changes_per_s: f64,
}

/// The model of a generated namespace.
struct Subject {
    source: Source,
    live: LiveNamespace,
    updates: Updates,
    size: Size,
    round: u32,
}

/// Loads a namespace of this size, and returns the figures as JSON.
///
/// It has a thread of its own, in which the sender and the model take turns. So the sender never
/// runs ahead, and the memory is not that of waiting changes.
pub(crate) async fn in_a_process(jobs: u32, items: u32) -> Outcome<String> {
    let measured = tokio::task::spawn_blocking(move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(figures(Size { jobs, items }))
    });
    Ok(serde_json::to_string(&measured.await??)?)
}

async fn figures(size: Size) -> Outcome<Figures> {
    let (source, registry) = Source::new(size)?;
    let live = LiveNamespace::follow(registry);
    let updates = live.updates(Duration::ZERO);
    let before = memory_kib("VmRSS")?;
    let mut subject = Subject { source, live, updates, size, round: 0 };
    let began = Instant::now();
    subject.source.snapshot().await?;
    subject.live.loaded(PATIENCE).await?;
    let load_s = began.elapsed().as_secs_f64();
    let resident = memory_kib("VmRSS")?;
    let reload_s = subject.reload().await?;
    Ok(Figures {
        resident_kib: resident - before,
        peak_kib: memory_kib("VmHWM")? - before,
        load_s,
        reload_s,
        change_ms: subject.changes(false).await?,
        held_ms: subject.changes(true).await?,
        list_p99_ms: subject.after_changes(|live| live.list().jobs().len()).await?,
        running_p99_ms: subject.after_changes(|live| live.running(RUNS).len()).await?,
        changes_per_s: subject.rate().await?,
    })
}

impl Subject {
    /// Sends the snapshot again, and returns the time until it is applied, in seconds.
    async fn reload(&mut self) -> Outcome<f64> {
        let began = Instant::now();
        self.source.snapshot().await?;
        self.change_one().await?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// Measures single changes. With `is_held`, a reader holds the snapshot of the job meanwhile.
    async fn changes(&mut self, is_held: bool) -> Outcome<Option<Spread>> {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let held = is_held.then(|| self.live.jobs());
            times.push(self.change_one().await?);
            drop(held);
        }
        Ok(Spread::of_times(times))
    }

    /// Returns the time of a read of the model, each after a change, that 99 of 100 do not exceed,
    /// in milliseconds.
    async fn after_changes(&mut self, read: fn(&LiveNamespace) -> usize) -> Outcome<f64> {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            self.change_one().await?;
            let began = Instant::now();
            let found = read(&self.live);
            times.push(began.elapsed());
            if found == 0 {
                return Err("the model shows nothing".into());
            }
        }
        quantile(&times, 0.99).ok_or_else(|| "no read was measured".into())
    }

    /// Changes a random item, and returns the time until the model shows it.
    async fn change_one(&mut self) -> Outcome<Duration> {
        let began = Instant::now();
        let (job, revision) = self.send()?;
        self.shown(job, revision).await?;
        Ok(began.elapsed())
    }

    fn send(&mut self) -> Outcome<(JobName, Revision)> {
        self.round += 1;
        let job = fastrand::u32(..self.size.jobs);
        let item = fastrand::u32(..self.size.items);
        let revision = self.source.change(job, item, self.round)?;
        Ok((JobName::new(&job_name(job))?, revision))
    }

    /// Waits until the model shows a revision of a job.
    async fn shown(&mut self, job: JobName, revision: Revision) -> Outcome<()> {
        let shown = async {
            loop {
                let known = self.live.job(&job).map(|job| job.view().revision());
                if known >= Some(revision) {
                    return Ok(());
                }
                self.updates.next().await.ok_or("the feed has ended")?;
            }
        };
        tokio::time::timeout(PATIENCE, shown).await?
    }

    /// Returns the number of changes that are applied in a second, while a page is updated.
    async fn rate(&mut self) -> Outcome<f64> {
        let mut page = self.live.updates(INTERVAL);
        let began = Instant::now();
        let mut last = self.send()?;
        for number in 1..CHANGES {
            last = self.send()?;
            if number.is_multiple_of(100) {
                tokio::task::yield_now().await;
            }
            if number.is_multiple_of(1_000)
                && let Some(Some(_)) = page.next().now_or_never()
            {
                black_box(self.live.list());
            }
        }
        let (job, revision) = last;
        self.shown(job, revision).await?;
        Ok(f64::from(CHANGES) / began.elapsed().as_secs_f64())
    }
}

/// Returns a figure of this process by the operating system, in KiB.
fn memory_kib(name: &str) -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.ok_or_else(|| format!("the operating system reports no {name}"))?.parse()?)
}
