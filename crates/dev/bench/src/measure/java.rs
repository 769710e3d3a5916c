//! Comparison with the Java original: worker processes of both languages do the same tasks on the
//! same server, one after the other.

use std::path::Path;
use std::time::Duration;

use interop::peers::{FireTask, Fires, Idle, Kind, Loss, Peers, StartUp};

use super::resharding;
use crate::backend::Backend;
use crate::report::{Bound, Cell, Table, on_or_off};
use crate::spread::{Spread, quantile};
use crate::stage::Stage;
use crate::{Effort, Outcome};

/// Measures all tasks in both languages. `java` is the folder of the Java worker, with `classes`
/// and `lib`.
pub(crate) async fn measure(java: &Path, effort: Effort) -> Outcome<Vec<Table>> {
    let peers = Peers::open(java)?;
    Ok(vec![
        fires(&peers, effort).await?,
        losses(&peers, effort).await?,
        reshardings(&peers, effort).await?,
        lateness(&peers, effort).await?,
        start_up(&peers, effort).await?,
        idle(&peers, effort).await?,
    ])
}

/// Returns an empty table whose title names the release of ElasticJob.
fn table(
    peers: &Peers,
    name: &'static str,
    title: &str,
    settings: usize,
    columns: &[&'static str],
) -> Table {
    let title = format!("ElasticJob {} and Rust: {title}", peers.release());
    Table::new(name, title, settings, columns)
}

async fn fires(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-fire",
        "one fire of one worker process, fsync on; by the workers' clocks, in ms",
        3,
        &[
            "items",
            "monitoring",
            "failover",
            "requests per fire, Java",
            "Rust",
            "first start, Java",
            "Rust",
            "Java / Rust",
            "all done, Java",
            "Rust",
            "Java / Rust",
        ],
    );
    let (sizes, flags): (&[u32], &[(bool, bool)]) = match effort {
        Effort::Quick => (&[1, 10, 100], &[(true, true), (false, false)]),
        Effort::Full => (&[1, 10, 100, 1_000], &[(true, true), (true, false), (false, false)]),
    };
    for &items in sizes {
        for &(monitor, failover) in flags {
            let task = FireTask { items, monitor, failover };
            let java = peers.fires(Kind::Java, task, effort.rounds()).await?;
            let rust = peers.fires(Kind::Rust, task, effort.rounds()).await?;
            note_fires(&mut table, task, &java, &rust);
        }
    }
    Ok(table)
}

fn note_fires(table: &mut Table, task: FireTask, java: &Fires, rust: &Fires) {
    let first = |fires: &Fires| Spread::of_times(fires.fires.iter().map(|fire| fire.first_start));
    let done = |fires: &Fires| Spread::of_times(fires.fires.iter().map(|fire| fire.all_done));
    let mut row = vec![
        task.items.into(),
        on_or_off(task.monitor).into(),
        on_or_off(task.failover).into(),
        Cell::Number(java.requests_per_fire),
        Cell::Number(rust.requests_per_fire),
    ];
    row.extend(compared(first(java), first(rust)));
    row.extend(compared(done(java), done(rust)));
    table.push(row);
    if task.items == 100 && task.monitor && task.failover {
        target(table, "Rust / Java, first start, 100 items", 20.0, first(java), first(rust));
        target(table, "Rust / Java, all recorded, 100 items", 20.0, done(java), done(rust));
    }
}

async fn losses(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-failover",
        "three processes share nine items, one is killed while it runs its three; from the moment \
         at which a watch reports the end of its session, in ms",
        0,
        &["first start, Java", "Rust", "Java / Rust", "last start, Java", "Rust", "Java / Rust"],
    );
    let (mut java, mut rust) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds() {
        java.push(peers.loss(Kind::Java).await?);
        rust.push(peers.loss(Kind::Rust).await?);
    }
    let first = |losses: &[Loss]| Spread::of_times(losses.iter().map(|loss| loss.first_start));
    let last = |losses: &[Loss]| Spread::of_times(losses.iter().map(|loss| loss.last_start));
    let mut row = Vec::from(compared(first(&java), first(&rust)));
    row.extend(compared(last(&java), last(&rust)));
    table.push(row);
    Ok(table)
}

