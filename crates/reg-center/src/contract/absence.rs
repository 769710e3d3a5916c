//! Guarantee 1: error is never absence.

use futures_util::future::{join, join_all};

use super::failure::{equal, fits, holds};
use super::stage::{Stage, path};
use crate::{Error, Lifetime, NodePath, SessionChange, Txn};

pub(super) async fn an_absent_node_differs_from_an_empty_node(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    actor.commit(Txn::new().create(path("/a"), "", Lifetime::Persistent)).await;
    equal!(actor.read("/b").await, None);
    equal!(actor.children(&path("/b")).await, None);
    equal!(actor.node("/a").await.data, "");
    equal!(actor.children(&path("/a")).await, Some(vec![]));
}

pub(super) async fn children_are_listed_by_name_in_ascending_order(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let created = ["10", "9", "b", "a", "a-b", "a/x", "作业"];
    let txn = created.iter().fold(Txn::new(), |txn, name| {
        txn.create(path(&format!("/list/{name}")), "", Lifetime::Persistent)
    });
    actor.commit(txn).await;
    let names = actor.children(&path("/list")).await.unwrap_or_default();
    equal!(names, ["10", "9", "a", "a-b", "b", "作业"], "the children of /list");
    equal!(actor.children(&NodePath::root()).await, Some(vec!["list".to_owned()]));
}

pub(super) async fn a_read_without_a_connection_fails(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.commit(Txn::new().create(path("/a"), "x", Lifetime::Persistent)).await;
    actor.cut_off(&mut changes).await;
    for at in ["/a", "/b"] {
        let read = actor.try_read(at).await;
        fits!(read, Err(Error::Unavailable { .. }), "a read of {at} while the connection is cut");
        let listed = stage.within("a listing is answered", actor.center.children(&path(at))).await;
        fits!(
            listed,
            Err(Error::Unavailable { .. }),
            "the children of {at} while the connection is cut"
        );
    }
    actor.bring_back(&mut changes).await;
    equal!(actor.node("/a").await.data, "x");
    equal!(actor.read("/b").await, None);
}

pub(super) async fn no_call_hangs_without_a_connection(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.cut_off(&mut changes).await;
    let probe = path("/probe");
    let txn = Txn::new().create(probe.clone(), "", Lifetime::Persistent);
    let answers = [
        ("read", actor.try_read("/").await.err()),
        ("commit", actor.try_commit(txn).await.err()),
        ("sync", stage.within("a sync is answered", actor.center.sync()).await.err()),
        (
            "registry_time",
            stage.within("the time is answered", actor.center.registry_time(&probe)).await.err(),
        ),
    ];
    for (call, error) in answers {
        fits!(
            error,
            Some(Error::Unavailable { .. }),
            "the error of {call} while the connection is cut"
        );
    }
    actor.bring_back(&mut changes).await;
    actor.commit(Txn::new().create(path("/later"), "", Lifetime::Persistent)).await;
    equal!(
        actor.read("/probe").await,
        None,
        "a commit that failed as unavailable is never executed"
    );
}

pub(super) async fn no_call_hangs_when_the_network_swallows_everything(stage: &Stage<'_>) {
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.faults.black_hole().await;
    let read = actor.try_read("/a").await;
    fits!(read, Err(Error::Unavailable { .. } | Error::Unknown { .. }), "a read without a reply");
    actor.await_suspended(&mut changes).await;
    actor.bring_back(&mut changes).await;
    equal!(actor.read("/a").await, None);
}

/// The number exceeds the bound of any backend on concurrent requests, so some calls wait inside
/// it.
pub(super) async fn no_call_hangs_with_many_concurrent_calls(stage: &Stage<'_>) {
    const CALLS: usize = 300;
    let actor = stage.actor().await;
    let mut changes = actor.center.session_feed();
    actor.await_connected(&mut changes).await;
    actor.faults.black_hole().await;
    let (root, late) = (NodePath::root(), path("/late"));
    let reads = join_all((0..CALLS).map(|_| actor.center.read(&root)));
    let writes =
        join_all((0..CALLS).map(|_| {
            actor.center.commit(Txn::new().create(late.clone(), "", Lifetime::Persistent))
        }));
    let (reads, writes) = stage.within("all calls are answered", join(reads, writes)).await;
    for read in &reads {
        fits!(
            read,
            Err(Error::Unavailable { .. }),
            "each of {CALLS} concurrent reads without a reply"
        );
    }
    let in_doubt = |error: &Error| error.is_unknown() || error.is_retryable();
    for write in &writes {
        holds!(
            write.as_ref().is_err_and(in_doubt),
            write,
            "Unknown or Unavailable, for each of {CALLS} commits without a reply"
        );
    }
    // A suspended connection is enough to fail a call; calls must not wait for the end of the
    // session.
    actor.await_suspended(&mut changes).await;
    let present = actor.center.session();
    fits!(present, Some(SessionChange::Suspended { .. }), "the session after the calls failed");
    actor.bring_back(&mut changes).await;
    fits!(actor.read("/").await, Some(_), "the root after the connection is back");
}
