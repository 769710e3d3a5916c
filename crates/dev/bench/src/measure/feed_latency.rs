//! Feed latency: the time until a commit of one session arrives at a feed of another session.

use std::time::{Duration, Instant};

use reg_center::{Change, Feed, Lifetime, NodePath, Txn};

use crate::backend::Backend;
use crate::raw::RECORD;
use crate::replay::commit;
use crate::report::{Bound, Cell, Table};
use crate::spread::quantile;
use crate::stage::{Stage, within};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 7] = [
    "durability",
    "commits",
    "p50 ms from sending",
    "p95 ms from sending",
    "max ms from sending",
    "p50 ms from answer",
    "ms one-row transaction",
];

/// Commits of one round.
const COMMITS: usize = 20;
/// Exclusive upper bound of the idle time before a commit, in milliseconds.
///
/// The time is random, so that commits do not follow the rhythm at which a feed looks for changes.
const MAX_IDLE_MS: u64 = 40;

/// Measures all variants of a backend.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "feed-latency",
        "one commit after another, each after a random idle time: until it arrives at the feed of \
         another session, from its sending and from its answer (0 if the feed was faster); one-row \
         transaction: by the registry's own client, after the same idle times",
        1,
        &COLUMNS,
    );
    for stage in Stage::all(backend) {
        let stage = stage?;
        let commits = commits(&stage, 3 * effort.rounds()).await?;
        note(&mut table, &stage, &commits);
    }
    Ok(table)
}

/// Times of one commit.
struct Commit {
    from_sending: Duration,
    from_answer: Duration,
    one_row: Duration,
}

async fn commits(stage: &Stage, rounds: usize) -> Outcome<Vec<Commit>> {
    let (writer, reader) =
        (stage.session("feed-latency").await?, stage.session("feed-latency").await?);
    let mut raw_client = stage.raw_client().await?;
    let node = NodePath::parse("/job/sharding/0/running")?;
    commit(&writer, Txn::new().create(node.clone(), RECORD, Lifetime::Persistent)).await?;
    let mut feed = reader.watch(&NodePath::parse("/job")?);
    within("the snapshot", ready(&mut feed)).await??;
    let mut commits = Vec::new();
    for _ in 0..rounds {
        let mut times = Vec::new();
        for _ in 0..COMMITS {
            idle().await;
            let sent = Instant::now();
            let answer = async {
                commit(&writer, Txn::new().put(node.clone(), RECORD)).await?;
                Outcome::Ok(Instant::now())
            };
            let arrival = async {
                put(&mut feed).await?;
                Outcome::Ok(Instant::now())
            };
            let (answered, arrived) =
                within("the change", async { tokio::try_join!(answer, arrival) }).await??;
            times.push((arrived - sent, arrived.saturating_duration_since(answered)));
        }
        for (from_sending, from_answer) in times {
            idle().await;
            let one_row = raw_client.timed_write().await?;
            commits.push(Commit { from_sending, from_answer, one_row });
        }
    }
    writer.close().await?;
    reader.close().await?;
    Ok(commits)
}

async fn idle() {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(..MAX_IDLE_MS))).await;
}

/// Waits for the end of the snapshot.
async fn ready(feed: &mut Feed) -> Outcome<()> {
    loop {
        match feed.next().await {
            Some(Change::Ready) => return Ok(()),
            Some(_) => {}
            None => return Err("the feed has ended before its snapshot".into()),
        }
    }
}

/// Waits for the next change.
async fn put(feed: &mut Feed) -> Outcome<()> {
    match feed.next().await {
        Some(Change::Put(_)) => Ok(()),
        other => Err(format!("the feed has delivered {other:?} instead of the change").into()),
    }
}

fn note(table: &mut Table, stage: &Stage, commits: &[Commit]) {
    let times = |of: fn(&Commit) -> Duration| -> Vec<Duration> { commits.iter().map(of).collect() };
    let from_sending = times(|commit| commit.from_sending);
    let median = quantile(&from_sending, 0.5);
    let mut row = vec![stage.durability().into(), Cell::Count(commits.len() as u64)];
    row.extend([median, quantile(&from_sending, 0.95), quantile(&from_sending, 1.0)].map(precise));
    row.push(precise(quantile(&times(|commit| commit.from_answer), 0.5)));
    row.push(precise(quantile(&times(|commit| commit.one_row), 0.5)));
    table.push(row);
    if stage.backend() == Backend::Postgres {
        let figure = format!("ms from sending to the feed, median, {}", stage.durability());
        table.target(figure, Bound::AtMost(10.0), median);
    }
}

/// Returns a cell with two decimals.
fn precise(ms: Option<f64>) -> Cell {
    ms.map_or(Cell::None, |ms| Cell::Text(format!("{ms:.2}")))
}