async fn reshardings(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-resharding",
        "an instance joins, fsync on, in ms; Java: from the trigger at which its leader checks \
         until it has assigned the items; Rust: from the registration until both instances see \
         the assignment",
        1,
        &["items", "Java", "Rust", "Java / Rust"],
    );
    let stage = Stage::set(Backend::Zookeeper, true)?;
    for items in [10, 100, 1_000] {
        let mut java = Vec::new();
        for _ in 0..effort.rounds() {
            java.push(peers.java_resharding(items).await?);
        }
        let rust = resharding::visible_after(&stage, items, effort.rounds()).await?;
        let (java, rust) = (Spread::of_times(java), Spread::of_times(rust));
        table.push([vec![items.into()], compared(java, rust).to_vec()].concat());
        if items == 1_000 {
            target(&mut table, "Rust / Java, resharding of 1000 items", 50.0, java, rust);
        }
    }
    Ok(table)
}

async fn lateness(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-lateness",
        "jobs of one item that fire on each second, fsync on, in ms",
        2,
        &["jobs", "monitoring", "p50, Java", "Rust", "p99, Java", "Rust", "max, Java", "Rust"],
    );
    for jobs in [1, 100] {
        for monitor in [true, false] {
            let seconds = 3 * effort.rounds();
            let java = peers.lateness(Kind::Java, jobs, monitor, seconds).await?;
            let rust = peers.lateness(Kind::Rust, jobs, monitor, seconds).await?;
            let mut row = vec![jobs.into(), on_or_off(monitor).into()];
            for share in [0.5, 0.99, 1.0] {
                row.extend([quantile(&java, share), quantile(&rust, share)].map(Cell::from));
            }
            table.push(row);
        }
    }
    Ok(table)
}

async fn start_up(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-start-up",
        "from the start of a process, in ms; the job is new and fires on each second",
        1,
        &["until", "Java", "Rust", "Java / Rust"],
    );
    let (mut java, mut rust) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds() {
        java.push(peers.start_up(Kind::Java).await?);
        rust.push(peers.start_up(Kind::Rust).await?);
    }
    let mut row = |until: &str, of: fn(&StartUp) -> Duration| {
        let spread = |starts: &[StartUp]| Spread::of_times(starts.iter().map(of));
        let figures = compared(spread(&java), spread(&rust));
        table.push([vec![until.into()], figures.to_vec()].concat());
    };
    row("it has a session", |start| start.ready);
    row("it takes part in a job", |start| start.joined);
    row("its first run begins", |start| start.first_start);
    Ok(table)
}

async fn idle(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-idle-jobs",
        "jobs of one item that do not fire, in one process; resident memory, Java's before \
         garbage collection",
        1,
        &[
            "jobs",
            "threads, Java",
            "Rust",
            "MiB, Java",
            "Rust",
            "requests to register one, Java",
            "Rust",
        ],
    );
    let sizes: &[u32] = match effort {
        Effort::Quick => &[1, 10],
        Effort::Full => &[1, 10, 100],
    };
    for &jobs in sizes {
        let java = peers.idle(Kind::Java, jobs).await?;
        let rust = peers.idle(Kind::Rust, jobs).await?;
        let mib = |idle: Idle| Cell::Number(idle.resident_kib as f64 / 1024.0);
        let mut row = vec![jobs.into(), Cell::Count(java.threads), Cell::Count(rust.threads)];
        row.extend([mib(java), mib(rust)]);
        row.extend([java, rust].map(|idle| Cell::Number(idle.requests_per_job)));
        table.push(row);
    }
    Ok(table)
}

/// Returns Java's figure, the Rust figure, and Java's as a multiple of the Rust figure.
///
/// The clocks have a resolution of one millisecond. If the Rust median is 0, there is no multiple.
fn compared(java: Option<Spread>, rust: Option<Spread>) -> [Cell; 3] {
    let measurable = java.zip(rust).filter(|(_, rust)| rust.median > 0.0);
    let times = measurable.map(|(java, rust)| Cell::Number(java.median / rust.median));
    [java.into(), rust.into(), times.unwrap_or(Cell::None)]
}

/// Notes the target that Rust is `times` times as fast as Java.
fn target(table: &mut Table, figure: &str, times: f64, java: Option<Spread>, rust: Option<Spread>) {
    let measured = java.zip(rust).map(|(java, rust)| rust.median / java.median);
    table.target(figure.to_owned(), Bound::AtMost(1.0 / times), measured);
}
