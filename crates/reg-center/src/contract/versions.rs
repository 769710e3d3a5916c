//! Guarantee 4: versions and revisions.

use std::collections::BTreeMap;

use futures_util::future::join;

use super::failure::{equal, fail, fits, holds};
use super::prng::Prng;
use super::stage::{Actor, Stage, path};
use crate::{Lifetime, Revision, Txn, TxnOutcome, Version};

pub(super) async fn each_write_raises_the_version_by_one_and_takes_a_greater_revision(
    stage: &Stage<'_>,
) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(Txn::new().create(path("/n"), "0", Lifetime::Persistent)).await;
    let first = a.node("/n").await.stat;
    equal!((first.version, first.modified), (Version(0), first.created));
    let mut last = first;
    for round in 1..=10 {
        let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        writer.commit(Txn::new().put(path("/n"), round.to_string())).await;
        reader.sync().await;
        let stat = reader.node("/n").await.stat;
        equal!(stat.version, Version(round));
        equal!(stat.created, first.created);
        holds!(
            stat.modified > last.modified,
            stat.modified,
            "a revision greater than {}",
            last.modified
        );
        last = stat;
    }
    // A write to another node has a later revision than all of them, too.
    a.commit(Txn::new().create(path("/m"), "", Lifetime::Persistent)).await;
    let created = a.node("/m").await.stat.created;
    holds!(created > last.modified, created, "a revision greater than {}", last.modified);
}

pub(super) async fn a_commit_returns_the_stats_that_a_read_shows(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let rows = [
        ("create", Txn::new().create(path("/a"), "", Lifetime::Persistent)),
        ("ephemeral", Txn::new().create(path("/e"), "", Lifetime::Ephemeral)),
        ("below missing parents", Txn::new().create(path("/x/y/z"), "", Lifetime::Persistent)),
        ("put", Txn::new().put(path("/a"), "1")),
        ("two puts", Txn::new().put(path("/a"), "2").put(path("/e"), "2")),
        ("mixed", Txn::new().create(path("/b"), "", Lifetime::Persistent).put(path("/a"), "3")),
        ("checked", Txn::new().check_exists(path("/b")).put(path("/a"), "4").delete(path("/b"))),
    ];
    for (case, txn) in rows {
        let ops = txn.ops().to_vec();
        let committed = actor.commit(txn).await;
        equal!(committed.stats.len(), ops.len(), "{case}");
        for (op, returned) in ops.iter().zip(&committed.stats) {
            let node = actor.read(op.path().as_str()).await;
            if let Some(returned) = returned {
                equal!(Some(*returned), node.map(|node| node.stat), "{case}: {op}");
                equal!(
                    committed.revision.unwrap_or(returned.modified),
                    returned.modified,
                    "{case}: {op}"
                );
            }
        }
        if let Some(put) = ops.iter().position(|op| op.name() == "put") {
            fits!(committed.stats[put], Some(_), "{case}: the stat of a put");
            fits!(committed.revision, Some(_), "{case}: the revision of a transaction with a put");
        }
    }
}

pub(super) async fn a_recreated_node_starts_at_version_zero_with_a_new_creation_revision(
    stage: &Stage<'_>,
) {
    let actor = stage.actor().await;
    let create = || Txn::new().create(path("/n"), "", Lifetime::Persistent);
    actor.commit(create()).await;
    actor.commit(Txn::new().put(path("/n"), "x")).await;
    let old = actor.node("/n").await.stat;
    actor.commit(Txn::new().delete(path("/n"))).await;
    actor.commit(create()).await;
    let new = actor.node("/n").await.stat;
    equal!((old.version, new.version), (Version(1), Version(0)));
    holds!(new.created > old.modified, new, "a creation revision greater than {}", old.modified);
    equal!(new.modified, new.created, "the revision of the last write of a new node");
}

