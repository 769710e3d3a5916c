//! Time to the first byte of pages and answers of the console, through its router.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use job_console::Console;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};
use tower::ServiceExt;

use super::feed::{Fed, Size, Source, job_name};
use super::in_a_process as figures_of;
use crate::report::{Bound, Cell, Table};
use crate::spread::quantile;
use crate::{Effort, Outcome};

/// Least number of requests for each view.
const REQUESTS: usize = 500;
/// Changes of items in a second, while the views are requested.
const CHANGES_PER_S: u32 = 200;
/// Longest wait for the first snapshot, and for the requests and changes of one view.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval in which the state of the first snapshot is requested.
const POLL: Duration = Duration::from_millis(20);
/// Items of a job whose page is measured.
const WIDE: u32 = 1_000;

const COLUMNS: [&str; 8] = [
    "jobs",
    "items per job",
    "view",
    "ms to the first byte, median",
    "ms to the first byte, p99",
    "KiB of the answer",
    "registry reads",
    "changes a second",
];

/// Figures of one view.
#[derive(Debug, Serialize, Deserialize)]
struct Figures {
    view: String,
    median_ms: f64,
    p99_ms: f64,
    kib: f64,
    reads: u64,
    changes_per_s: f64,
}

/// Measures each size in a process of its own.
pub(crate) fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "views",
        format!(
            "pages and answers of the console, each requested {REQUESTS} times or more in sequence through \
             its router without a network, while random items change {CHANGES_PER_S} times a second: \
             time until the first bytes of the body, size without compression, and reads of the \
             registry during all of these requests"
        ),
        3,
        &COLUMNS,
    );
    let sizes: &[Size] = match effort {
        Effort::Quick => &[Size { jobs: 100, items: 10 }],
        Effort::Full => &[
            Size { jobs: 1_000, items: 10 },
            Size { jobs: 10_000, items: 10 },
            Size { jobs: 100, items: WIDE },
        ],
    };
    for size in sizes {
        for figures in figures_of::<Vec<Figures>>("console-views", *size)? {
            note(&mut table, *size, &figures);
        }
    }
    Ok(table)
}

fn note(table: &mut Table, size: Size, figures: &Figures) {
    table.push(vec![
        size.jobs.into(),
        size.items.into(),
        Cell::Text(figures.view.clone()),
        Cell::Number(figures.median_ms),
        Cell::Number(figures.p99_ms),
        Cell::Number(figures.kib),
        Cell::Count(figures.reads),
        Cell::Number(figures.changes_per_s),
    ]);
    let of_size = format!("{}, {} jobs of {} items", figures.view, size.jobs, size.items);
    let reads = Some(figures.reads as f64);
    table.target(format!("registry reads, {of_size}"), Bound::AtMost(0.0), reads);
    let bound = if size.jobs > 1_000 { 60.0 } else { 20.0 };
    let figure = format!("ms to the first byte, p99, {of_size}");
    table.target(figure, Bound::AtMost(bound), Some(figures.p99_ms));
}

/// Loads a namespace of this size into a console, and returns the figures of its views as JSON.
pub(crate) async fn in_a_process(jobs: u32, items: u32) -> Outcome<String> {
    let size = Size { jobs, items };
    let (mut source, registry) = Source::new(size)?;
    let console = Console::new().namespace("bench", Arc::clone(&registry) as _, None)?;
    let subject = Subject { router: console.router(), registry };
    source.snapshot().await?;
    timeout(PATIENCE, subject.loaded()).await??;
    let mut all = Vec::new();
    let changes = Changes::begin(source, size);
    for (view, path) in views(size) {
        all.push(subject.figures(&view, &path, &changes).await?);
    }
    changes.end().await?;
    Ok(serde_json::to_string(&all)?)
}

