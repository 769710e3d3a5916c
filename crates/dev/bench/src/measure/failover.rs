//! Failover latency: the time until another instance starts the runs of a lost instance.

use std::future::pending;
use std::time::{Duration, Instant};

use lite::{JobBuilder, JobConfig, JobEvent, JobRecord, RunSource, job_fn};
use postgres_fixture::proxy::{Mode, Proxy};
use reg_center::{Lifetime, NodePath, RegistryCenter as _, SessionChange, Txn};
use registry::Address;
use tokio::sync::mpsc;
use zookeeper_client as zk;

use crate::backend::{Backend, Running};
use crate::raw::RawClient;
use crate::recorder::Request;
use crate::report::{Bound, Cell, Table};
use crate::spread::Spread;
use crate::stage::{Instance, Stage, open, settled, within};
use crate::{Effort, Outcome, replay};

const COLUMNS: [&str; 11] = [
    "running items lost",
    "durability",
    "ms to end of session",
    "ms to first start",
    "ms to last start",
    "ms one raw write",
    "ms raw takeover",
    "ms one-row transaction",
    "ratio first start / raw write",
    "ratio last start / raw takeover",
    "ratio first start / one-row transaction",
];

/// Namespace of the jobs on the server.
const NAMESPACE: &str = "failover";

/// Time in which PostgreSQL ends the processes of closed connections.
const EXIT_TIME: Duration = Duration::from_millis(100);
/// Idle time before a raw write. It is short, because the end of the session has just used the
/// server.
const IDLE_TIME: Duration = Duration::from_millis(20);

/// Measures the loss of an instance that runs one item, three items, and a thousand items.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "failover",
        "an instance is lost during its runs, another one is idle; starts count from the end of \
         its session: on ZooKeeper the server's notification to a third client that the instance \
         is gone, elsewhere the answer to the request that ends the session; raw: a write of one \
         node, and the transactions that take the items over; one-row transaction: by the \
         registry's own client, the median of five",
        2,
        &COLUMNS,
    );
    for stage in Stage::all(backend) {
        let stage = stage?;
        for lost in [1, 3, 1_000] {
            // Few items take little time, and their figures vary with the disk.
            let rounds = if lost < 1_000 { 3 * effort.rounds() } else { effort.rounds() };
            let losses = losses(&stage, lost, rounds).await?;
            note(&mut table, &stage, lost, &losses);
        }
    }
    Ok(table)
}

/// Times of one loss.
struct Loss {
    end: Duration,
    first: Duration,
    last: Duration,
    raw_write: Duration,
    raw_takeover: Duration,
    one_row: Duration,
}

async fn losses(stage: &Stage, lost: u32, rounds: usize) -> Outcome<Vec<Loss>> {
    let items = 2 * lost;
    let config = || JobBuilder::new(format!("failover-{lost}"), items).failover(true).build();
    let survivor = stage.instance(NAMESPACE, 1).await?;
    let mut raw_client = stage.raw_client().await?;
    let witness = Witness::of(stage).await?;
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
        let victim = victim_with_runs(stage, config()?, lost).await?;
        // The survivor has completed its own items, so that it is idle.
        receive(lost, "the survivor's records", &mut records).await?;
        settled(&handle, lost as usize).await?;
        survivor.center.take();
        let (sent, removed) = witness.end_of(&victim, &mut raw_client).await?;
        let mut starts = Vec::new();
        while starts.len() < lost as usize {
            let start = within("the takeovers", takes.recv()).await?;
            let start = start.ok_or("the survivor has stopped")?;
            // The survivor may notice the end before the answer arrives.
            starts.push(start.saturating_duration_since(removed));
        }
        // A feed can show a takeover before its answer arrives.
        settled(&handle, items as usize).await?;
        let requests = survivor.center.take();
        losses.push(Loss {
            end: removed.duration_since(sent),
            first: starts[0],
            last: starts[starts.len() - 1],
            raw_write: one_write(&survivor).await?,
            raw_takeover: replay_takeover(&survivor, &requests).await?,
            one_row: raw_client.typical_write(IDLE_TIME).await?,
        });
    }
    survivor.leave().await?;
    Ok(losses)
}

/// The way to notice the end of a session.
enum Witness {
    /// A watch of another client.
    Watch(zk::Client),
    /// The answer to the request that ends the session.
    Answer,
}

impl Witness {
    async fn of(stage: &Stage) -> Outcome<Self> {
        match &stage.registry {
            Running::Zookeeper(server) => {
                let server = server.connect_string();
                let client = within("a connection", zk::Client::connect(&server)).await??;
                Ok(Self::Watch(client))
            }
            Running::Sqlite { .. } | Running::Postgres(_) | Running::Etcd(_) => Ok(Self::Answer),
        }
    }

