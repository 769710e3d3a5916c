//! Guarantee 2: all or nothing.

use futures_util::future::{join, join3};

use super::failure::{answered, equal, fail, fits, holds};
use super::stage::{Actor, Stage, path, yield_once};
use crate::{Conflict, ConflictReason, Error, Lifetime, NodePath, Txn, TxnOutcome, Version};

pub(super) async fn operations_of_every_kind_happen_together(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let setup = Txn::new()
        .create(path("/put"), "old", Lifetime::Persistent)
        .create(path("/put-if"), "old", Lifetime::Persistent)
        .create(path("/delete"), "", Lifetime::Persistent)
        .create(path("/delete-if"), "", Lifetime::Persistent);
    actor.commit(setup).await;
    let txn = Txn::new()
        .check_exists(path("/put"))
        .check_version(path("/put"), Version(0))
        .check_absent(path("/absent"))
        .create(path("/kept"), "1", Lifetime::Persistent)
        .create(path("/mine"), "2", Lifetime::Ephemeral)
        .put(path("/put"), "new")
        .put_if(path("/put-if"), Version(0), "new")
        .delete(path("/delete"))
        .delete_if(path("/delete-if"), Version(0));
    let committed = actor.commit(txn).await;
    equal!(committed.stats.len(), 9);
    let nodes = actor.tree("/").await;
    let found: Vec<_> = nodes.iter().map(|node| (node.path.as_str(), &node.data[..])).collect();
    let expected: [(&str, &[u8]); 5] =
        [("/", b""), ("/kept", b"1"), ("/mine", b"2"), ("/put", b"new"), ("/put-if", b"new")];
    equal!(found, expected);
    let revisions: Vec<_> = nodes[1..].iter().map(|node| node.stat.modified).collect();
    let shared = revisions.iter().all(|revision| *revision == revisions[0]);
    holds!(shared, revisions, "one revision of all nodes that the transaction wrote");
}

pub(super) async fn a_conflict_names_the_failed_expectation_and_changes_nothing(stage: &Stage<'_>) {
    use ConflictReason as Reason;

    let actor = stage.actor().await;
    let setup = Txn::new()
        .create(path("/a"), "1", Lifetime::Persistent)
        .create(path("/a/b"), "", Lifetime::Persistent)
        .create(path("/e"), "", Lifetime::Ephemeral);
    actor.commit(setup).await;
    let before = actor.tree("/").await;
    let put = || Txn::new().put(path("/a"), "2");
    let new = Lifetime::Persistent;
    let rows = [
        ("create: exists", put().create(path("/a/b"), "", new), 1, Reason::Exists),
        ("create: the root", put().create(NodePath::root(), "", new), 1, Reason::Exists),
        (
            "create: below ephemeral",
            put().create(path("/e/x"), "", new),
            1,
            Reason::EphemeralParent,
        ),
        (
            "create: two levels below ephemeral",
            put().create(path("/e/x/y"), "", new),
            1,
            Reason::EphemeralParent,
        ),
        (
            "create: twice",
            put().create(path("/c"), "", new).create(path("/c"), "", new),
            2,
            Reason::Exists,
        ),
        ("put: absent", put().put(path("/x"), ""), 1, Reason::Absent),
        ("put: parent absent", put().put(path("/x/y"), ""), 1, Reason::Absent),
        ("put: version", put().put_if(path("/a/b"), Version(7), ""), 1, Reason::VersionMismatch),
        ("put: absent, version", put().put_if(path("/x"), Version(0), ""), 1, Reason::Absent),
        ("delete: absent", put().delete(path("/x")), 1, Reason::Absent),
        ("delete: version", put().delete_if(path("/a/b"), Version(7)), 1, Reason::VersionMismatch),
        ("delete: children", put().delete(path("/a")), 1, Reason::HasChildren),
        (
            "delete: version before children",
            put().delete_if(path("/a"), Version(7)),
            1,
            Reason::VersionMismatch,
        ),
        ("check: absent", put().check_exists(path("/x")), 1, Reason::Absent),
        (
            "check: version",
            put().check_version(path("/a/b"), Version(7)),
            1,
            Reason::VersionMismatch,
        ),
        (
            "check: a version that no node reaches",
            put().check_version(path("/a/b"), Version(u32::MAX)),
            1,
            Reason::VersionMismatch,
        ),
        ("check absent: exists", put().check_absent(path("/e")), 1, Reason::Exists),
        ("check absent: the root", put().check_absent(path("/")), 1, Reason::Exists),
        (
            "check absent: own creation",
            put().create(path("/c"), "", new).check_absent(path("/c")),
            2,
            Reason::Exists,
        ),
        (
            "check: own write is seen",
            put().check_version(path("/a"), Version(0)),
            1,
            Reason::VersionMismatch,
        ),
        (
            "two failing checks: the first one is reported",
            put().check_exists(path("/x")).check_absent(path("/a")),
            1,
            Reason::Absent,
        ),
        ("put as the only operation", Txn::new().put(path("/x"), ""), 0, Reason::Absent),
        ("create as the only operation", Txn::new().create(path("/a"), "", new), 0, Reason::Exists),
        ("delete as the only operation", Txn::new().delete(path("/a")), 0, Reason::HasChildren),
    ];
    for (case, txn, index, reason) in rows {
        let expected = TxnOutcome::Conflict(Conflict { index, reason });
        equal!(actor.outcome(txn).await, expected, "{case}");
        equal!(actor.tree("/").await, before, "{case}");
    }
}

