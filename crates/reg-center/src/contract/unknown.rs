//! Guarantees 2 and 3 under faults: an unknown outcome is reported as unknown, and the transaction
//! is atomic.

use futures_util::FutureExt;
use futures_util::future::join;

use super::failure::{equal, fits, holds};
use super::stage::{Actor, Stage, path};
use crate::{Error, Lifetime, Txn, TxnOutcome};

fn pair(name: &str) -> Txn {
    Txn::new().create(path(&format!("/{name}/first")), "", Lifetime::Persistent).create(
        path(&format!("/{name}/second")),
        "",
        Lifetime::Ephemeral,
    )
}

/// Returns true if both nodes of [`pair`] exist. Panics if only one exists.
async fn happened(actor: &Actor<'_>, name: &str) -> bool {
    actor.sync().await;
    let first = actor.read(&format!("/{name}/first")).await.is_some();
    let second = actor.read(&format!("/{name}/second")).await.is_some();
    // The transaction may be executed between the two reads; then both nodes exist.
    let first = first || second && actor.read(&format!("/{name}/first")).await.is_some();
    equal!(
        (first, second),
        (first, first),
        "{name}: both nodes of the transaction exist, or neither"
    );
    first
}

async fn assert_usable(actor: &Actor<'_>, name: &str) {
    let barrier = path(&format!("/{name}-barrier"));
    actor.commit(Txn::new().create(barrier, "", Lifetime::Persistent)).await;
}

pub(super) async fn a_lost_reply_never_hides_that_a_whole_transaction_happened(stage: &Stage<'_>) {
    let (writer, observer) = (stage.actor().await, stage.actor().await);
    let mut changes = writer.center.session_feed();
    writer.await_connected(&mut changes).await;
    for round in ["one", "two"] {
        // If its parents exist, the transaction is a single request, and the held reply is the
        // reply to it.
        writer
            .commit(Txn::new().create(path(&format!("/{round}")), "", Lifetime::Persistent))
            .await;
        writer.faults.hold_replies().await;
        let write = writer.center.commit(pair(round));
        let executed_then_cut = async {
            observer.await_node(&format!("/{round}/second")).await;
            writer.faults.reset().await;
        };
        let (outcome, ()) = stage.within("the write ends", join(write, executed_then_cut)).await;
        // A registry may find the outcome after the reconnect.
        fits!(
            outcome,
            Ok(TxnOutcome::Committed(_)) | Err(Error::Unknown { .. }),
            "the outcome of a commit whose reply was lost"
        );
        writer.await_suspended(&mut changes).await;
        writer.await_connected(&mut changes).await;
        equal!(happened(&writer, round).await, true, "the executed transaction is in the registry");
        assert_usable(&writer, round).await;
    }
}

pub(super) async fn the_error_of_a_lost_request_is_correct(stage: &Stage<'_>) {
    let writer = stage.actor().await;
    let mut changes = writer.center.session_feed();
    writer.await_connected(&mut changes).await;
    writer.faults.hold_requests().await;
    let both = join(writer.center.commit(pair("a")), writer.faults.reset());
    let (outcome, ()) = stage.within("the write ends", both).await;
    writer.await_suspended(&mut changes).await;
    writer.await_connected(&mut changes).await;
    // After an answered write of the same session the outcome is final.
    assert_usable(&writer, "a").await;
    let found = happened(&writer, "a").await;
    match outcome {
        // The request left after the connection was restored.
        Ok(outcome) => {
            equal!(outcome.is_committed(), found, "{outcome:?}, and the nodes exist");
        }
        Err(Error::Unavailable { .. }) => {
            equal!(found, false, "a commit that failed as Unavailable has happened");
        }
        Err(error) => fits!(error, Error::Unknown { .. }, "the outcome of a lost request"),
    }
    assert_usable(&writer, "b").await;
    equal!(happened(&writer, "a").await, found, "the outcome does not change later");
}

pub(super) async fn a_lost_request_is_never_executed_in_a_later_session(stage: &Stage<'_>) {
    let (writer, observer) = (stage.actor().await, stage.actor().await);
    let mut changes = writer.center.session_feed();
    writer.await_connected(&mut changes).await;
    writer.faults.hold_requests().await;
    let write = writer.center.commit(pair("a"));
    let (outcome, _) =
        stage.within("the write ends", join(write, writer.renew(&mut changes))).await;
    let ended =
        outcome.as_ref().is_err_and(|error| error.is_retryable() || error.is_session_lost());
    holds!(ended, outcome, "Unknown, Unavailable or SessionLost: no reply arrived");
    assert_usable(&writer, "a").await;
    equal!(happened(&observer, "a").await, false, "a request of the lost session is executed");
}

pub(super) async fn a_dropped_commit_still_happens(stage: &Stage<'_>) {
    let (writer, observer) = (stage.actor().await, stage.actor().await);
    for round in 0..20 {
        let name = format!("round-{round}");
        let polled_once = writer.center.commit(pair(&name)).now_or_never();
        drop(polled_once);
        observer.await_node(&format!("/{name}/second")).await;
        equal!(happened(&observer, &name).await, true, "the dropped commit happened");
        assert_usable(&writer, &name).await;
    }
}

pub(super) async fn a_dropped_commit_is_atomic_even_if_the_connection_breaks(stage: &Stage<'_>) {
    let writer = stage.actor().await;
    let mut changes = writer.center.session_feed();
    writer.await_connected(&mut changes).await;
    for round in 0..5 {
        let name = format!("round-{round}");
        drop(writer.center.commit(pair(&name)).now_or_never());
        writer.flap(&mut changes).await;
        assert_usable(&writer, &name).await;
        // The commit may happen at any time or never, but it is atomic.
        happened(&writer, &name).await;
    }
}