/// Documents a trap: a recreated node has the same version as before, so a version check passes
/// wrongly. A guard must check a node that is never created twice.
pub(super) async fn a_version_check_cannot_detect_that_a_node_was_recreated(stage: &Stage<'_>) {
    let (old, new) = (stage.actor().await, stage.actor().await);
    let elect = |name: &'static str| Txn::new().create(path("/leader"), name, Lifetime::Ephemeral);
    old.commit(elect("old")).await;
    let seen = old.node("/leader").await.stat;
    new.commit(Txn::new().delete(path("/leader"))).await;
    new.commit(elect("new")).await;
    let by_version = Txn::new().check_version(path("/leader"), seen.version).create(
        path("/by-version"),
        "",
        Lifetime::Persistent,
    );
    fits!(
        old.outcome(by_version).await,
        TxnOutcome::Committed(_),
        "a version check of a node that was recreated with the same version"
    );

    let term = Txn::new().create(path("/terms/old-1"), "", Lifetime::Ephemeral);
    old.commit(term).await;
    new.commit(Txn::new().delete(path("/terms/old-1"))).await;
    let by_own_node = Txn::new().check_exists(path("/terms/old-1")).create(
        path("/by-own-node"),
        "",
        Lifetime::Persistent,
    );
    fits!(
        old.outcome(by_own_node).await,
        TxnOutcome::Conflict(_),
        "a check of a deleted node with a unique name"
    );
}

pub(super) async fn all_nodes_of_a_transaction_share_one_revision(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut last = Revision(0);
    for round in 0..5 {
        let txn = (0..10).fold(Txn::new(), |txn, n| {
            txn.create(path(&format!("/{round}/{n}")), "", Lifetime::Persistent)
        });
        actor.commit(txn).await;
        let nodes = actor.tree(&format!("/{round}")).await;
        equal!(nodes.len(), 11);
        let revision = nodes[0].stat.created;
        let shared = nodes.iter().all(|node| node.stat.created == revision);
        holds!(shared, nodes, "the creation revision {revision} in all nodes");
        holds!(revision > last, revision, "a revision greater than {last}");
        last = revision;
    }
}

const TREES: [&str; 3] = ["/one", "/two", "/three"];

/// The revisions of writes, by tree and by the version of the tree's counter after the write.
type Order = BTreeMap<(&'static str, Version), Revision>;

/// Writes to the counters of one tree or two trees at a time.
async fn count(actor: &Actor<'_>, seed: u64) -> Order {
    let mut prng = Prng::new(seed);
    let (mut order, mut last) = (Order::new(), Revision(0));
    for _ in 0..60 {
        let (first, second) = (prng.pick(&TREES), prng.pick(&TREES));
        let trees = if first == second { vec![first] } else { vec![first, second] };
        let put = |txn: Txn, tree: &&str| txn.put(path(&format!("{tree}/n")), "");
        let committed = actor.commit(trees.iter().fold(Txn::new(), put)).await;
        let Some(revision) = committed.revision else {
            fail("the revision of a put", "a revision", "none")
        };
        holds!(revision > last, revision, "more than {last}, which was answered before");
        last = revision;
        for (tree, stat) in trees.iter().zip(&committed.stats) {
            let Some(stat) = stat else { fail("the stat of a put", "a stat", "none") };
            let twice = order.insert((*tree, stat.version), revision);
            equal!(twice, None, "an earlier write of {tree} with version {:?}", stat.version);
        }
    }
    order
}

/// Catches a registry that takes the revision before it waits for the writes of the same tree.
pub(super) async fn revisions_agree_with_the_order_of_concurrent_writes_in_each_tree(
    stage: &Stage<'_>,
) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    let create =
        |txn: Txn, tree: &&str| txn.create(path(&format!("{tree}/n")), "", Lifetime::Persistent);
    a.commit(TREES.iter().fold(Txn::new(), create)).await;
    let both = join(count(&a, 1), count(&b, 2));
    let (mut order, other) = stage.within("the writes are answered", both).await;
    order.extend(other);
    // The key orders the writes of a tree by the version of its counter.
    let writes: Vec<_> = order.into_iter().collect();
    for pair in writes.windows(2) {
        let [((tree, version), revision), ((next_tree, _), next)] = pair else { continue };
        holds!(
            tree != next_tree || revision < next,
            next,
            "more than {revision}, that of the write before in {tree}, with version {version:?}"
        );
    }
}