pub(super) async fn an_operation_sees_those_before_it(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let txn = Txn::new()
        .check_absent(path("/a"))
        .create(path("/a"), "0", Lifetime::Persistent)
        .check_version(path("/a"), Version(0))
        .put(path("/a"), "1")
        .put_if(path("/a"), Version(1), "2")
        .check_version(path("/a"), Version(2))
        .create(path("/a/b"), "", Lifetime::Persistent)
        .delete(path("/a/b"))
        .check_absent(path("/a/b"))
        .delete_if(path("/a"), Version(2))
        .create(path("/a"), "again", Lifetime::Persistent);
    actor.commit(txn).await;
    let node = actor.node("/a").await;
    equal!((&node.data[..], node.stat.version), (&b"again"[..], Version(0)));
}

pub(super) async fn a_transaction_without_operations_commits(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let before = actor.tree("/").await;
    equal!(actor.commit(Txn::new()).await.stats, [], "the stats of no operations");
    equal!(actor.tree("/").await, before);
}

pub(super) async fn the_root_exists_and_cannot_be_deleted(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    equal!(actor.node("/").await.stat.owner, None);
    let txn = Txn::new().create(path("/a"), "", Lifetime::Persistent).delete(NodePath::root());
    let refused = actor.try_commit(txn).await;
    fits!(refused, Err(Error::Rejected { .. }), "deletion of the root");
    equal!(actor.read("/a").await, None);
    fits!(actor.read("/").await, Some(_), "the root");
}

/// Increments the counter `share` times by compare-and-set and returns the number of conflicts.
async fn count_up(actor: &Actor<'_>, share: u32) -> u32 {
    let mut lost = 0;
    let mut done = 0;
    while done < share {
        let node = actor.node("/counter").await;
        yield_once().await;
        let count = std::str::from_utf8(&node.data).ok().and_then(|text| text.parse::<u32>().ok());
        let count = count.unwrap_or_else(|| {
            fail("the data of the counter", "a number", format_args!("{:?}", node.data))
        });
        let txn = Txn::new().put_if(node.path, node.stat.version, (count + 1).to_string());
        match actor.outcome(txn).await {
            TxnOutcome::Committed(_) => done += 1,
            TxnOutcome::Conflict(conflict) => {
                equal!(conflict.reason, ConflictReason::VersionMismatch);
                lost += 1;
            }
        }
    }
    lost
}

pub(super) async fn concurrent_compare_and_sets_lose_no_update(stage: &Stage<'_>) {
    const SHARE: u32 = 40;
    let (a, b, c) = (stage.actor().await, stage.actor().await, stage.actor().await);
    a.commit(Txn::new().create(path("/counter"), "0", Lifetime::Persistent)).await;
    for actor in [&b, &c] {
        actor.sync().await;
    }
    let (a_lost, b_lost, c_lost) =
        join3(count_up(&a, SHARE), count_up(&b, SHARE), count_up(&c, SHARE)).await;
    a.sync().await;
    let node = a.node("/counter").await;
    equal!(node.data, (3 * SHARE).to_string());
    equal!(node.stat.version, Version(3 * SHARE), "each success is one write");
    let lost = a_lost + b_lost + c_lost;
    holds!(lost > 0, lost, "at least one conflict of three concurrent clients");
}

pub(super) async fn one_of_two_concurrent_creations_of_a_node_wins(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    for round in 0..20 {
        let at = path(&format!("/leader-{round}"));
        let elect = || Txn::new().create(at.clone(), "", Lifetime::Ephemeral);
        let both = join(a.center.commit(elect()), b.center.commit(elect()));
        let (by_a, by_b) = stage.within("both transactions are answered", both).await;
        let won = [by_a, by_b].map(|outcome| answered("commit", outcome).is_committed());
        holds!(won[0] != won[1], won, "round {round}: one commit and one conflict");
    }
}
