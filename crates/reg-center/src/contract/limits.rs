//! Guarantee 11: limits are checked before sending.

use super::failure::{equal, holds};
use super::stage::{Stage, path};
use crate::{Error, Lifetime, Txn};

pub(super) async fn a_transaction_over_the_limit_fails_with_size_and_limit(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let limits = actor.center.limits();
    let ops = limits.max_ops + 1;
    let many = (0..ops).fold(Txn::new(), |txn, _| txn.check_exists(path("/")));
    let expected = Error::TooLarge { unit: "operations", size: ops, limit: limits.max_ops };
    equal!(actor.try_commit(many).await, Err(expected));

    let at = "/large";
    let data = vec![b'x'; limits.max_bytes + 1 - at.len()];
    let large = Txn::new().create(path(at), data, Lifetime::Persistent);
    let size = limits.max_bytes + 1;
    let expected = Error::TooLarge { unit: "bytes", size, limit: limits.max_bytes };
    equal!(actor.try_commit(large).await, Err(expected));
    equal!(actor.read(at).await, None);
}

pub(super) async fn a_transaction_at_the_limit_commits(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let limits = actor.center.limits();
    let at = |n: usize| path(&format!("/{n}"));
    let create =
        (0..limits.max_ops).fold(Txn::new(), |txn, n| txn.create(at(n), "", Lifetime::Persistent));
    holds!(
        create.size() <= limits.max_bytes,
        limits,
        "a max_bytes that admits {} bytes of paths, for max_ops creations",
        create.size()
    );
    actor.commit(create).await;
    equal!(actor.children(&path("/")).await.map(|names| names.len()), Some(limits.max_ops));

    // The maximum of operations and the maximum of bytes at once.
    let paths: usize = (0..limits.max_ops).map(|n| at(n).as_str().len()).sum();
    let last = vec![b'x'; limits.max_bytes - paths];
    let put =
        (1..limits.max_ops).fold(Txn::new().put(at(0), last.clone()), |txn, n| txn.put(at(n), ""));
    equal!((put.ops().len(), put.size()), (limits.max_ops, limits.max_bytes));
    actor.commit(put).await;
    equal!(actor.node("/0").await.data.len(), last.len());

    let data = vec![b'x'; limits.max_bytes - "/one/large".len()];
    actor.commit(Txn::new().create(path("/one/large"), data.clone(), Lifetime::Persistent)).await;
    equal!(actor.node("/one/large").await.data, data);
}
