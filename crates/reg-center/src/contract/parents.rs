//! Guarantee 5: missing parents are created.

use futures_util::future::join;

use super::failure::{equal, fail, fits};
use super::stage::{Actor, Stage, path};
use crate::{ConflictReason, Lifetime, Txn, TxnOutcome, Version};

async fn paths(actor: &Actor<'_>, root: &str) -> Vec<String> {
    actor.tree(root).await.iter().map(|node| node.path.to_string()).collect()
}

pub(super) async fn missing_parents_are_created_persistent_and_empty(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let txn = Txn::new()
        .create(path("/a/b/c/d"), "x", Lifetime::Ephemeral)
        .create(path("/a/b/e"), "y", Lifetime::Persistent)
        .create(path("/f/g"), "z", Lifetime::Persistent);
    actor.commit(txn).await;
    equal!(
        paths(&actor, "/").await,
        ["/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/e", "/f", "/f/g"]
    );
    for parent in ["/a", "/a/b", "/a/b/c", "/f"] {
        let node = actor.node(parent).await;
        equal!((&node.data[..], node.stat.owner), (&b""[..], None), "{parent}");
        equal!(node.stat.version, Version(0), "{parent}");
    }
}

pub(super) async fn parents_are_created_in_the_order_of_operations(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let new = Lifetime::Persistent;
    let absent = |at: &str| Txn::new().check_absent(path(at));
    actor.commit(absent("/a").create(path("/a/b"), "", new)).await;
    actor.commit(absent("/x/y").check_absent(path("/x")).create(path("/x/z"), "", new)).await;
    equal!(paths(&actor, "/x").await, ["/x", "/x/z"]);
    actor
        .commit(absent("/u").create(path("/u/v/w"), "", new).create(path("/u/v/x"), "", new))
        .await;
    equal!(paths(&actor, "/u").await, ["/u", "/u/v", "/u/v/w", "/u/v/x"]);
    actor
        .commit(Txn::new().delete(path("/x/z")).delete(path("/x")).create(path("/x/w"), "", new))
        .await;
    equal!(paths(&actor, "/x").await, ["/x", "/x/w"]);
    actor.commit(Txn::new().create(path("/p"), "own", new).create(path("/p/q"), "", new)).await;
    equal!(actor.node("/p").await.data, "own");
    // The first operation creates the parent, so that the second one conflicts with it.
    let outcome =
        actor.outcome(Txn::new().create(path("/m/n"), "", new).create(path("/m"), "", new)).await;
    match outcome {
        TxnOutcome::Conflict(conflict) => {
            equal!((conflict.index, conflict.reason), (1, ConflictReason::Exists));
        }
        TxnOutcome::Committed(_) => {
            fail("creation of /m after /m/n", "a conflict: /m exists", "a commit")
        }
    }
}

pub(super) async fn parents_are_not_created_if_the_transaction_conflicts(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let rows = [
        (
            "failing check before the creation",
            Txn::new().check_exists(path("/no")).create(path("/a/b/c"), "", Lifetime::Persistent),
        ),
        (
            "failing check after the creation",
            Txn::new().create(path("/a/b/c"), "", Lifetime::Persistent).check_exists(path("/no")),
        ),
    ];
    for (case, txn) in rows {
        fits!(actor.outcome(txn).await, TxnOutcome::Conflict(_), "{case}");
        equal!(paths(&actor, "/").await, ["/"], "{case}");
    }
}

pub(super) async fn absence_is_checked_below_missing_and_ephemeral_parents(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    actor.commit(Txn::new().create(path("/e"), "", Lifetime::Ephemeral)).await;
    let txn = Txn::new()
        .check_absent(path("/x/y/z"))
        .check_absent(path("/e/x"))
        .check_absent(path("/e/x/y"))
        .put(path("/e"), "seen");
    actor.commit(txn).await;
    equal!(paths(&actor, "/").await, ["/", "/e"], "a check leaves no node behind");
    equal!(actor.node("/e").await.data, "seen");
}

pub(super) async fn concurrent_transactions_with_the_same_missing_parents_both_commit(
    stage: &Stage<'_>,
) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    for round in 0..20 {
        let create = |name: &str| {
            Txn::new().create(path(&format!("/{round}/p/q/{name}")), "", Lifetime::Persistent)
        };
        let both = join(a.center.commit(create("a")), b.center.commit(create("b")));
        let (by_a, by_b) = stage.within("both transactions are answered", both).await;
        for outcome in [by_a, by_b] {
            fits!(
                outcome,
                Ok(TxnOutcome::Committed(_)),
                "round {round}: two creations below the same missing parents"
            );
        }
    }
}