/// Returns the names and the addresses of the measured views.
fn views(size: Size) -> Vec<(String, String)> {
    let job = job_name(size.jobs / 2);
    let (pages, api) = ("/n/bench", "/api/v1/namespaces/bench");
    let one = vec![
        ("page of a job".to_owned(), format!("{pages}/jobs/{job}")),
        ("API, a job".to_owned(), format!("{api}/jobs/{job}")),
    ];
    if size.items == WIDE {
        return one;
    }
    let all = [
        ("page of the jobs", format!("{pages}/jobs")),
        ("page of the jobs by next fire", format!("{pages}/jobs?sort=next")),
        ("page of the jobs with a text", format!("{pages}/jobs?q=report-00")),
        ("overview", pages.to_owned()),
        ("page of the runs", format!("{pages}/running")),
        ("page of the servers", format!("{pages}/servers")),
        ("API, 100 jobs", format!("{api}/jobs?limit=100")),
        ("API, 100 runs", format!("{api}/running?limit=100")),
    ];
    all.into_iter().map(|(view, path)| (view.to_owned(), path)).chain(one).collect()
}

/// A console over a generated namespace.
struct Subject {
    router: Router,
    registry: Arc<Fed>,
}

impl Subject {
    /// Waits until the first snapshot is read.
    async fn loaded(&self) -> Outcome<()> {
        let mut poll = interval(POLL);
        loop {
            poll.tick().await;
            if self.request("/health").await?.1 == StatusCode::OK {
                return Ok(());
            }
        }
    }

    /// Returns the time to the first bytes of an answer, its status, and its size in bytes.
    async fn request(&self, path: &str) -> Outcome<(Duration, StatusCode, usize)> {
        let mut request = Request::get(path).body(Body::empty())?;
        let browser = SocketAddr::from(([127, 0, 0, 1], 4_000));
        request.extensions_mut().insert(ConnectInfo(browser));
        let began = Instant::now();
        let response = self.router.clone().oneshot(request).await?;
        let (parts, mut body) = response.into_parts();
        let first = body.frame().await.transpose()?;
        let time = began.elapsed();
        let first = first.and_then(|frame| frame.into_data().ok()).map_or(0, |data| data.len());
        let rest = body.collect().await?.to_bytes().len();
        Ok((time, parts.status, first + rest))
    }

    async fn figures(&self, view: &str, path: &str, changes: &Changes) -> Outcome<Figures> {
        // The first request may prepare parts that later ones share.
        self.request(path).await?;
        let (reads, sent, began) = (self.registry.reads(), changes.sent(), Instant::now());
        let (mut times, mut bytes) = (Vec::new(), 0);
        for _ in 0..REQUESTS {
            let (time, status, size) = self.request(path).await?;
            if status != StatusCode::OK || size == 0 {
                return Err(format!("{path} was answered by {status} with {size} bytes").into());
            }
            times.push(time);
            bytes = size;
        }
        // A fast view is over before its share of the changes has arrived.
        let share = sent + u64::from(CHANGES_PER_S / 10);
        while changes.sent() < share {
            if began.elapsed() > PATIENCE {
                let n = changes.sent() - sent;
                return Err(format!("{n} changes within {PATIENCE:?}, not {}", share - sent).into());
            }
            times.push(self.request(path).await?.0);
        }
        let of = |share| quantile(&times, share).ok_or("no request was measured");
        Ok(Figures {
            view: view.to_owned(),
            median_ms: of(0.5)?,
            p99_ms: of(0.99)?,
            kib: bytes as f64 / 1_024.0,
            reads: self.registry.reads() - reads,
            changes_per_s: (changes.sent() - sent) as f64 / began.elapsed().as_secs_f64(),
        })
    }
}

/// Changes of random items, in a task of their own.
struct Changes {
    sent: Arc<AtomicU64>,
    task: JoinHandle<Outcome<()>>,
}

impl Changes {
    fn begin(mut source: Source, size: Size) -> Self {
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        let task = tokio::spawn(async move {
            let mut ticks = interval(Duration::from_secs(1) / CHANGES_PER_S);
            for round in 1.. {
                ticks.tick().await;
                source.change(fastrand::u32(..size.jobs), fastrand::u32(..size.items), round)?;
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        Self { sent, task }
    }

    /// Returns the number of changes so far.
    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends the changes. A change that has failed is the error.
    async fn end(self) -> Outcome<()> {
        if self.task.is_finished() {
            return self.task.await?;
        }
        self.task.abort();
        Ok(())
    }
}
