//! How long a lost instance's runs wait until they start elsewhere.

use std::future::pending;
use std::time::{Duration, Instant};

use lite::{JobBuilder, JobConfig, JobEvent, JobRecord, RunSource, job_fn};
use reg_center::{Lifetime, NodePath, Txn};
use tokio::sync::mpsc;
use zookeeper_client as zk;

use crate::recorder::Request;
use crate::report::{Cell, Table};
use crate::spread::Spread;
use crate::stage::{Member, Stage, settled, within};
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

/// Where the jobs are on the server.
const NAMESPACE: &str = "failover";

/// Measures the loss of an instance that runs one item, and of one that runs very many.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "failover",
        "an instance is lost in the middle of its runs, another one is idle; from when the server tells a third client that \
         the instance is gone; raw: a write of one node; the transactions that take the items over",
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

/// What one loss has shown.
struct Loss {
    first: Duration,
    last: Duration,
    raw_write: Duration,
    raw_takeover: Duration,
}

async fn losses(stage: &Stage, lost: u32, rounds: usize) -> Outcome<Vec<Loss>> {
    let items = 2 * lost;
    let config = || JobBuilder::new(format!("failover-{lost}"), items).failover(true).build();
    let survivor = stage.member(NAMESPACE, 1).await?;
    let server = stage.connect_string();
    let bystander = within("a connection", zk::Client::connect(&server)).await??;
    let (taken, mut takes) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        if context.source() == RunSource::Failover {
            // Nobody listens any more once the measurement is over.
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
        let (victim, node) = victim_in_the_middle(stage, config()?, lost).await?;
        // The survivor has run what it has itself, and that is recorded: it is idle.
        heard(lost, "the survivor's records", &mut records).await?;
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
            starts.push(start.ok_or("the survivor is gone")?.duration_since(removed));
        }
        // What it records of the runs comes later; what takes them over has been answered.
        let sent = survivor.center.take();
        settled(&handle, items as usize).await?;
        losses.push(Loss {
            first: starts[0],
            last: starts[starts.len() - 1],
            raw_write: one_write(&survivor).await?,
            raw_takeover: takeover_again(&survivor, &sent).await?,
        });
    }
    survivor.leave().await?;
    Ok(losses)
}

/// Brings up an instance that owns half of the items and is in the middle of running them. Returns it with the path of its node.
async fn victim_in_the_middle(
    stage: &Stage,
    config: JobConfig,
    lost: u32,
) -> Outcome<(Member, String)> {
    let victim = stage.member(NAMESPACE, 2).await?;
    let (running, mut runs) = mpsc::unbounded_channel();
    let job = job_fn(move |_| {
        let _ = running.send(());
        pending()
    });
    let handle = victim.scheduler.schedule(config, job).await?;
    settled(&handle, lost as usize).await?;
    handle.trigger().await?;
    heard(lost, "the runs of the victim", &mut runs).await?;
    let status = handle.status().await?;
    let instance = status.instance.ok_or("the victim has no id")?;
    let node = format!("/{NAMESPACE}/{}/instances/{instance}", status.job);
    Ok((victim, node))
}

/// Waits until something was heard of so often.
async fn heard(times: u32, what: &str, inbox: &mut mpsc::UnboundedReceiver<()>) -> Outcome<()> {
    for _ in 0..times {
        within(what, inbox.recv())
            .await?
            .ok_or_else(|| format!("nobody tells of {what} any more"))?;
    }
    Ok(())
}

async fn one_write(member: &Member) -> Outcome<Duration> {
    let probe = Txn::new().create(NodePath::parse("/probe")?, "x", Lifetime::Ephemeral);
    Ok(raw::replay(member.center.unrecorded(), &[probe]).await?[0])
}

/// Sends what queued the items and took them over once more, raw.
async fn takeover_again(member: &Member, sent: &[Request]) -> Outcome<Duration> {
    let takes_over = |txn: &&Txn| matches!(txn.label(), "sweep" | "takeover");
    let txns = sent.iter().filter_map(|request| request.txn.as_ref()).filter(takes_over);
    let txns: Vec<Txn> = txns.cloned().collect();
    Ok(raw::replay(member.center.unrecorded(), &txns).await?.iter().sum())
}

fn note(table: &mut Table, stage: &Stage, lost: u32, losses: &[Loss]) {
    let times =
        |of: fn(&Loss) -> Duration| -> Cell { Spread::of_times(losses.iter().map(of)).into() };
    let ratio = |ours: fn(&Loss) -> Duration, raw: fn(&Loss) -> Duration| {
        Spread::of(losses.iter().map(|loss| ours(loss).as_secs_f64() / raw(loss).as_secs_f64()))
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
