//! Cost of one fire: requests, round trips before the first start, and times, compared with the
//! same transactions sent raw.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lite::{FireTime, JobBuilder, JobEvent, JobRecord, job_fn};
use reg_center::Txn;
use tokio::sync::mpsc;

use crate::backend::Backend;
use crate::raw::RawClient;
use crate::recorder::{Request, round_trips};
use crate::report::{Bound, Table, on_or_off};
use crate::spread::Spread;
use crate::stage::{Instance, Stage, settled, with_flags, within};
use crate::{Effort, Outcome, replay};

const COLUMNS: [&str; 14] = [
    "items",
    "monitoring",
    "failover",
    "durability",
    "requests per fire",
    "round trips to first start",
    "ms to first start",
    "ms to all recorded",
    "ms raw claim",
    "ms raw all",
    "ms one-row transaction",
    "ratio first start / raw claim",
    "ratio all recorded / raw all",
    "ratio first start / one-row transaction",
];

/// Idle time before the raw transactions are sent, as before a fire.
const IDLE_TIME: Duration = Duration::from_millis(400);

/// One combination of the measured settings.
#[derive(Clone, Copy, Debug)]
struct Setting {
    items: u32,
    monitor: bool,
    failover: bool,
}

/// Figures of one fire.
struct Fire {
    round_trips: usize,
    to_start: Duration,
    /// `None` without monitoring, because no run is recorded then.
    to_recorded: Option<Duration>,
    raw_claim: Option<Duration>,
    raw_all: Option<Duration>,
    one_row: Duration,
}

/// Measures all settings.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "fire",
        "one fire of one instance; times in ms: minimum / median / maximum; raw: transactions of \
         the same operations and bytes, one after the other, the first after an idle time as \
         before a fire; one-row transaction: a write of one row, node or key by the registry's own \
         client, the median of five, each after that idle time; requests: by ZooKeeper's count",
        4,
        &COLUMNS,
    );
    for stage in Stage::all(backend) {
        let stage = stage?;
        for setting in grid(effort) {
            let requests_and_fires = fires(&stage, setting, effort.rounds()).await?;
            note(&mut table, &stage, setting, requests_and_fires);
        }
    }
    Ok(table)
}

fn grid(effort: Effort) -> impl Iterator<Item = Setting> {
    let flags: &[(bool, bool)] = match effort {
        Effort::Quick => &[(true, true), (false, false)],
        // Failover needs monitoring: without it no run is recorded.
        Effort::Full => &[(true, true), (true, false), (false, false)],
    };
    let sizes = [1, 10, 100, 1000].into_iter();
    sizes.flat_map(move |items| {
        flags.iter().map(move |&(monitor, failover)| Setting { items, monitor, failover })
    })
}

/// Fires a job `rounds` times. Returns the requests per fire by the server's count, and the figures
/// of each fire.
async fn fires(
    stage: &Stage,
    setting: Setting,
    rounds: usize,
) -> Outcome<(Option<f64>, Vec<Fire>)> {
    let Setting { items, monitor, failover } = setting;
    let mut raw_client = stage.raw_client().await?;
    let instance = stage.instance("fire", 1).await?;
    // On a slow disk a fire of 1000 items and its raw replay take longer than a second.
    let cron = if items < 1000 { "* * * * * ?" } else { "0/4 * * * * ?" };
    let name = format!("fire-{items}-{monitor}-{failover}");
    let config = JobBuilder::new(&name, items).cron(cron).build()?;
    let (started, starts) = mpsc::unbounded_channel();
    let job = job_fn(move |context| {
        // The receiver is dropped when the measurement ends.
        let _ = started.send(Start {
            fire: context.fire_time(),
            begun: Instant::now(),
            at: Timestamp::now(),
        });
        async { Ok(()) }
    });
    let (recorded, records) = mpsc::unbounded_channel();
    let subscriber = move |record: &JobRecord| {
        if let JobEvent::Settled { fire, .. } = record.event {
            let _ = recorded.send((fire, Timestamp::now()));
        }
    };
    let registration = instance.scheduler.schedule(with_flags(config, monitor, failover), job);
    let handle = registration.event_subscriber(subscriber).await?;
    settled(&handle, items as usize).await?;
    let mut watch = Watch { setting, starts, records };
    // The first fire does not count: it only shows that all items are assigned and run.
    watch.next_fire().await?;
    let mut fires = Vec::new();
    let mut requests = Some(0);
    while fires.len() < rounds {
        instance.center.take();
        let before = stage.request_count()?;
        let (fire, first, recorded) = watch.next_fire().await?;
        let count = stage.requests_since(before)?;
        requests = requests.zip(count).map(|(sum, count)| sum + count);
        let sent = instance.center.take();
        let fire = compare_with_raw(&instance, &mut raw_client, fire, &first, recorded, &sent);
        fires.push(fire.await?);
    }
    instance.leave().await?;
    Ok((requests.map(|requests| requests as f64 / rounds as f64), fires))
}

/// Moment at which the code of an item was called.
struct Start {
    fire: Timestamp,
    begun: Instant,
    /// Read right after `begun`, so that the fire's moment computed from both is not too late.
    at: Timestamp,
}