    /// Ends the victim's session. Returns the moments at which this was requested, and at which its
    /// node is known to be gone.
    async fn end_of(
        &self,
        victim: &Victim,
        raw_client: &mut RawClient,
    ) -> Outcome<(Instant, Instant)> {
        let Victim { instance: victim, node, proxy } = victim;
        if let Some(proxy) = proxy {
            victim.scheduler.abort();
            proxy.set(Mode::Close).await?;
            tokio::time::sleep(EXIT_TIME).await;
            let session = match victim.center.session() {
                Some(
                    SessionChange::Connected { session, .. } | SessionChange::Suspended { session },
                ) => session,
                other => return Err(format!("the victim has no session: {other:?}").into()),
            };
            let sent = Instant::now();
            raw_client.end_session(session).await?;
            return Ok((sent, Instant::now()));
        }
        let sent = Instant::now();
        let Self::Watch(client) = self else {
            victim.crash().await?;
            return Ok((sent, Instant::now()));
        };
        let look = client.check_and_watch_stat(node);
        let (shown, watcher) = within("the victim's node", look).await??;
        shown.ok_or("the victim is not registered")?;
        let removal = within("the removal", async {
            watcher.changed().await;
            Instant::now()
        });
        let (crashed, removed) = tokio::join!(victim.crash(), removal);
        crashed?;
        Ok((sent, removed?))
    }
}

/// The instance that is lost.
struct Victim {
    instance: Instance,
    /// The path of its node.
    node: String,
    /// Its network, on PostgreSQL. The server has a process for each connection, and its end takes
    /// a processor for milliseconds. If an instance is lost, its connections end long before its
    /// session.
    proxy: Option<Proxy>,
}

/// Starts an instance that owns half of the items and runs them without end.
async fn victim_with_runs(stage: &Stage, config: JobConfig, lost: u32) -> Outcome<Victim> {
    let proxy = match &stage.registry {
        Running::Postgres(server) => Some(Proxy::start(server.address()).await?),
        Running::Zookeeper(_) | Running::Sqlite { .. } | Running::Etcd(_) => None,
    };
    let address = match &proxy {
        Some(proxy) => {
            let text =
                format!("postgres://postgres@{}/postgres?namespace={NAMESPACE}", proxy.address());
            Address::parse(&text)?
        }
        None => stage.registry.address(NAMESPACE)?,
    };
    let victim = Instance::on(open(address).await?, 2)?;
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
    Ok(Victim { instance: victim, node, proxy })
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
    Ok(replay::replay(instance.center.unrecorded(), &[probe]).await?[0])
}

/// Replays the transactions that queued the items and took them over. Returns their total time.
async fn replay_takeover(instance: &Instance, sent: &[Request]) -> Outcome<Duration> {
    let takes_over = |txn: &&Txn| matches!(txn.label(), "sweep" | "takeover");
    let txns = sent.iter().filter_map(|request| request.txn.as_ref()).filter(takes_over);
    let txns: Vec<Txn> = txns.cloned().collect();
    Ok(replay::replay(instance.center.unrecorded(), &txns).await?.iter().sum())
}

fn note(table: &mut Table, stage: &Stage, lost: u32, losses: &[Loss]) {
    let times =
        |of: fn(&Loss) -> Duration| -> Cell { Spread::of_times(losses.iter().map(of)).into() };
    let ratio = |measured: fn(&Loss) -> Duration, raw: fn(&Loss) -> Duration| {
        Spread::of(losses.iter().map(|loss| measured(loss).as_secs_f64() / raw(loss).as_secs_f64()))
    };
    let to_write = ratio(|loss| loss.first, |loss| loss.raw_write);
    let to_one_row = ratio(|loss| loss.first, |loss| loss.one_row);
    let to_takeover = ratio(|loss| loss.last, |loss| loss.raw_takeover);
    table.push(vec![
        lost.into(),
        stage.durability().into(),
        times(|loss| loss.end),
        times(|loss| loss.first),
        times(|loss| loss.last),
        times(|loss| loss.raw_write),
        times(|loss| loss.raw_takeover),
        times(|loss| loss.one_row),
        to_write.into(),
        to_takeover.into(),
        to_one_row.into(),
    ]);
    let mut target = |figure: &str, most, spread: Option<Spread>| {
        let figure = format!("{figure}, {lost} items lost, {}", stage.durability());
        let measured = spread.map(|spread| spread.median);
        table.target(figure, Bound::AtMost(most), measured);
    };
    if stage.backend() == Backend::Zookeeper {
        target("first start in raw round trips", 3.0, to_write);
        if lost >= 1_000 {
            target("last start / raw takeover", 2.0, to_takeover);
        }
    }
    if lost < 1_000 {
        target("first start in one-row transactions", 3.0, to_one_row);
    }
}
