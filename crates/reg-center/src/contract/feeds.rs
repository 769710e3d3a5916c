//! Guarantee 9: the feed, without faults.

use std::collections::BTreeSet;

use super::failure::{equal, fail};
use super::mirror::Mirror;
use super::stage::{Actor, Stage, path};
use crate::{Change, Lifetime, Txn};

async fn put(actor: &Actor<'_>, at: &str, data: &str) {
    actor.commit(Txn::new().put(path(at), data.to_owned())).await;
}

async fn create(actor: &Actor<'_>, at: &str) {
    actor.commit(Txn::new().create(path(at), "", Lifetime::Persistent)).await;
}

pub(super) async fn a_feed_begins_with_a_snapshot_of_the_subtree(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    for at in ["/job/config", "/job/servers/1", "/job-2/config", "/jobs"] {
        create(&actor, at).await;
    }
    let mut feed = actor.feed("/job");
    let mut entries = Vec::new();
    equal!(stage.within("the first change", feed.next()).await, Some(Change::Init));
    loop {
        match stage.within("the snapshot", feed.next()).await {
            Some(Change::Entry(node)) => entries.push(node),
            Some(Change::Ready) => break,
            other @ (Some(Change::Init | Change::Put(_) | Change::Gone { .. }) | None) => fail(
                "the order of a snapshot",
                "Entry or Ready after Init",
                format_args!("{other:?}"),
            ),
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    equal!(entries, actor.tree("/job").await);
    equal!(entries.len(), 4, "the root is included, nodes that share its prefix are not");
}

pub(super) async fn changes_of_every_kind_are_delivered(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    create(&writer, "/job/a").await;
    let mut mirror = Mirror::of(&reader, "/job");
    mirror.converge(&writer).await;
    let steps = [
        ("create", Txn::new().create(path("/job/b"), "1", Lifetime::Persistent)),
        ("with parents", Txn::new().create(path("/job/x/y/z"), "1", Lifetime::Persistent)),
        ("ephemeral", Txn::new().create(path("/job/e"), "", Lifetime::Ephemeral)),
        ("put", Txn::new().put(path("/job/b"), "2")),
        ("the same data again", Txn::new().put(path("/job/b"), "2")),
        ("the root itself", Txn::new().put(path("/job"), "root")),
        ("delete", Txn::new().delete(path("/job/a"))),
        (
            "delete and create",
            Txn::new().delete(path("/job/b")).create(path("/job/b"), "2", Lifetime::Persistent),
        ),
        ("check only", Txn::new().check_absent(path("/job/q")).put(path("/job/b"), "3")),
    ];
    for (step, txn) in steps {
        writer.commit(txn).await;
        mirror.converge(&writer).await;
        equal!(
            mirror.has_seen("/job/q"),
            false,
            "{step}: the feed delivers /job/q, which never existed"
        );
    }
    writer.close().await;
    mirror
        .until(&reader, "the ephemeral node of the writer goes", |mirror| {
            mirror.get("/job/e").is_none()
        })
        .await;
    mirror.converge(&reader).await;
    equal!(mirror.n_snapshots(), 1, "without a gap there is no second snapshot");
}

pub(super) async fn the_end_of_a_short_lived_node_is_delivered(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    create(&writer, "/job/config").await;
    let mut feed = reader.feed("/job");
    while stage.within("the snapshot", feed.next()).await != Some(Change::Ready) {}
    let names: Vec<_> = (0..50).map(|n| path(&format!("/job/mark/{n}"))).collect();
    let write = async {
        for at in &names {
            writer.commit(Txn::new().create(at.clone(), "", Lifetime::Ephemeral)).await;
            writer.commit(Txn::new().delete(at.clone())).await;
        }
    };
    let read = async {
        let mut gone = BTreeSet::new();
        while gone.len() < names.len() {
            match stage.within("the end of each node", feed.next()).await {
                Some(Change::Gone { path, .. }) => drop(gone.insert(path)),
                Some(_) => {}
                None => fail("the feed", "changes", "its end"),
            }
        }
        gone
    };
    let ((), gone) = futures_util::future::join(write, read).await;
    equal!(gone, names.iter().cloned().collect());
}

pub(super) async fn a_root_may_be_created_and_deleted(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    let mut mirror = Mirror::of(&reader, "/job");
    mirror.until(&reader, "an empty snapshot", |mirror| mirror.nodes().is_empty()).await;
    for round in 0..3 {
        create(&writer, "/job/a").await;
        mirror.converge(&writer).await;
        equal!(mirror.nodes().len(), 2, "round {round}");
        writer.commit(Txn::new().delete(path("/job/a")).delete(path("/job"))).await;
        mirror.until(&reader, "all nodes are gone", |mirror| mirror.nodes().is_empty()).await;
    }
}

pub(super) async fn the_final_state_is_delivered_even_if_states_are_skipped(stage: &Stage<'_>) {
    const WRITES: u32 = 300;
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    create(&writer, "/job/a").await;
    create(&writer, "/job/b").await;
    let mut reading = Mirror::of(&reader, "/job");
    let mut idle = Mirror::of(&reader, "/job");
    idle.converge(&writer).await;
    let write = async {
        for n in 1..=WRITES {
            put(&writer, "/job/a", &n.to_string()).await;
            if n % 3 == 0 {
                let txn = Txn::new().delete(path("/job/b"));
                writer
                    .commit(txn.create(path("/job/b"), n.to_string(), Lifetime::Persistent))
                    .await;
            }
        }
    };
    let last = WRITES.to_string();
    let read = reading.until(&reader, "the last write", |mirror| {
        ["/job/a", "/job/b"].iter().all(|at| mirror.get(at).is_some_and(|n| n.data == last))
    });
    futures_util::future::join(write, read).await;
    reading.converge(&writer).await;
    idle.converge(&writer).await;
}

pub(super) async fn feeds_with_overlapping_roots_are_independent(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    create(&writer, "/job/config/a").await;
    let roots = ["/", "/job", "/job", "/job/config", "/job/config/a"];
    let mut mirrors: Vec<_> = roots.iter().map(|root| Mirror::of(&reader, root)).collect();
    // The feeds are dropped one by one, the widest first. The remaining feeds miss nothing.
    for round in 0..roots.len() {
        put(&writer, "/job/config/a", &round.to_string()).await;
        create(&writer, &format!("/job/{round}")).await;
        create(&writer, &format!("/job/config/{round}")).await;
        for mirror in &mut mirrors {
            mirror.converge(&writer).await;
            equal!(mirror.n_snapshots(), 1, "round {round}");
        }
        drop(mirrors.remove(0));
    }
}

pub(super) async fn a_second_feed_on_the_same_root_is_complete(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    create(&writer, "/job/a").await;
    for round in 0..30 {
        // The old feed is dropped while the new one begins. Neither may cancel the other's
        // subscription.
        let old = Mirror::of(&reader, "/job");
        let mut new = Mirror::of(&reader, "/job");
        drop(old);
        put(&writer, "/job/a", &round.to_string()).await;
        new.converge(&writer).await;
        put(&writer, "/job/a", &format!("{round} again")).await;
        new.converge(&writer).await;
    }
}

pub(super) async fn a_feed_of_parts_delivers_the_changes_of_its_parts(stage: &Stage<'_>) {
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    for at in
        ["/job/config", "/job/sharding/1/instance", "/job/sharding/2/instance", "/job/ledger/1"]
    {
        create(&writer, at).await;
    }
    let parts = ["/job/config", "/job/sharding/1", "/job/sharding/1/instance", "/job/ledger/3"];
    let mut mirror = Mirror::of_parts(&reader, "/job", &parts);
    let mut whole = Mirror::of_parts(&reader, "/job", &["/job/config", "/job"]);
    let mut nothing = Mirror::of_parts(&reader, "/job", &[]);
    mirror.converge(&writer).await;
    equal!(mirror.nodes().len(), 3);
    let steps = [
        ("within a part", Txn::new().put(path("/job/sharding/1/instance"), "1")),
        (
            "below a part",
            Txn::new().create(path("/job/sharding/1/running"), "", Lifetime::Ephemeral),
        ),
        (
            "a part that did not exist",
            Txn::new().create(path("/job/ledger/3"), "1", Lifetime::Persistent),
        ),
        ("outside the parts", Txn::new().put(path("/job/sharding/2/instance"), "1")),
        (
            "two parts and other nodes",
            Txn::new()
                .put(path("/job/config"), "1")
                .put(path("/job/ledger/1"), "1")
                .put(path("/job/ledger/3"), "2"),
        ),
        ("a part is deleted", Txn::new().delete(path("/job/ledger/3"))),
        (
            "a part is created again",
            Txn::new().create(path("/job/ledger/3/x"), "3", Lifetime::Persistent),
        ),
    ];
    for (step, txn) in steps {
        writer.commit(txn).await;
        for mirror in [&mut mirror, &mut whole, &mut nothing] {
            mirror.converge(&writer).await;
            equal!(mirror.n_snapshots(), 1, "{step}");
        }
    }
    let outside = "/job/sharding/2/instance";
    equal!(whole.has_seen(outside), true, "the feed of /job delivers {outside}");
    equal!(nothing.nodes(), [], "the nodes of a feed without parts");
}

pub(super) async fn a_snapshot_of_many_nodes_is_complete(stage: &Stage<'_>) {
    const FOLDERS: usize = 30;
    const NODES: usize = 100;
    let (reader, writer) = (stage.actor().await, stage.actor().await);
    for folder in 0..FOLDERS {
        let txn = (0..NODES).fold(Txn::new(), |txn, n| {
            txn.create(path(&format!("/job/{folder}/{n}")), n.to_string(), Lifetime::Persistent)
        });
        writer.commit(txn).await;
    }
    let mut mirror = Mirror::of(&reader, "/job");
    mirror.until(&reader, "the snapshot", |_| true).await;
    equal!(mirror.nodes().len(), 1 + FOLDERS * (NODES + 1));
    mirror.converge(&writer).await;
}
