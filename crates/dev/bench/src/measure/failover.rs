//! Failover latency: the time until another instance starts the runs of a lost instance.

use std::future::pending;
use std::time::{Duration, Instant};

use lite::{JobBuilder, JobConfig, JobEvent, JobRecord, RunSource, job_fn};
use reg_center::{Lifetime, NodePath, Txn};
use tokio::sync::mpsc;
use zookeeper_client as zk;

use crate::recorder::Request;
use crate::report::{Cell, Table};
use crate::spread::Spread;
use crate::stage::{Instance, Stage, settled, within};
use crate::{Effort, Outcome, raw};

const COLUMNS: [&str; 8] = [
    "running items lost",
    "fsync",
    "ms to first start",
    "ms to last start",
    "ms one raw write",
    "ms raw takeover",
    "ratio first start / raw write",
    "ratio last start / raw takeover",
];

/// Namespace of the jobs on the server.
const NAMESPACE: &str = "failover";

/// Measures the loss of an instance that runs one item, three items, and a thousand items.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "failover",
        "an instance is lost during its runs, another one is idle; times count from the server's \
         notification to a third client that the instance is gone; raw: a write of one node, and \
         the transactions that take the items over",
        2,
        &COLUMNS,
    );
    for fsync in [false, true] {
        let stage = Stage::set(fsync)?;
        for lost in [1, 3, 1_000] {
            let losses = losses(&stage, lost, effort.rounds()).await?;
            note(&mut table, &stage, lost, &losses);
        }
    }
    Ok(table)
}

/// Times of one loss.
struct Loss {
    first: Duration,
    last: Duration,
    raw_write: Duration,
    raw_takeover: Duration,
}

async fn losses(stage: &Stage, lost: u32, rounds: usize) -> Outcome<Vec<Loss>> {
    let items = 2 * lost;
    let config = || JobBuilder::new(format!("failover-{lost}"), items).failover(true).build();
    let survivor = stage.instance(NAMESPACE, 1).await?;
    let server = stage.connect_string();
    let bystander = within("a connection", zk::Client::connect(&server)).await??;
    let (taken, mut takes) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        if context.source() == RunSource::Failover {
            // The receiver is dropped when the measurement ends.
            let _ = taken.send(Instant::now());
        }
        async { Ok(()) }
    });
    let (recorded, mut records) = mpsc::unbounded_channel();
    let subscriber = move |record: &JobRecord| {
        if let JobEvent::Settled { source: RunSource::Manual, .. } = record.event {
            let _ = recorded.send(());
        }
    };
    let registration = survivor.scheduler.schedule(config()?, job);
    let handle = registration.event_subscriber(subscriber).await?;
    settled(&handle, items as usize).await?;
    let mut losses = Vec::new();
    for _ in 0..rounds {
        let (victim, node) = victim_with_runs(stage, config()?, lost).await?;
        // The survivor has completed its own items, so that it is idle.
        receive(lost, "the survivor's records", &mut records).await?;
        settled(&handle, lost as usize).await?;
        let look = bystander.check_and_watch_stat(&node);
        let (shown, watcher) = within("the victim's node", look).await??;
        shown.ok_or("the victim is not registered")?;
        survivor.center.take();
        let removal = within("the removal", async {
            watcher.changed().await;
            Instant::now()
        });
        let (crashed, removed) = tokio::join!(victim.crash(), removal);
        crashed?;
        let removed = removed?;
        let mut starts = Vec::new();
        while starts.len() < lost as usize {
            let start = within("the takeovers", takes.recv()).await?;
            starts.push(start.ok_or("the survivor has stopped")?.duration_since(removed));
        }
        // The takeover transactions are answered. The ends of the runs are recorded later and
        // excluded.
        let sent = survivor.center.take();
        settled(&handle, items as usize).await?;
        losses.push(Loss {
            first: starts[0],
            last: starts[starts.len() - 1],
            raw_write: one_write(&survivor).await?,
            raw_takeover: replay_takeover(&survivor, &sent).await?,
        });
    }
    survivor.leave().await?;
    Ok(losses)
}

/// Starts an instance that owns half of the items and runs them without end.
///
/// Returns the instance and the path of its node.
async fn victim_with_runs(
    stage: &Stage,
    config: JobConfig,
    lost: u32,
) -> Outcome<(Instance, String)> {
    let victim = stage.instance(NAMESPACE, 2).await?;
    let (running, mut runs) = mpsc::unbounded_channel();
    let job = job_fn(move |_| {
        let _ = running.send(());
        pending()
    });
    let handle = victim.scheduler.schedule(config, job).await?;
    settled(&handle, lost as usize).await?;
    handle.trigger().await?;
    receive(lost, "the runs of the victim", &mut runs).await?;
    let status = handle.status().await?;
    let instance = status.instance.ok_or("the victim has no id")?;
    let node = format!("/{NAMESPACE}/{}/instances/{instance}", status.job);
    Ok((victim, node))
}

/// Waits until `inbox` has received `times` messages.
async fn receive(times: u32, what: &str, inbox: &mut mpsc::UnboundedReceiver<()>) -> Outcome<()> {
    for _ in 0..times {
        within(what, inbox.recv())
            .await?
            .ok_or_else(|| format!("the sender of {what} has stopped"))?;
    }
    Ok(())
}

async fn one_write(instance: &Instance) -> Outcome<Duration> {
    let probe = Txn::new().create(NodePath::parse("/probe")?, "x", Lifetime::Ephemeral);
    Ok(raw::replay(instance.center.unrecorded(), &[probe]).await?[0])
}

/// Replays the transactions that queued the items and took them over. Returns their total time.
async fn replay_takeover(instance: &Instance, sent: &[Request]) -> Outcome<Duration> {
    let takes_over = |txn: &&Txn| matches!(txn.label(), "sweep" | "takeover");
    let txns = sent.iter().filter_map(|request| request.txn.as_ref()).filter(takes_over);
    let txns: Vec<Txn> = txns.cloned().collect();
    Ok(raw::replay(instance.center.unrecorded(), &txns).await?.iter().sum())
}

fn note(table: &mut Table, stage: &Stage, lost: u32, losses: &[Loss]) {
    let times =
        |of: fn(&Loss) -> Duration| -> Cell { Spread::of_times(losses.iter().map(of)).into() };
    let ratio = |measured: fn(&Loss) -> Duration, raw: fn(&Loss) -> Duration| {
        Spread::of(losses.iter().map(|loss| measured(loss).as_secs_f64() / raw(loss).as_secs_f64()))
    };
    let to_write = ratio(|loss| loss.first, |loss| loss.raw_write);
    let to_takeover = ratio(|loss| loss.last, |loss| loss.raw_takeover);
    table.push(vec![
        lost.into(),
        stage.fsync().into(),
        times(|loss| loss.first),
        times(|loss| loss.last),
        times(|loss| loss.raw_write),
        times(|loss| loss.raw_takeover),
        to_write.into(),
        to_takeover.into(),
    ]);
    let mut target = |figure: &str, most, spread: Option<Spread>| {
        let figure = format!("{figure}, {lost} items lost, fsync {}", stage.fsync());
        let measured = spread.map(|spread| spread.median);
        table.target(figure, most, measured);
    };
    target("first start in raw round trips", 3.0, to_write);
    if lost >= 1_000 {
        target("last start / raw takeover", 2.0, to_takeover);
    }
}
