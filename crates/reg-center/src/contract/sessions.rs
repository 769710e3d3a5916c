//! Guarantee 7: sessions in order.

use super::failure::{equal, fail, fits, holds};
use super::stage::{Stage, path};
use crate::{Change, Error, Lifetime, SessionChange, SessionFeed, SessionId, Txn};

pub(super) async fn a_subscriber_gets_the_current_state_first(stage: &Stage<'_>) {
    let (a, b) = (stage.actor().await, stage.actor().await);
    holds!(
        a.session() != b.session(),
        b.session(),
        "a session other than that of the first client"
    );
    let mut changes = a.center.session_feed();
    let first = stage.within("the current state is delivered", changes.next()).await;
    equal!(first, a.center.session());
    match first {
        Some(SessionChange::Connected { timeout, .. }) => {
            holds!(!timeout.is_zero(), timeout, "a session timeout that is not zero");
        }
        other @ (Some(
            SessionChange::Suspended { .. } | SessionChange::Lost { .. } | SessionChange::Closed,
        )
        | None) => fail("the session", "Connected", format_args!("{other:?}")),
    }
    a.cut_off(&mut changes).await;
    let mut late = a.center.session_feed();
    let session = b.stage.within("a later subscriber gets the current state", late.next()).await;
    fits!(
        session,
        Some(SessionChange::Suspended { .. }),
        "the first change of a subscriber while suspended"
    );
}

pub(super) async fn a_connection_that_comes_back_in_time_keeps_the_session(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    let session = actor.await_connected(&mut changes).await;
    actor.cut_off(&mut changes).await;
    equal!(actor.center.session(), Some(SessionChange::Suspended { session }));
    equal!(actor.bring_back(&mut changes).await, session);
    equal!(actor.flap(&mut changes).await, session);
    equal!(actor.session(), session);
}

pub(super) async fn a_lost_session_is_followed_by_another_one(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    let mut session = actor.await_connected(&mut changes).await;
    for round in 0..3 {
        let next = actor.renew(&mut changes).await;
        holds!(next != session, next, "a session other than {session}");
        session = next;
        actor.commit(Txn::new().create(path(&format!("/{round}")), "", Lifetime::Ephemeral)).await;
    }
    equal!(actor.tree("/").await.len(), 2, "only the node of the last session is left");
}

pub(super) async fn an_expiry_is_reported_on_reconnect(stage: &Stage<'_>) {
    let (actor, observer) = (stage.actor().await, stage.actor().await);
    let mut changes = actor.center.session_feed();
    let old = actor.await_connected(&mut changes).await;
    actor.commit(Txn::new().create(path("/mine"), "", Lifetime::Ephemeral)).await;
    actor.faults.expire_unnoticed().await;
    observer.sync().await;
    equal!(observer.read("/mine").await, None, "the registry has expired the session");
    actor.await_suspended(&mut changes).await;
    actor.faults.heal().await;
    let lost = actor
        .await_change(&mut changes, "the session is lost", |change| {
            matches!(change, SessionChange::Lost { .. } | SessionChange::Connected { .. })
        })
        .await;
    equal!(lost, SessionChange::Lost { session: old });
    let next = actor.await_connected(&mut changes).await;
    holds!(next != old, next, "a session other than {old}");
}

/// Asserts that `change` may follow `last`.
fn assert_follows(last: Option<SessionChange>, change: SessionChange) {
    use SessionChange::{Closed, Connected, Lost, Suspended};
    let allowed = match (last, change) {
        (None, Connected { .. })
        | (Some(Connected { .. } | Suspended { .. } | Lost { .. }), Closed) => true,
        (Some(Connected { session: old, .. }), Suspended { session } | Lost { session })
        | (Some(Suspended { session: old }), Connected { session, .. } | Lost { session }) => {
            old == session
        }
        (Some(Lost { session: old }), Connected { session, .. }) => old != session,
        (None, Suspended { .. } | Lost { .. } | Closed)
        | (Some(Connected { .. }), Connected { .. })
        | (Some(Suspended { .. }), Suspended { .. })
        | (Some(Lost { .. }), Suspended { .. } | Lost { .. })
        | (Some(Closed), Connected { .. } | Suspended { .. } | Lost { .. } | Closed) => false,
    };
    holds!(allowed, change, "a change that may follow {last:?}");
}

