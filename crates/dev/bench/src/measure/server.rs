//! Capacity of one server on this machine, independent of the product. [`scale`](super::scale) has
//! the load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Change, Lifetime, NodePath, RegistryCenter, Txn};
use tokio::task::JoinSet;

use crate::backend::Backend;
use crate::raw::RECORD;
use crate::replay::commit;
use crate::report::{Cell, Table};
use crate::spread::Spread;
use crate::stage::{Stage, within};
use crate::{Effort, Outcome};

const COLUMNS: [&str; 3] = ["load", "durability", "a second"];

/// Number of transactions that are under way at the same time.
const UNDER_WAY: usize = 64;
/// Number of sessions that watch the changed nodes.
const LISTENERS: usize = 32;
/// Number of nodes that change.
const CHANGES: usize = 1_000;
/// Changes in one transaction.
const CHANGES_AT_ONCE: usize = 200;

/// Measures a server on the same machine as its clients.
pub(crate) async fn measure(effort: Effort) -> Outcome<Table> {
    let mut table = Table::new(
        "server",
        format!(
            "operations of one server in a second, on the same machine as its clients; records of \
             {} bytes; notifications: of {CHANGES} changes to {LISTENERS} sessions, each of which \
             reads the changed nodes",
            RECORD.len()
        ),
        2,
        &COLUMNS,
    );
    for stage in Stage::all(Backend::Zookeeper) {
        let stage = stage?;
        let center = stage.session("server").await?;
        let rows = [
            ("transactions of one operation", 512, 1),
            ("operations, in transactions of 200", 32, 200),
        ];
        for (load, transactions, operations) in rows {
            let mut rates = Vec::new();
            for round in 0..effort.rounds() {
                let name = format!("writes-{operations}-{round}");
                rates.push(writes(&center, &name, transactions, operations).await?);
            }
            note(&mut table, &stage, load, rates);
        }
        let mut rates = Vec::new();
        for round in 0..effort.rounds() {
            rates.push(notifications(&stage, &center, &format!("notify-{round}")).await?);
        }
        note(&mut table, &stage, "notifications, with reads", rates);
    }
    Ok(table)
}

fn note(table: &mut Table, stage: &Stage, load: &str, rates: Vec<f64>) {
    table.push(vec![load.into(), stage.durability().into(), Cell::from(Spread::of(rates))]);
}

/// Returns the written operations per second, in transactions of `operations` operations,
/// [`UNDER_WAY`] of them at the same time.
async fn writes(
    center: &Arc<dyn RegistryCenter>,
    name: &str,
    transactions: usize,
    operations: usize,
) -> Outcome<f64> {
    let folder = NodePath::parse(&format!("/{name}"))?;
    let begin = Instant::now();
    let mut under_way = JoinSet::new();
    for number in 0..transactions {
        if under_way.len() == UNDER_WAY {
            under_way.join_next().await.ok_or("no transaction is under way")???;
        }
        let mut txn = Txn::new();
        for operation in 0..operations {
            let path = folder.join(&format!("{number}-{operation}"))?;
            txn = txn.create(path, RECORD, Lifetime::Persistent);
        }
        let center = Arc::clone(center);
        under_way.spawn(async move { commit(&center, txn).await });
    }
    while let Some(done) = under_way.join_next().await {
        done??;
    }
    Ok((transactions * operations) as f64 / begin.elapsed().as_secs_f64())
}

/// Returns the changes per second that arrive at all sessions together.
async fn notifications(
    stage: &Stage,
    center: &Arc<dyn RegistryCenter>,
    name: &str,
) -> Outcome<f64> {
    let folder = NodePath::parse(&format!("/{name}"))?;
    commit(center, Txn::new().create(folder.clone(), "", Lifetime::Persistent)).await?;
    let mut listeners = JoinSet::new();
    let (listening, mut ready) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..LISTENERS {
        let session = stage.session("server").await?;
        let (folder, listening) = (folder.clone(), listening.clone());
        listeners.spawn(async move {
            let mut feed = session.watch(&folder);
            let mut changes = 0;
            while changes < CHANGES {
                match feed.next().await {
                    // The receiver lives until all listeners are ready.
                    Some(Change::Ready) => drop(listening.send(())),
                    Some(Change::Put(_)) => changes += 1,
                    Some(Change::Init | Change::Entry(_) | Change::Gone { .. }) => {}
                    None => return Err("the feed of a listener has ended early".into()),
                }
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(session.close().await?)
        });
    }
    drop(listening);
    for _ in 0..LISTENERS {
        within("the listeners", ready.recv()).await?.ok_or("all listeners have ended early")?;
    }
    let begin = Instant::now();
    let mut txn = Txn::new();
    for number in 0..CHANGES {
        txn = txn.create(folder.join(&number.to_string())?, RECORD, Lifetime::Persistent);
        if txn.ops().len() == CHANGES_AT_ONCE || number + 1 == CHANGES {
            commit(center, std::mem::take(&mut txn)).await?;
        }
    }
    let received = async {
        while let Some(done) = listeners.join_next().await {
            done??;
        }
        Outcome::Ok(begin.elapsed())
    };
    let elapsed: Duration = within("all notifications", received).await??;
    Ok((LISTENERS * CHANGES) as f64 / elapsed.as_secs_f64())
}
