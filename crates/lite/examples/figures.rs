//! The figures of the scheduler on a real ZooKeeper, measured in one run: registry round trips per fire, the time from a
//! fire to its runs, and the time from the end of a session to the start of what it left unfinished.
//!
//! Starts its own server: `cargo run --release -p lite --example figures`. Times are minimum, median and maximum. The last
//! column is what the registry itself needs, at that moment, for one transaction of as many writes.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example that measures reads the real clocks and prints what it finds"
)]

use std::error::Error;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use lite::{JobBuilder, JobEvent, JobHandle, RunSource, Scheduler, job_fn};
use reg_center::{
    Feed, Lifetime, Limits, Node, NodePath, RegistryCenter, SessionChange, SessionFeed, SessionId,
    Txn, TxnOutcome,
};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use tokio::sync::mpsc;
use tokio::time::timeout;
use zookeeper_fixture::Server;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const FIRES: u32 = 5;
const FAILOVERS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Outcome<()> {
    let server = Server::start()?;
    println!("round trips and times per fire, one instance, monitoring and failover on");
    println!(
        "items | commits | reads | server requests | fire to first start | fire to all recorded | one transaction"
    );
    for items in [1, 10, 100] {
        println!("{}", fires(&server, items).await?);
    }
    println!(
        "\nfailover, two instances, {FAILOVERS} rounds: end of the session asked for -> orphan's start"
    );
    println!("{}", failovers(&server).await?);
    Ok(())
}

async fn connect(server: &Server, namespace: &str) -> Outcome<Arc<Counting>> {
    let url = format!("zk://{}/{namespace}", server.connect_string());
    let options = ZookeeperOptions::parse_url(&url)?.session_timeout(Duration::from_secs(4));
    Ok(Arc::new(Counting::new(ZookeeperCenter::connect(options).await?)))
}

/// Fires a job of `items` items some times and says what one fire costs.
async fn fires(server: &Server, items: u32) -> Outcome<String> {
    let center = connect(server, "figures-fires").await?;
    let name = format!("job-{items}");
    let config = JobBuilder::new(&name, items).cron("0/2 * * * * ?").failover(true).build()?;
    let (started, mut starts) = mpsc::unbounded_channel();
    let job = job_fn(move |cx| {
        // The receiver is gone when the measurement is over.
        let _ = started.send((cx.fire_time(), jiff::Timestamp::now()));
        async { Ok(()) }
    });
    let scheduler = Scheduler::builder(Arc::clone(&center) as Arc<dyn RegistryCenter>).build()?;
    let handle = scheduler.schedule(config, job).await?;
    let mut events = handle.events();
    let mut settled = async |n: u32| -> Outcome<jiff::Timestamp> {
        let mut last = jiff::Timestamp::MIN;
        for _ in 0..n {
            while let Some(record) = timeout(PATIENCE, events.next()).await? {
                if let JobEvent::Settled { .. } = record.event {
                    last = jiff::Timestamp::now();
                    break;
                }
            }
        }
        Ok(last)
    };
    // The first fire shows that everything is in place; it does not count.
    settled(items).await?;
    while starts.try_recv().is_ok() {}
    let (commits, reads, requests) = (center.commits(), center.reads(), server.request_count()?);
    let (mut to_start, mut to_recorded) = (Vec::new(), Vec::new());
    for _ in 0..FIRES {
        let recorded = settled(items).await?;
        let mut first = None;
        while let Ok((fire, at)) = starts.try_recv() {
            first = Some(first.map_or((fire, at), |(f, earliest)| (f, at.min(earliest))));
        }
        let (fire, at) = first.ok_or("a fire without a start")?;
        to_start.push(at.duration_since(fire).unsigned_abs());
        to_recorded.push(recorded.duration_since(fire).unsigned_abs());
    }
    let per_fire = |n: u64| format!("{:.1}", n as f64 / f64::from(FIRES));
    let row = format!(
        "{items:>5} | {:>7} | {:>5} | {:>22} | {} | {} | {}",
        per_fire(center.commits() - commits),
        per_fire(center.reads() - reads),
        per_fire(server.request_count()? - requests),
        spread(&mut to_start),
        spread(&mut to_recorded),
        raw_transaction(&center, items).await?,
    );
    scheduler.shutdown(PATIENCE).await;
    center.close().await?;
    Ok(row)
}

