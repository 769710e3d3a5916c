//! Guarantee 10: read your writes, and after a sync the writes of all clients.

use super::failure::{answered, equal, fail, holds};
use super::stage::{Stage, path};
use crate::{Change, Lifetime, Node, Txn};

pub(super) async fn a_read_sees_writes_of_the_same_client(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.await_connected(&mut changes).await;
    actor.commit(Txn::new().create(path("/n"), "", Lifetime::Persistent)).await;
    for round in 0..60 {
        let data = round.to_string();
        actor.commit(Txn::new().put(path("/n"), data.clone())).await;
        match round {
            20 => drop(actor.flap(&mut changes).await),
            40 => drop(actor.renew(&mut changes).await),
            _ => {}
        }
        equal!(actor.node("/n").await.data, data);
        let name = format!("c{round}");
        let at = path("/n").join(&name).expect("a name");
        actor.commit(Txn::new().create(at, "", Lifetime::Persistent)).await;
        let names = actor.children(&path("/n")).await;
        holds!(names.iter().flatten().any(|child| *child == name), names, "the new child {name}");
    }
}

pub(super) async fn after_a_sync_a_read_sees_writes_of_other_clients(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(Txn::new().create(path("/n"), "", Lifetime::Persistent)).await;
    for round in 0..50 {
        let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        writer.commit(Txn::new().put(path("/n"), round.to_string())).await;
        reader.sync().await;
        equal!(reader.node("/n").await.data, round.to_string());
    }
}

pub(super) async fn read_all_returns_nodes_in_the_order_of_the_paths(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let none = stage.within("the empty read is answered", actor.center.read_all(&[])).await;
    equal!(answered("read_all", none), [], "a read of no paths");
    let paths: Vec<_> = (0..450).rev().map(|n| path(&format!("/many-{n}"))).collect();
    for some in paths.chunks(50) {
        // Every second node exists.
        let existing = some.iter().step_by(2);
        let txn = existing.fold(Txn::new(), |txn, path| {
            txn.create(path.clone(), path.as_str().to_owned(), Lifetime::Persistent)
        });
        actor.commit(txn).await;
    }
    let read = stage.within("all nodes are read", actor.center.read_all(&paths)).await;
    let read = answered("read_all", read);
    equal!(read.len(), paths.len());
    for (n, (path, node)) in paths.iter().zip(&read).enumerate() {
        let data = node.as_ref().map(|node| (node.path.clone(), node.data.to_vec()));
        let expected = (n % 2 == 0).then(|| (path.clone(), path.as_str().as_bytes().to_vec()));
        equal!(data, expected);
        let alone = actor.center.read(path);
        let alone = answered("read", stage.within("one node is read", alone).await);
        equal!(*node, alone, "{path}, as read_all returns it");
    }
}

pub(super) async fn the_registry_returns_a_monotonic_time_or_none(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let probe = path("/clock/probe");
    let mut last = None;
    for round in 0..3 {
        let asked =
            stage.within("the registry returns its time", actor.center.registry_time(&probe)).await;
        let time = answered("registry_time", asked);
        holds!(last <= time, time, "round {round}: a time that is not before {last:?}");
        last = time;
    }
}

pub(super) async fn the_time_of_a_reply_is_the_registrys(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let probe = path("/clock/probe");
    let ask = async || {
        let asked =
            stage.within("the registry returns its time", actor.center.registry_time(&probe)).await;
        answered("registry_time", asked)
    };
    let before = ask().await;
    let written = Txn::new().create(path("/n"), "", Lifetime::Persistent);
    actor.commit(written).await;
    let reading = actor.center.clock_reading();
    let after = ask().await;
    let Some(reading) = reading else { return };
    holds!(before.is_some_and(|before| before <= reading.time), reading, "a time after {before:?}");
    holds!(after.is_some_and(|after| reading.time <= after), reading, "a time before {after:?}");
    holds!(reading.since_received <= reading.since_sent, reading, "a reply after its request");
}

pub(super) async fn a_node_carries_the_registrys_time_of_its_last_write(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let probe = path("/clock/probe");
    let ask = async || {
        let asked =
            stage.within("the registry returns its time", actor.center.registry_time(&probe)).await;
        answered("registry_time", asked)
    };
    actor.commit(Txn::new().create(path("/n"), "", Lifetime::Persistent)).await;
    let before = ask().await;
    actor.commit(Txn::new().put(path("/n"), "newer")).await;
    let after = ask().await;
    let mut feed = actor.center.watch(&path("/n"));
    let mut listed: Vec<Node> = Vec::new();
    loop {
        match stage.within("the node is listed", feed.next()).await {
            Some(Change::Entry(node)) => listed.push(node),
            Some(Change::Ready) => break,
            Some(Change::Init) => {}
            other => {
                fail("the order of a snapshot", "Init, entries, Ready", format_args!("{other:?}"))
            }
        }
    }
    equal!(listed.len(), 1, "number of nodes in the snapshot");
    let read = actor.node("/n").await;
    let all = stage.within("the node is read", actor.center.read_all(&[path("/n")])).await;
    let all = answered("read_all", all).into_iter().flatten();
    for node in listed.into_iter().chain([read]).chain(all) {
        let written = node.stat.modified_at;
        equal!(
            written.is_some(),
            before.is_some(),
            "both have a time or neither: {written:?}, {before:?}"
        );
        let between = before <= written && written <= after;
        holds!(between, written, "a time between {before:?} and {after:?}");
    }
}
