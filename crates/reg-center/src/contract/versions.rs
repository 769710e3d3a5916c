//! Guarantee 4: versions and revisions.

use super::stage::{Stage, path};
use crate::{Lifetime, Revision, Txn, Version};

pub(super) async fn each_write_raises_the_version_by_one_and_takes_a_greater_revision(
    stage: &Stage<'_>,
) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(Txn::new().create(path("/n"), "0", Lifetime::Persistent)).await;
    let first = a.node("/n").await.stat;
    assert_eq!((first.version, first.modified), (Version(0), first.created));
    let mut last = first;
    for round in 1..=10 {
        let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        writer.commit(Txn::new().put(path("/n"), round.to_string())).await;
        reader.sync().await;
        let stat = reader.node("/n").await.stat;
        assert_eq!(stat.version, Version(round));
        assert_eq!(stat.created, first.created);
        assert!(stat.modified > last.modified, "{stat:?} after {last:?}");
        last = stat;
    }
    // A write elsewhere is later than all of them, too.
    a.commit(Txn::new().create(path("/m"), "", Lifetime::Persistent)).await;
    assert!(a.node("/m").await.stat.created > last.modified);
}

pub(super) async fn what_a_commit_tells_is_what_a_read_shows(stage: &Stage<'_>) {
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
        assert_eq!(committed.stats.len(), ops.len(), "{case}");
        for (op, told) in ops.iter().zip(&committed.stats) {
            let node = actor.read(op.path().as_str()).await;
            if let Some(told) = told {
                assert_eq!(Some(*told), node.map(|node| node.stat), "{case}: {op}");
                assert_eq!(
                    committed.revision.unwrap_or(told.modified),
                    told.modified,
                    "{case}: {op}"
                );
            }
        }
        if let Some(put) = ops.iter().position(|op| op.name() == "put") {
            assert!(committed.stats[put].is_some(), "{case}: a put is told of");
            assert!(committed.revision.is_some(), "{case}: its revision, too");
        }
    }
}

pub(super) async fn a_node_created_again_starts_at_version_zero_with_another_creation(
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
    assert_eq!((old.version, new.version), (Version(1), Version(0)));
    assert!(new.created > old.modified && new.modified == new.created, "{new:?} after {old:?}");
}

/// The trap that the version check of a recreated node is: it cannot tell the lives of a node apart, so that a
/// guard must be a node that is never created twice.
pub(super) async fn a_version_does_not_tell_two_lives_of_a_node_apart(stage: &Stage<'_>) {
    let (old, new) = (stage.actor().await, stage.actor().await);
    let stand = |name: &'static str| Txn::new().create(path("/leader"), name, Lifetime::Ephemeral);
    old.commit(stand("old")).await;
    let seen = old.node("/leader").await.stat;
    new.commit(Txn::new().delete(path("/leader"))).await;
    new.commit(stand("new")).await;
    let by_version = Txn::new().check_version(path("/leader"), seen.version).create(
        path("/by-version"),
        "",
        Lifetime::Persistent,
    );
    assert!(old.outcome(by_version).await.is_committed(), "the trap");

    let mine = Txn::new().create(path("/terms/old-1"), "", Lifetime::Ephemeral);
    old.commit(mine).await;
    new.commit(Txn::new().delete(path("/terms/old-1"))).await;
    let by_own_node = Txn::new().check_exists(path("/terms/old-1")).create(
        path("/by-own-node"),
        "",
        Lifetime::Persistent,
    );
    assert!(!old.outcome(by_own_node).await.is_committed(), "a node of one's own does fence");
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
        assert_eq!(nodes.len(), 11);
        let revision = nodes[0].stat.created;
        assert!(nodes.iter().all(|node| node.stat.created == revision), "{nodes:?}");
        assert!(revision > last);
        last = revision;
    }
}
