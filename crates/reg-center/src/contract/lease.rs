//! Guarantee 8: the lease never promises longer than the registry keeps the session.

use std::time::Duration;

use futures_util::future::join;

use super::failure::{equal, fits, holds};
use super::mirror::Mirror;
use super::stage::{Actor, Stage, path};
use crate::{Lifetime, SessionChange, SessionId, Txn};

pub(super) async fn only_the_connected_session_has_a_lease(stage: &Stage<'_>) {
    let (actor, other) = (stage.actor().await, stage.actor().await);
    let mut changes = actor.center.session_feed();
    let session = actor.await_connected(&mut changes).await;
    let lease = actor.center.lease_remaining(session);
    holds!(lease.is_some_and(|lease| !lease.is_zero()), lease, "a lease of the connected session");
    equal!(actor.center.lease_remaining(other.session()), None, "a session of another client");
    let next = actor.renew(&mut changes).await;
    equal!(actor.center.lease_remaining(session), None, "a lost session");
    fits!(actor.center.lease_remaining(next), Some(_), "the lease of the next session");
}

/// Waits until the lease of the session is over and returns the latest promised instant.
async fn promised_until(actor: &Actor<'_>, session: SessionId) -> Duration {
    let mut until = Duration::ZERO;
    loop {
        let now = actor.stage.now();
        match actor.center.lease_remaining(session) {
            None | Some(Duration::ZERO) => return until,
            Some(lease) => {
                until = until.max(now.saturating_add(lease));
                actor.stage.sleep(lease).await;
            }
        }
    }
}

pub(super) async fn the_lease_ends_before_the_registry_expires_the_session(stage: &Stage<'_>) {
    let (owner, observer) = (stage.actor().await, stage.actor().await);
    let mut changes = owner.center.session_feed();
    let session = owner.await_connected(&mut changes).await;
    owner.commit(Txn::new().create(path("/mine"), "", Lifetime::Ephemeral)).await;
    let mut mirror = Mirror::of(&observer, "/");
    mirror.until(&observer, "the ephemeral node", |mirror| mirror.get("/mine").is_some()).await;
    owner.faults.silence().await;
    let gone = async {
        mirror.until(&observer, "the node goes", |mirror| mirror.get("/mine").is_none()).await;
        stage.now()
    };
    let both = join(promised_until(&owner, session), gone);
    let (promised, gone) = stage.within("the session ends", both).await;
    holds!(
        promised <= gone,
        promised,
        "a lease until {gone:?} at most, when the registry deleted the node"
    );
    let lease = owner.center.lease_remaining(session);
    holds!(
        lease.unwrap_or_default().is_zero(),
        lease,
        "no lease after the registry has ended the session"
    );
    owner.faults.heal().await;
    owner
        .await_change(&mut changes, "the session is lost", |change| {
            *change == SessionChange::Lost { session }
        })
        .await;
    let next = owner.await_connected(&mut changes).await;
    fits!(owner.center.lease_remaining(next), Some(_), "the lease of the next session");
}
