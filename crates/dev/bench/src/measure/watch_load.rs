//! Packets that the server sends for one fire, by the number of items and of instances that share
//! them.

use std::time::Duration;

use lite::{JobBuilder, JobEvent, JobRecord, job_fn};
use tokio::sync::mpsc;

use crate::backend::{Backend, Running};
use crate::report::{Cell, Table};
use crate::spread::Spread;
use crate::stage::{Instance, Stage, within};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 6] = [
    "instances",
    "items",
    "requests per fire",
    "packets sent per fire",
    "packets sent per instance",
    "packets sent per instance and item",
];

/// Idle time after which instances use a narrow watch, with a margin.
const NARROW_WATCH_DELAY: Duration = Duration::from_secs(6);
/// Time without packets after which a fire is over for all instances.
const QUIET: Duration = Duration::from_millis(300);

/// Measures an increasing number of instances that share an increasing number of items.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let (instances, items): (&[u32], &[u32]) = match effort {
        Effort::Quick => (&[1, 4, 16], &[10, 100]),
        Effort::Full => (&[1, 10, 30, 100], &[10, 100, 1_000]),
    };
    let mut table = Table::new(
        "watch-load",
        "packets that the server sends for one fire of a job that all instances share, each with a \
         session of its own: answers, and notifications of changes by other instances; monitored, \
         with failover, without fsync; includes pings",
        2,
        &COLUMNS,
    );
    let stage = Stage::set(Backend::Zookeeper, false)?;
    for &n in instances {
        for &items in items.iter().filter(|items| **items >= n) {
            let fires = fires(&stage, n, items, effort.rounds()).await?;
            note(&mut table, n, items, &fires);
        }
    }
    Ok(table)
}

/// Packets of one fire.
struct Fire {
    requests: u64,
    sent: u64,
}

async fn fires(stage: &Stage, instances: u32, items: u32, rounds: usize) -> Outcome<Vec<Fire>> {
    let name = format!("watch-load-{instances}-{items}");
    let (recorded, mut records) = mpsc::unbounded_channel();
    let mut started: Vec<Instance> = Vec::new();
    let mut first = None;
    for host in 0..instances {
        let instance = stage.instance("watch-load", host + 1).await?;
        let config = JobBuilder::new(&name, items).failover(true).build()?;
        let recorded = recorded.clone();
        let subscriber = move |record: &JobRecord| {
            if let JobEvent::Settled { .. } = record.event {
                // The receiver is dropped when the measurement ends.
                let _ = recorded.send(());
            }
        };
        let registration = instance.scheduler.schedule(config, job_fn(|_| async { Ok(()) }));
        let handle = registration.event_subscriber(subscriber).await?;
        first.get_or_insert(handle);
        started.push(instance);
    }
    let handle = first.ok_or("no instance")?;
    let mut fires = Vec::new();
    // Two fires do not count. The first one shows that every item has an owner. The second one
    // follows an idle time, and makes instances with few of the items use a narrow watch.
    for round in 0..rounds + 2 {
        if round == 1 {
            tokio::time::sleep(NARROW_WATCH_DELAY).await;
        }
        let before = quiet(stage).await?;
        handle.trigger().await?;
        for _ in 0..items {
            within("a record", records.recv()).await?.ok_or("the job has stopped")?;
        }
        let after = quiet(stage).await?;
        fires.push(Fire {
            requests: after.requests - before.requests,
            sent: after.sent - before.sent,
        });
    }
    for instance in started {
        instance.leave().await?;
    }
    Ok(fires.split_off(2))
}

/// Waits until the server has sent only pings for [`QUIET`], and returns its counts.
async fn quiet(stage: &Stage) -> Outcome<Fire> {
    let look = async {
        let mut last = counts(stage)?;
        loop {
            tokio::time::sleep(QUIET).await;
            let now = counts(stage)?;
            if now.sent - last.sent <= PINGS {
                return Ok(now);
            }
            last = now;
        }
    };
    within("the server to send no more packets", look).await?
}

/// Returns the counts of the server.
fn counts(stage: &Stage) -> Outcome<Fire> {
    match &stage.registry {
        Running::Zookeeper(server) => {
            Ok(Fire { requests: server.request_count()?, sent: server.sent_count()? })
        }
        Running::Sqlite { .. } | Running::Postgres(_) | Running::Etcd(_) => {
            Err("only ZooKeeper counts its packets".into())
        }
    }
}

/// Maximum number of pings during [`QUIET`], with a hundred sessions.
const PINGS: u64 = 10;

fn note(table: &mut Table, instances: u32, items: u32, fires: &[Fire]) {
    let median = |of: &dyn Fn(&Fire) -> f64| {
        Spread::of(fires.iter().map(of)).map_or(Cell::None, |spread| Cell::Number(spread.median))
    };
    let each = f64::from(instances);
    table.push(vec![
        instances.into(),
        items.into(),
        median(&|fire| fire.requests as f64),
        median(&|fire| fire.sent as f64),
        median(&|fire| fire.sent as f64 / each),
        median(&|fire| fire.sent as f64 / each / f64::from(items)),
    ]);
}