/// How long the registry takes for one transaction that writes as many nodes, without us.
async fn raw_transaction(center: &Counting, items: u32) -> Outcome<String> {
    let path = |i: u32| NodePath::parse(&format!("/raw-{items}/{i}"));
    let mut create = Txn::new();
    for i in 0..items {
        create = create.create(path(i)?, vec![b'x'; 150], Lifetime::Persistent);
    }
    center.inner.commit(create).await?;
    let mut times = Vec::new();
    for _ in 0..20 {
        let mut put = Txn::new();
        for i in 0..items {
            put = put.put(path(i)?, vec![b'y'; 150]);
        }
        let begin = Instant::now();
        center.inner.commit(put).await?;
        times.push(begin.elapsed());
    }
    Ok(spread(&mut times))
}

/// Ends sessions in the middle of a run, again and again, and says how long the takeover takes.
async fn failovers(server: &Server) -> Outcome<String> {
    let survivor_center = connect(server, "figures-failover").await?;
    let (taken, mut takes) = mpsc::unbounded_channel();
    let survivor_job = job_fn(move |cx| {
        if cx.source() == RunSource::Failover {
            let _ = taken.send(Instant::now());
        }
        async { Ok(()) }
    });
    let config = || JobBuilder::new("failover", 2).failover(true).build();
    let survivor = Scheduler::builder(Arc::clone(&survivor_center) as Arc<dyn RegistryCenter>)
        .server_ip("10.0.0.1")?
        .build()?;
    let handle = survivor.schedule(config()?, survivor_job).await?;
    wait_until_owning(&handle, 2).await?;
    let mut times = Vec::new();
    for round in 0..FAILOVERS {
        let victim_center = connect(server, "figures-failover").await?;
        let victim = Scheduler::builder(Arc::clone(&victim_center) as Arc<dyn RegistryCenter>)
            .server_ip("10.0.0.2")?
            .build()?;
        let (running, mut runs) = mpsc::unbounded_channel();
        let stuck = job_fn(move |_| {
            let _ = running.send(());
            pending()
        });
        let of_victim = victim.schedule(config()?, stuck).await?;
        wait_until_owning(&of_victim, 1).await?;
        of_victim.trigger().await?;
        timeout(PATIENCE, runs.recv()).await?.ok_or("the victim runs nothing")?;
        victim.abort();
        let ended = Instant::now();
        victim_center.close().await?;
        let start = timeout(PATIENCE, takes.recv())
            .await
            .map_err(|_| format!("round {round}: no takeover"))?;
        times.push(start.ok_or("the survivor is gone")?.duration_since(ended));
        wait_until_owning(&handle, 2).await?;
    }
    let row = format!("{} (min / median / max)", spread(&mut times));
    survivor.shutdown(PATIENCE).await;
    survivor_center.close().await?;
    Ok(row)
}

/// Looks every few milliseconds until a job owns this many items and runs none: that is not part of what is measured.
async fn wait_until_owning(handle: &JobHandle, items: usize) -> Outcome<()> {
    let look = async {
        loop {
            let status = handle.status().await?;
            if status.owned.len() == items && status.running.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, look).await.map_err(|_| format!("it never owns {items} items"))?
}

/// Minimum, median and maximum.
fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3);
    let (median, last) = (times.len() / 2, times.len().saturating_sub(1));
    format!("{:.2} / {:.2} / {:.2} ms", at(0), at(median), at(last))
}

/// A registry centre that counts what is asked of it.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn RegistryCenter>,
    commits: AtomicU64,
    reads: AtomicU64,
}

impl Counting {
    fn new(inner: Arc<dyn RegistryCenter>) -> Self {
        Self { inner, commits: AtomicU64::new(0), reads: AtomicU64::new(0) }
    }

    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl RegistryCenter for Counting {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn session(&self) -> Option<SessionChange> {
        self.inner.session()
    }

    fn session_feed(&self) -> SessionFeed {
        self.inner.session_feed()
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.inner.lease_remaining(session)
    }

    async fn read(&self, path: &NodePath) -> reg_center::Result<Option<Node>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.read(path).await
    }

    async fn children(&self, path: &NodePath) -> reg_center::Result<Option<Vec<String>>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.inner.children(path).await
    }

    async fn commit(&self, txn: Txn) -> reg_center::Result<TxnOutcome> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.inner.commit(txn).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.inner.watch(root)
    }

    async fn sync(&self) -> reg_center::Result<()> {
        self.inner.sync().await
    }

    async fn registry_time(&self, probe: &NodePath) -> reg_center::Result<Option<SystemTime>> {
        self.inner.registry_time(probe).await
    }

    async fn close(&self) -> reg_center::Result<()> {
        self.inner.close().await
    }
}
