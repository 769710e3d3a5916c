//! Cost of resharding when a second instance joins, compared with raw writes of the new owners.
//!
//! The time counts from the registration until both instances see the new assignment.

use std::time::{Duration, Instant};

use lite::{JobBuilder, JobEvent, JobHandle, JobRecord, job_fn};
use reg_center::{Op, Txn};
use tokio::sync::mpsc;

use crate::backend::Backend;
use crate::report::{Bound, Cell, Table};
use crate::spread::Spread;
use crate::stage::{Instance, Stage, settled, until, within};
use crate::{Effort, Outcome, replay};

const COLUMNS: [&str; 7] = [
    "items",
    "durability",
    "items that move",
    "transactions",
    "ms to visible everywhere",
    "ms raw",
    "ratio visible / raw",
];

/// Measures jobs of an increasing number of items.
pub(crate) async fn measure(backend: Backend, effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "resharding",
        "a second instance joins; from its registration until both see the new assignment; raw: \
         the owners of the items that move, written in as many transactions",
        2,
        &COLUMNS,
    );
    let sizes: &[u32] = match (effort, backend) {
        (Effort::Full, Backend::Zookeeper) => &[10, 100, 1_000, 10_000, 100_000],
        (Effort::Full | Effort::Quick, _) => &[10, 100, 1_000],
    };
    for stage in Stage::all(backend) {
        let stage = stage?;
        for &items in sizes {
            // The greatest number of items takes a minute to set up.
            let rounds = if items > 10_000 { 1 } else { effort.rounds() };
            let joins = joins(&stage, items, rounds).await?;
            note(&mut table, &stage, items, &joins);
        }
    }
    Ok(table)
}

/// Figures of one join.
struct Join {
    moved: usize,
    transactions: usize,
    visible: Duration,
    raw: Duration,
}

/// Returns, for each of `rounds` joins, the time until the new assignment was visible to both
/// instances.
pub(crate) async fn visible_after(
    stage: &Stage,
    items: u32,
    rounds: usize,
) -> Outcome<Vec<Duration>> {
    let joins = joins(stage, items, rounds).await?;
    Ok(joins.into_iter().map(|join| join.visible).collect())
}

async fn joins(stage: &Stage, items: u32, rounds: usize) -> Outcome<Vec<Join>> {
    let n_items = items as usize;
    let first = stage.instance("resharding", 1).await?;
    let (of_first, _) = schedule(&first, items).await?;
    settled(&of_first, n_items).await?;
    let mut joins = Vec::new();
    for _ in 0..rounds {
        first.center.take();
        let second = stage.instance("resharding", 2).await?;
        let (of_second, registered) = schedule(&second, items).await?;
        let half = n_items / 2;
        wait_until_owned(&of_second, half).await?;
        wait_until_owned(&of_first, n_items - half).await?;
        let visible = registered.elapsed();
        let sent = first.center.take().into_iter().filter_map(|request| request.txn);
        let resharding: Vec<Txn> = sent.filter(|txn| txn.label() == "resharding").collect();
        let owners: Vec<Txn> =
            resharding.iter().map(owners_of).filter(|txn| !txn.ops().is_empty()).collect();
        let raw = replay::replay(first.center.unrecorded(), &owners).await?;
        joins.push(Join {
            moved: owners.iter().map(|txn| txn.ops().len()).sum(),
            transactions: resharding.len(),
            visible,
            raw: raw.iter().sum(),
        });
        second.leave().await?;
        settled(&of_first, n_items).await?;
    }
    first.leave().await?;
    Ok(joins)
}

/// Schedules a job that never fires. Returns its handle and the moment of its registration.
async fn schedule(instance: &Instance, items: u32) -> Outcome<(JobHandle, Instant)> {
    let config = JobBuilder::new(format!("resharding-{items}"), items).build()?;
    let (joined, mut joins) = mpsc::unbounded_channel();
    let subscriber = move |record: &JobRecord| {
        if let JobEvent::Joined { .. } = record.event {
            let _ = joined.send(Instant::now());
        }
    };
    let registration = instance.scheduler.schedule(config, job_fn(|_| async { Ok(()) }));
    let handle = registration.event_subscriber(subscriber).await?;
    let at = within("its registration", joins.recv()).await?.ok_or("the job has stopped")?;
    Ok((handle, at))
}

/// Waits until the instance of `handle` sees that it owns `items` items.
async fn wait_until_owned(handle: &JobHandle, items: usize) -> Outcome<()> {
    until(handle, "the assignment", |status| status.owned.len() == items).await
}

/// Returns only those operations of `txn` that write an owner of an item.
fn owners_of(txn: &Txn) -> Txn {
    let owners = txn.ops().iter().filter(|op| op.path().name() == "instance");
    let written = owners.filter(|op| matches!(op, Op::Put { .. } | Op::Create { .. }));
    written.cloned().fold(Txn::new(), Txn::op)
}

fn note(table: &mut Table, stage: &Stage, items: u32, joins: &[Join]) {
    let ratio =
        Spread::of(joins.iter().map(|join| join.visible.as_secs_f64() / join.raw.as_secs_f64()));
    let count = |of: fn(&Join) -> usize| Spread::of(joins.iter().map(|join| of(join) as f64));
    table.push(vec![
        items.into(),
        stage.durability().into(),
        count(|join| join.moved).map_or(Cell::None, |moved| Cell::Number(moved.median)),
        count(|join| join.transactions).map_or(Cell::None, |n| Cell::Number(n.median)),
        Spread::of_times(joins.iter().map(|join| join.visible)).into(),
        Spread::of_times(joins.iter().map(|join| join.raw)).into(),
        ratio.into(),
    ]);
    if stage.backend() == Backend::Zookeeper {
        let figure = format!("visible everywhere / raw, {items} items, {}", stage.durability());
        table.target(figure, Bound::AtMost(2.0), ratio.map(|ratio| ratio.median));
    }
}