async fn all_of(stage: &Stage<'_>, mut changes: SessionFeed) -> Vec<SessionChange> {
    let collect = async {
        let mut all = Vec::new();
        while let Some(change) = changes.next().await {
            all.push(change);
        }
        all
    };
    stage.within("the session feed ends", collect).await
}

pub(super) async fn every_subscriber_gets_each_change_once_in_order(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let (one, two) = (actor.center.session_feed(), actor.center.session_feed());
    let mut changes = actor.center.session_feed();
    actor.await_connected(&mut changes).await;
    actor.flap(&mut changes).await;
    actor.cut_off(&mut changes).await;
    actor.bring_back(&mut changes).await;
    actor.renew(&mut changes).await;
    actor.flap(&mut changes).await;
    actor.close().await;
    let all = all_of(stage, one).await;
    equal!(all, all_of(stage, two).await);
    let mut last = None;
    for change in &all {
        assert_follows(last, *change);
        last = Some(*change);
    }
    let count = |wanted: fn(&SessionChange) -> bool| all.iter().filter(|c| wanted(c)).count();
    holds!(
        count(|c| matches!(c, SessionChange::Suspended { .. })) >= 3,
        all,
        "Suspended after each of three cuts"
    );
    equal!(count(|c| matches!(c, SessionChange::Lost { .. })), 1, "{all:?}");
    equal!(last, Some(SessionChange::Closed));
}

/// Catches a feed that is faster than the session: the process would believe that an operator has
/// deleted its nodes.
pub(super) async fn a_session_ends_before_its_nodes_vanish_from_a_feed(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    let old = actor.await_connected(&mut changes).await;
    let mine = path("/job/mine");
    actor.commit(Txn::new().create(mine.clone(), "", Lifetime::Ephemeral)).await;
    let mut feed = actor.feed("/job");
    let vanished = async {
        let (mut in_snapshot, mut was_shown) = (false, false);
        loop {
            match feed.next().await {
                Some(Change::Init) => in_snapshot = false,
                Some(Change::Entry(node) | Change::Put(node)) => in_snapshot |= node.path == mine,
                // The first snapshot comes before the fault.
                Some(Change::Ready) if in_snapshot && !was_shown => {
                    was_shown = true;
                    actor.faults.expire().await;
                }
                Some(Change::Ready) if !in_snapshot => return,
                Some(Change::Gone { path, .. }) if path == mine => return,
                Some(Change::Ready | Change::Gone { .. }) => {}
                None => fail("the feed", "a change", "its end"),
            }
        }
    };
    stage.within("the ephemeral node vanishes from the feed", vanished).await;
    let present = actor.center.session();
    let is_old = match present {
        Some(SessionChange::Connected { session, .. } | SessionChange::Suspended { session }) => {
            session == old
        }
        Some(SessionChange::Lost { .. } | SessionChange::Closed) | None => false,
    };
    holds!(!is_old, present, "the end of session {old}");
}

pub(super) async fn a_bound_transaction_runs_only_in_its_session(stage: &Stage<'_>) {
    let (actor, other) = (stage.actor().await, stage.actor().await);
    let mut changes = actor.center.session_feed();
    let old = actor.await_connected(&mut changes).await;
    let bound = |session: SessionId, at: &str| {
        Txn::new().in_session(session).create(path(at), "", Lifetime::Persistent)
    };
    actor.commit(bound(old, "/in-time")).await;
    let other_sessions = [other.session(), SessionId(old.0.wrapping_add(1))];
    for session in other_sessions {
        let refused = actor.try_commit(bound(session, "/strange")).await;
        equal!(refused, Err(Error::SessionLost { session }));
    }
    let new = actor.renew(&mut changes).await;
    let refused = actor.try_commit(bound(old, "/late")).await;
    equal!(refused, Err(Error::SessionLost { session: old }));
    actor.commit(bound(new, "/renewed")).await;
    let names = actor.children(&path("/")).await;
    equal!(names, Some(vec!["in-time".to_owned(), "renewed".to_owned()]));
}