/// Receives the starts and the records of fires.
struct Watch {
    setting: Setting,
    starts: mpsc::UnboundedReceiver<Start>,
    records: mpsc::UnboundedReceiver<(FireTime, Timestamp)>,
}

impl Watch {
    /// Waits until all items of a future fire have run and, if the job is monitored, are recorded.
    ///
    /// Returns the fire, its first start, and the moment of the last record.
    async fn next_fire(&mut self) -> Outcome<(Timestamp, Start, Option<Timestamp>)> {
        let items = self.setting.items as usize;
        let now = Timestamp::now();
        let mut begun: BTreeMap<Timestamp, Vec<Start>> = BTreeMap::new();
        let (fire, starts) = loop {
            let start =
                within("a start", self.starts.recv()).await?.ok_or("the job has stopped")?;
            let fire = start.fire;
            let of_fire = begun.entry(fire).or_default();
            of_fire.push(start);
            if fire > now && of_fire.len() == items {
                break (fire, begun.remove(&fire).unwrap_or_default());
            }
        };
        let first = starts.into_iter().min_by_key(|start| start.begun).ok_or("no start")?;
        let mut last = None;
        let mut n_recorded = 0;
        while self.setting.monitor && n_recorded < items {
            let record =
                within("a record", self.records.recv()).await?.ok_or("the job has stopped")?;
            if record.0 == FireTime(fire.as_millisecond()) {
                n_recorded += 1;
                last = Some(record.1);
            }
        }
        Ok((fire, first, last))
    }
}

/// Replays the transactions that the product sent, and returns the figures of both.
async fn compare_with_raw(
    instance: &Instance,
    raw_client: &mut RawClient,
    fire: Timestamp,
    first: &Start,
    recorded: Option<Timestamp>,
    sent: &[Request],
) -> Outcome<Fire> {
    let since = |moment: Timestamp| moment.duration_since(fire).unsigned_abs();
    let to_start = since(first.at);
    let at_fire = first.begun - to_start;
    let before_start =
        |request: &&Request| request.sent >= at_fire && request.answered <= first.begun;
    let before_start: Vec<Request> = sent.iter().filter(before_start).cloned().collect();
    let txns: Vec<Txn> = sent.iter().filter_map(|request| request.txn.clone()).collect();
    let claim = txns.iter().position(|txn| txn.label() == "claim");
    let raw = replay::replay_after(IDLE_TIME, instance.center.unrecorded(), &txns).await?;
    let one_row = raw_client.typical_write(IDLE_TIME).await?;
    Ok(Fire {
        round_trips: round_trips(&before_start),
        to_start,
        to_recorded: recorded.map(since),
        raw_claim: claim.and_then(|index| raw.get(index).copied()),
        raw_all: (!raw.is_empty()).then(|| raw.iter().sum()),
        one_row,
    })
}

fn note(
    table: &mut Table,
    stage: &Stage,
    setting: Setting,
    (requests, fires): (Option<f64>, Vec<Fire>),
) {
    let Setting { items, monitor, failover } = setting;
    let times = |of: fn(&Fire) -> Option<Duration>| Spread::of_times(fires.iter().filter_map(of));
    let ratio = |measured: fn(&Fire) -> Option<Duration>, raw: fn(&Fire) -> Option<Duration>| {
        let of = |fire: &Fire| Some(measured(fire)?.as_secs_f64() / raw(fire)?.as_secs_f64());
        Spread::of(fires.iter().filter_map(of))
    };
    let to_claim = ratio(|fire| Some(fire.to_start), |fire| fire.raw_claim);
    let to_one_row = ratio(|fire| Some(fire.to_start), |fire| Some(fire.one_row));
    let to_start = times(|fire| Some(fire.to_start));
    let round_trips = Spread::of(fires.iter().map(|fire| fire.round_trips as f64));
    table.push(vec![
        items.into(),
        on_or_off(monitor).into(),
        on_or_off(failover).into(),
        stage.durability().into(),
        requests.into(),
        round_trips.into(),
        to_start.into(),
        times(|fire| fire.to_recorded).into(),
        times(|fire| fire.raw_claim).into(),
        times(|fire| fire.raw_all).into(),
        times(|fire| Some(fire.one_row)).into(),
        to_claim.into(),
        ratio(|fire| fire.to_recorded, |fire| fire.raw_all).into(),
        to_one_row.into(),
    ]);
    let mut target = |figure: &str, most, spread: Option<Spread>| {
        let figure = format!(
            "{figure}, {items} items, monitoring {}, failover {}, {}",
            on_or_off(monitor),
            on_or_off(failover),
            stage.durability()
        );
        let measured = spread.map(|spread| spread.median);
        table.target(figure, Bound::AtMost(most), measured);
    };
    target("round trips to the first start", if monitor { 2.0 } else { 0.0 }, round_trips);
    match stage.backend() {
        Backend::Zookeeper => target("first start / raw claim", 1.5, to_claim),
        Backend::Sqlite if items == 1 && monitor && !stage.fsync() => {
            target("ms to first start", 3.0, to_start);
        }
        Backend::Postgres | Backend::Etcd if items == 1 && monitor => {
            target("first start / one-row transaction", 2.0, to_one_row);
        }
        Backend::Sqlite | Backend::Postgres | Backend::Etcd => {}
    }
}
