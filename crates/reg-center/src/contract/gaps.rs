//! Guarantee 9: the feed has no gap, even if the connection breaks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::join3;

use super::failure::{equal, holds};
use super::mirror::Mirror;
use super::prng::Prng;
use super::stage::{Actor, Stage, path, yield_once};
use crate::{Lifetime, Txn, TxnOutcome};

const PATHS: [&str; 8] = [
    "/job/a",
    "/job/a/x",
    "/job/a/y",
    "/job/b",
    "/job/c/d",
    "/job/c/e/f",
    "/job/instances/1",
    "/job/instances/2",
];

/// Progress of the writers, and the signal that stops them.
#[derive(Debug, Default)]
struct Writing {
    answered: AtomicUsize,
    stop: AtomicBool,
}

impl Writing {
    /// Waits until the registry has answered 20 more writes, so that each fault hits ongoing
    /// writes.
    async fn await_more_writes(&self) {
        let enough = self.answered.load(Ordering::SeqCst) + 20;
        while self.answered.load(Ordering::SeqCst) < enough {
            yield_once().await;
        }
    }
}

/// Writes at random until `stop` is set: creations, changes, deletions, and deletions followed by
/// creations.
async fn write_at_random(writer: &Actor<'_>, seed: u64, writing: &Writing) {
    let mut prng = Prng::new(seed);
    let mut round = 0;
    while round < 100 || !writing.stop.load(Ordering::SeqCst) {
        let at = path(prng.pick(&PATHS));
        let data = format!("{seed}-{round}");
        let lifetime = if at.as_str().contains("instances") {
            Lifetime::Ephemeral
        } else {
            Lifetime::Persistent
        };
        let txn = match prng.below(5) {
            0 | 1 => Txn::new().create(at, data, lifetime),
            2 => Txn::new().put(at, data),
            3 => Txn::new().delete(at),
            _ => Txn::new().delete(at.clone()).create(at, data, lifetime),
        };
        match writer.outcome(txn).await {
            TxnOutcome::Committed(_) | TxnOutcome::Conflict(_) => yield_once().await,
        }
        writing.answered.fetch_add(1, Ordering::SeqCst);
        round += 1;
    }
}

/// Disturbance of the reader's connection.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Cut,
    Reset,
    BlackHole,
    Delay,
    Expiry,
}

impl Fault {
    /// Returns false for a slow connection, which loses no change.
    fn makes_a_gap(self) -> bool {
        !matches!(self, Self::Delay)
    }
}

async fn disturb(reader: &Actor<'_>, writing: &Writing, fault: Fault) {
    let mut changes = reader.center.session_feed();
    reader.await_connected(&mut changes).await;
    writing.await_more_writes().await;
    match fault {
        Fault::Cut => {
            reader.cut_off(&mut changes).await;
            writing.await_more_writes().await;
            reader.bring_back(&mut changes).await;
        }
        Fault::Reset => {
            for _ in 0..3 {
                reader.flap(&mut changes).await;
                writing.await_more_writes().await;
            }
        }
        Fault::BlackHole => {
            reader.faults.black_hole().await;
            writing.await_more_writes().await;
            reader.await_suspended(&mut changes).await;
            reader.bring_back(&mut changes).await;
        }
        Fault::Delay => {
            reader.faults.slow_down().await;
            writing.await_more_writes().await;
            reader.faults.heal().await;
        }
        Fault::Expiry => {
            reader.renew(&mut changes).await;
        }
    }
    writing.await_more_writes().await;
}

async fn has_no_gap_across(stage: &Stage<'_>, fault: Fault) {
    has_no_gap(stage, &["/job"], fault).await;
}

/// Disturbs the reader while two clients write. In the end the reader's copy equals the registry.
async fn has_no_gap(stage: &Stage<'_>, parts: &[&str], fault: Fault) {
    let (reader, a, b) = (stage.actor().await, stage.actor().await, stage.actor().await);
    let mut mirror = Mirror::of_parts(&reader, "/job", parts);
    mirror.until(&reader, "the first snapshot", |_| true).await;
    let writing = Writing::default();
    let disturb = async {
        disturb(&reader, &writing, fault).await;
        writing.stop.store(true, Ordering::SeqCst);
    };
    join3(write_at_random(&a, 1, &writing), write_at_random(&b, 2, &writing), disturb).await;
    // Ephemeral nodes go with their owner, and no write of another client announces that.
    b.close().await;
    mirror.converge(&a).await;
    // The feed must stay alive after it has caught up: later changes arrive, too.
    a.commit(Txn::new().create(path("/job/last"), "", Lifetime::Persistent)).await;
    mirror.converge(&a).await;
    let n_snapshots = mirror.n_snapshots();
    let at_least = if fault.makes_a_gap() { 2 } else { 1 };
    holds!(
        n_snapshots >= at_least,
        n_snapshots,
        "at least {at_least} snapshots, because each gap needs a new one"
    );
}

