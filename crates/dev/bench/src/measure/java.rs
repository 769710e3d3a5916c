//! The Java original beside ours: worker processes of both at the same tasks on the same server, one after the other.

use std::path::Path;
use std::time::Duration;

use interop::peers::{FireTask, Fires, Idle, Kind, Loss, Peers, StartUp};

use super::resharding;
use crate::report::{Cell, Table, on_or_off};
use crate::spread::{Spread, quantile};
use crate::stage::Stage;
use crate::{Effort, Outcome};

/// Measures everything that both can do. The folder is that of the Java worker, with `classes` and `lib`.
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

/// A table whose title names the release.
fn table(
    peers: &Peers,
    name: &'static str,
    title: &str,
    settings: usize,
    columns: &[&'static str],
) -> Table {
    let title = format!("ElasticJob {} beside ours: {title}", peers.release());
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
            "ours",
            "first start, Java",
            "ours",
            "Java / ours",
            "all done, Java",
            "ours",
            "Java / ours",
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
            let ours = peers.fires(Kind::Rust, task, effort.rounds()).await?;
            note_fires(&mut table, task, &java, &ours);
        }
    }
    Ok(table)
}

fn note_fires(table: &mut Table, task: FireTask, java: &Fires, ours: &Fires) {
    let first = |fires: &Fires| Spread::of_times(fires.fires.iter().map(|fire| fire.first_start));
    let done = |fires: &Fires| Spread::of_times(fires.fires.iter().map(|fire| fire.all_done));
    let mut row = vec![
        task.items.into(),
        on_or_off(task.monitor).into(),
        on_or_off(task.failover).into(),
        Cell::Number(java.requests_per_fire),
        Cell::Number(ours.requests_per_fire),
    ];
    row.extend(beside(first(java), first(ours)));
    row.extend(beside(done(java), done(ours)));
    table.push(row);
    if task.items == 100 && task.monitor && task.failover {
        target(table, "ours / Java, first start, 100 items", 20.0, first(java), first(ours));
        target(table, "ours / Java, all recorded, 100 items", 20.0, done(java), done(ours));
    }
}

async fn losses(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-failover",
        "three processes share nine items, one is killed in the middle of its three; from when the server's removal of its session \
         is seen, in ms",
        0,
        &["first start, Java", "ours", "Java / ours", "last start, Java", "ours", "Java / ours"],
    );
    let (mut java, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds() {
        java.push(peers.loss(Kind::Java).await?);
        ours.push(peers.loss(Kind::Rust).await?);
    }
    let first = |losses: &[Loss]| Spread::of_times(losses.iter().map(|loss| loss.first_start));
    let last = |losses: &[Loss]| Spread::of_times(losses.iter().map(|loss| loss.last_start));
    let mut row = Vec::from(beside(first(&java), first(&ours)));
    row.extend(beside(last(&java), last(&ours)));
    table.push(row);
    Ok(table)
}

async fn reshardings(peers: &Peers, effort: Effort) -> Outcome<Table> {
    let mut table = table(
        peers,
        "java-resharding",
        "an instance joins, fsync on, in ms; Java from the trigger at which its leader looks until it has assigned the items, \
         ours from the registration until both see the assignment",
        1,
        &["items", "Java", "ours", "Java / ours"],
    );
    let stage = Stage::set(true)?;
    for items in [10, 100, 1_000] {
        let mut java = Vec::new();
        for _ in 0..effort.rounds() {
            java.push(peers.java_resharding(items).await?);
        }
        let ours = resharding::visible_after(&stage, items, effort.rounds()).await?;
        let (java, ours) = (Spread::of_times(java), Spread::of_times(ours));
        table.push([vec![items.into()], beside(java, ours).to_vec()].concat());
        if items == 1_000 {
            target(&mut table, "ours / Java, resharding of 1000 items", 50.0, java, ours);
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
        &["jobs", "monitoring", "p50, Java", "ours", "p99, Java", "ours", "max, Java", "ours"],
    );
    for jobs in [1, 100] {
        for monitor in [true, false] {
            let seconds = 3 * effort.rounds();
            let java = peers.lateness(Kind::Java, jobs, monitor, seconds).await?;
            let ours = peers.lateness(Kind::Rust, jobs, monitor, seconds).await?;
            let mut row = vec![jobs.into(), on_or_off(monitor).into()];
            for share in [0.5, 0.99, 1.0] {
                row.extend([quantile(&java, share), quantile(&ours, share)].map(Cell::from));
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
        &["until", "Java", "ours", "Java / ours"],
    );
    let (mut java, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds() {
        java.push(peers.start_up(Kind::Java).await?);
        ours.push(peers.start_up(Kind::Rust).await?);
    }
    let mut row = |until: &str, of: fn(&StartUp) -> Duration| {
        let spread = |starts: &[StartUp]| Spread::of_times(starts.iter().map(of));
        let figures = beside(spread(&java), spread(&ours));
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
        "jobs of one item that do not fire, in one process; resident memory, Java's with what it has not collected",
        1,
        &[
            "jobs",
            "threads, Java",
            "ours",
            "MiB, Java",
            "ours",
            "requests to register one, Java",
            "ours",
        ],
    );
    let sizes: &[u32] = match effort {
        Effort::Quick => &[1, 10],
        Effort::Full => &[1, 10, 100],
    };
    for &jobs in sizes {
        let java = peers.idle(Kind::Java, jobs).await?;
        let ours = peers.idle(Kind::Rust, jobs).await?;
        let mib = |idle: Idle| Cell::Number(idle.resident_kib as f64 / 1024.0);
        let mut row = vec![jobs.into(), Cell::Count(java.threads), Cell::Count(ours.threads)];
        row.extend([mib(java), mib(ours)]);
        row.extend([java, ours].map(|idle| Cell::Number(idle.requests_per_job)));
        table.push(row);
    }
    Ok(table)
}

/// Java's figure, ours, and how many times ours Java's is; clocks tell milliseconds, so that ours can be none.
fn beside(java: Option<Spread>, ours: Option<Spread>) -> [Cell; 3] {
    let measurable = java.zip(ours).filter(|(_, ours)| ours.median > 0.0);
    let times = measurable.map(|(java, ours)| Cell::Number(java.median / ours.median));
    [java.into(), ours.into(), times.unwrap_or(Cell::None)]
}

/// Notes that ours is to be so many times as fast as Java.
fn target(table: &mut Table, figure: &str, times: f64, java: Option<Spread>, ours: Option<Spread>) {
    let measured = java.zip(ours).map(|(java, ours)| ours.median / java.median);
    table.target(figure.to_owned(), 1.0 / times, measured);
}
