//! Guarantee 6: ephemeral nodes live as long as their session.

use super::failure::{equal, fits, holds};
use super::mirror::Mirror;
use super::stage::{Actor, Stage, path};
use crate::{Error, Lifetime, SessionChange, Txn};

fn kept_and_ephemeral() -> Txn {
    Txn::new().create(path("/kept"), "", Lifetime::Persistent).create(
        path("/instances/mine"),
        "",
        Lifetime::Ephemeral,
    )
}

pub(super) async fn an_ephemeral_node_names_its_session(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(kept_and_ephemeral()).await;
    b.sync().await;
    equal!(b.node("/instances/mine").await.stat.owner, Some(a.session()));
    equal!(b.node("/kept").await.stat.owner, None);
    equal!(b.node("/instances").await.stat.owner, None);
    b.commit(Txn::new().put(path("/instances/mine"), "by b")).await;
    equal!(
        b.node("/instances/mine").await.stat.owner,
        Some(a.session()),
        "a put does not change the owner"
    );
    b.commit(Txn::new().delete(path("/instances/mine"))).await;
    a.sync().await;
    equal!(a.read("/instances/mine").await, None, "any session may delete the node");
}

pub(super) async fn closing_removes_ephemeral_nodes_at_once(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(kept_and_ephemeral()).await;
    b.commit(Txn::new().create(path("/instances/other"), "", Lifetime::Ephemeral)).await;
    a.close().await;
    b.sync().await;
    equal!(b.read("/instances/mine").await, None, "the node is gone when close has returned");
    fits!(b.read("/instances/other").await, Some(_), "the ephemeral node of another session");
    fits!(b.read("/kept").await, Some(_), "the persistent node of the closed session");
}

/// Asserts that every call of a closed center fails with [`Error::Closed`].
async fn is_closed(actor: &Actor<'_>) {
    let stage = actor.stage;
    let commit = Txn::new().create(path("/late"), "", Lifetime::Persistent);
    let answers = [
        ("read", actor.try_read("/").await.err()),
        ("children", stage.within("answered", actor.center.children(&path("/"))).await.err()),
        ("commit", actor.try_commit(commit).await.err()),
        ("sync", stage.within("answered", actor.center.sync()).await.err()),
        ("time", stage.within("answered", actor.center.registry_time(&path("/t"))).await.err()),
    ];
    for (call, error) in answers {
        equal!(error, Some(Error::Closed), "{call}");
    }
    equal!(actor.center.session(), Some(SessionChange::Closed));
}

pub(super) async fn after_closing_every_call_fails_with_closed_and_every_feed_ends(
    stage: &Stage<'_>,
) {
    let actor = stage.actor().await;
    let session = actor.session();
    let mut changes = actor.center.session_feed();
    let mut mirror = Mirror::of(&actor, "/");
    mirror.until(&actor, "the snapshot", |_| true).await;
    actor.close().await;
    actor.close().await;
    is_closed(&actor).await;
    equal!(actor.center.lease_remaining(session), None);
    mirror.ends(&actor).await;
    // A feed that begins after the close ends at once.
    Mirror::of(&actor, "/").ends(&actor).await;
    let end = async { while changes.next().await.is_some() {} };
    stage.within("the session feed ends", end).await;
    let mut late = actor.center.session_feed();
    equal!(
        stage.within("a feed after the close begins", late.next()).await,
        Some(SessionChange::Closed)
    );
    equal!(stage.within("a feed after the close ends", late.next()).await, None);
}

pub(super) async fn closing_without_a_connection_does_not_hang(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.cut_off(&mut changes).await;
    // The close may reach the registry or not; it only must not hang.
    let closed = stage.within("close returns", actor.center.close()).await;
    let in_time = closed.is_ok() || closed.as_ref().is_err_and(Error::is_retryable);
    holds!(in_time, closed, "Ok, or an error that says that the registry was not reached");
    is_closed(&actor).await;
}

pub(super) async fn an_expired_session_leaves_no_ephemeral_node(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    let mut changes = a.center.session_feed();
    a.await_connected(&mut changes).await;
    a.commit(kept_and_ephemeral()).await;
    b.commit(Txn::new().create(path("/instances/other"), "", Lifetime::Ephemeral)).await;
    let old = a.session();
    let new = a.renew(&mut changes).await;
    holds!(old != new, new, "a session other than {old}");
    b.sync().await;
    equal!(b.read("/instances/mine").await, None);
    fits!(b.read("/instances/other").await, Some(_), "the ephemeral node of another session");
    fits!(b.read("/kept").await, Some(_), "the persistent node of the expired session");
    a.commit(Txn::new().create(path("/instances/mine"), "", Lifetime::Ephemeral)).await;
    equal!(a.node("/instances/mine").await.stat.owner, Some(new));
}

pub(super) async fn an_ephemeral_node_survives_a_broken_connection(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    let mut changes = a.center.session_feed();
    let session = a.await_connected(&mut changes).await;
    a.commit(kept_and_ephemeral()).await;
    let before = a.node("/instances/mine").await;
    equal!(a.flap(&mut changes).await, session);
    a.cut_off(&mut changes).await;
    equal!(b.await_node("/instances/mine").await, before);
    equal!(a.bring_back(&mut changes).await, session);
    equal!(a.node("/instances/mine").await, before);
}
