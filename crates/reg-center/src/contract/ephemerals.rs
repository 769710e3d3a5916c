//! Guarantee 6: ephemeral nodes live as long as their session.

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
    assert_eq!(b.node("/instances/mine").await.stat.owner, Some(a.session()));
    assert_eq!(b.node("/kept").await.stat.owner, None);
    assert_eq!(b.node("/instances").await.stat.owner, None);
    b.commit(Txn::new().put(path("/instances/mine"), "by b")).await;
    assert_eq!(
        b.node("/instances/mine").await.stat.owner,
        Some(a.session()),
        "a put does not change the owner"
    );
    b.commit(Txn::new().delete(path("/instances/mine"))).await;
    a.sync().await;
    assert_eq!(a.read("/instances/mine").await, None, "any session may delete the node");
}

pub(super) async fn closing_removes_ephemeral_nodes_at_once(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    a.commit(kept_and_ephemeral()).await;
    b.commit(Txn::new().create(path("/instances/other"), "", Lifetime::Ephemeral)).await;
    stage.within("close returns", a.center.close()).await.expect("the registry answers the close");
    b.sync().await;
    assert_eq!(b.read("/instances/mine").await, None, "the node is gone when close has returned");
    assert!(b.read("/instances/other").await.is_some(), "the node of another session stays");
    assert!(b.read("/kept").await.is_some());
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
        assert_eq!(error, Some(Error::Closed), "{call}");
    }
    assert_eq!(actor.center.session(), Some(SessionChange::Closed));
}

pub(super) async fn after_closing_every_call_fails_with_closed_and_every_feed_ends(
    stage: &Stage<'_>,
) {
    let actor = stage.actor().await;
    let session = actor.session();
    let mut changes = actor.center.session_feed();
    let mut mirror = Mirror::of(&actor, "/");
    mirror.until(&actor, "the snapshot", |_| true).await;
    stage
        .within("close returns", actor.center.close())
        .await
        .expect("the registry answers the close");
    stage
        .within("the second close returns", actor.center.close())
        .await
        .expect("closing twice is harmless");
    is_closed(&actor).await;
    assert_eq!(actor.center.lease_remaining(session), None);
    assert!(mirror.ends(&actor).await);
    assert!(Mirror::of(&actor, "/").ends(&actor).await, "a new feed ends at once");
    let end = async { while changes.next().await.is_some() {} };
    stage.within("the session feed ends", end).await;
    let mut late = actor.center.session_feed();
    assert_eq!(
        stage.within("a feed after the close begins", late.next()).await,
        Some(SessionChange::Closed)
    );
    assert_eq!(stage.within("a feed after the close ends", late.next()).await, None);
}

pub(super) async fn closing_without_a_connection_does_not_hang(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.cut_off(&mut changes).await;
    // The close may reach the registry or not; it only must not hang.
    let closed = stage.within("close returns", actor.center.close()).await;
    assert!(closed.is_ok() || closed.as_ref().is_err_and(Error::is_retryable), "{closed:?}");
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
    assert_ne!(old, new);
    b.sync().await;
    assert_eq!(b.read("/instances/mine").await, None);
    assert!(b.read("/instances/other").await.is_some());
    assert!(b.read("/kept").await.is_some());
    a.commit(Txn::new().create(path("/instances/mine"), "", Lifetime::Ephemeral)).await;
    assert_eq!(a.node("/instances/mine").await.stat.owner, Some(new));
}

pub(super) async fn an_ephemeral_node_survives_a_broken_connection(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    let mut changes = a.center.session_feed();
    let session = a.await_connected(&mut changes).await;
    a.commit(kept_and_ephemeral()).await;
    let before = a.node("/instances/mine").await;
    assert_eq!(a.flap(&mut changes).await, session);
    a.cut_off(&mut changes).await;
    assert_eq!(b.await_node("/instances/mine").await, before);
    assert_eq!(a.bring_back(&mut changes).await, session);
    assert_eq!(a.node("/instances/mine").await, before);
}