pub(super) async fn a_feed_has_no_gap_across_a_cut(stage: &Stage<'_>) {
    has_no_gap_across(stage, Fault::Cut).await;
}

pub(super) async fn a_feed_has_no_gap_across_resets(stage: &Stage<'_>) {
    has_no_gap_across(stage, Fault::Reset).await;
}

pub(super) async fn a_feed_has_no_gap_across_a_black_hole(stage: &Stage<'_>) {
    has_no_gap_across(stage, Fault::BlackHole).await;
}

pub(super) async fn a_feed_has_no_gap_across_a_slow_connection(stage: &Stage<'_>) {
    has_no_gap_across(stage, Fault::Delay).await;
}

pub(super) async fn a_feed_has_no_gap_across_an_expiry(stage: &Stage<'_>) {
    has_no_gap_across(stage, Fault::Expiry).await;
}

pub(super) async fn a_feed_of_parts_has_no_gap_across_resets(stage: &Stage<'_>) {
    has_no_gap(stage, &["/job/a/x", "/job/c", "/job/instances", "/job/last"], Fault::Reset).await;
}

/// Catches a client that forgets its watches on reconnect: its feed delivers a snapshot and then
/// stays silent.
pub(super) async fn a_feed_delivers_changes_after_every_reconnect(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    let mut changes = reader.center.session_feed();
    reader.await_connected(&mut changes).await;
    writer.commit(Txn::new().create(path("/job/a"), "", Lifetime::Persistent)).await;
    let mut mirror = Mirror::of(&reader, "/job");
    mirror.until(&reader, "the first snapshot", |_| true).await;
    for round in 1..=4 {
        reader.flap(&mut changes).await;
        mirror.until(&reader, "a new snapshot", |mirror| mirror.n_snapshots() > round).await;
        writer.commit(Txn::new().put(path("/job/a"), round.to_string())).await;
        mirror.converge(&writer).await;
    }
}

pub(super) async fn a_feed_begun_without_a_connection_starts_on_connect(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    let mut changes = reader.center.session_feed();
    writer.commit(Txn::new().create(path("/job/a"), "", Lifetime::Persistent)).await;
    reader.cut_off(&mut changes).await;
    let mut mirror = Mirror::of(&reader, "/job");
    reader.bring_back(&mut changes).await;
    mirror.converge(&writer).await;
    writer.commit(Txn::new().put(path("/job/a"), "1")).await;
    mirror.converge(&writer).await;
}

/// Uses long names. A client that sets one watch per node cannot restore all of them in one request
/// after a reconnect.
pub(super) async fn a_feed_of_many_nodes_survives_a_reconnect(stage: &Stage<'_>) {
    survives_a_reconnect(stage, &["/job".to_owned()]).await;
}

/// Has as many parts as nodes, and thus as many watches if each part needs one.
pub(super) async fn a_feed_of_many_parts_survives_a_reconnect(stage: &Stage<'_>) {
    let parts: Vec<String> = (0..NODES).map(nth_path).collect();
    survives_a_reconnect(stage, &parts).await;
}

const NODES: usize = 3000;

fn nth_path(n: usize) -> String {
    format!("/job/{n:0>80}")
}

async fn survives_a_reconnect(stage: &Stage<'_>, parts: &[String]) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    let mut changes = reader.center.session_feed();
    let session = reader.await_connected(&mut changes).await;
    let at = |n: usize| path(&nth_path(n));
    let n_ops = writer.center.limits().max_ops.min(500);
    for chunk in (0..NODES).collect::<Vec<_>>().chunks(n_ops) {
        let txn =
            chunk.iter().fold(Txn::new(), |txn, n| txn.create(at(*n), "", Lifetime::Persistent));
        writer.commit(txn).await;
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut mirror = Mirror::of_parts(&reader, "/job", &parts);
    let n_nodes = if parts == ["/job"] { NODES + 1 } else { NODES };
    mirror.until(&reader, "the snapshot", |mirror| mirror.nodes().len() == n_nodes).await;
    equal!(reader.flap(&mut changes).await, session, "the session survives the reconnect");
    mirror.until(&reader, "a new snapshot", |mirror| mirror.n_snapshots() > 1).await;
    let last = at(NODES - 1);
    writer.commit(Txn::new().put(last.clone(), "changed")).await;
    mirror
        .until(&reader, "the change", |mirror| {
            mirror.get(last.as_str()).is_some_and(|node| node.data == "changed")
        })
        .await;
    equal!(mirror.nodes().len(), n_nodes);
}
