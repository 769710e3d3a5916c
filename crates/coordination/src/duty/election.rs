//! Election: there is one leader, and it is available.

use reg_center::Version;

use super::latch::{Turn, leave, turn};
use super::{Context, Duty};
use crate::latch::Latch;
use crate::layout::NodeKind;
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Step};

/// Stands if nobody leads; abdicates if the leader should not lead.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let available = cx.view.is_available(cx.me) && cx.local.is_active();
    let wanted = match cx.view.leader() {
        None if available || mutant::is(Mutant::UnavailableStand) => return stand_in_turn(cx),
        Some(leader) if leader == cx.me && !available => {
            abdicate(cx).filter(|_| !mutant::is(Mutant::NoAbdication))
        }
        Some(leader) if leader == cx.me => seal(cx),
        None | Some(_) => None,
    };
    wanted.or_else(|| leave(cx, Duty::Election, Latch::Election))
}

/// Where Java instances are, one stands at a time. Whoever has waited long enough does so all the same: a Java instance whose
/// turn it still is may then put its own node in the place of this one's, which ends this term.
fn stand_in_turn(cx: &Context<'_>) -> Option<Plan> {
    match turn(cx, Latch::Election) {
        Turn::Free => Some(stand(cx)),
        Turn::Mine(leave) | Turn::Impatient(leave) => Some(stand(cx).step(leave)),
        Turn::Join(join) => {
            let plan = Plan::as_instance(Duty::Election, cx, "no leader, and Java instances");
            Some(plan.step(Step::IsAbsent(NodeKind::Leader)).step(join))
        }
        Turn::Wait => None,
    }
}

/// The leader node says who leads as long as the leader lives; the term, which is never deleted, fences everything
/// that earlier leaders may still try. A Java instance that takes over replaces the node and leaves the term alone: where
/// there are any, the node gets a version that a new one has not, and leaders check it.
fn stand(cx: &Context<'_>) -> Plan {
    let expect = cx.view.term().map(|term| term.version);
    Plan::as_instance(Duty::Election, cx, "no leader")
        .step(Step::Lead(cx.me.clone()))
        .step_if(cx.view.takes_turns(), || Step::SealLeader(cx.me.clone()))
        .step(Step::SetTerm { expect, leader: cx.me.clone() })
}

/// A leader that was elected among ours alone has a node without a version.
fn seal(cx: &Context<'_>) -> Option<Plan> {
    let unsealed = cx.view.leader_version() == Some(Version(0)) && cx.view.takes_turns();
    let term = Step::TermIs(cx.view.term_of(cx.me).filter(|_| unsealed)?);
    let plan = Plan::as_instance(Duty::Election, cx, "Java instances have come");
    Some(plan.step(term).step(Step::SealLeader(cx.me.clone())))
}

/// The instance may be registered no longer, so that only the term fences this.
fn abdicate(cx: &Context<'_>) -> Option<Plan> {
    let term = Step::TermIs(cx.view.term_of(cx.me)?);
    let plan = Plan::as_session(Duty::Election, "not available any more");
    Some(plan.step(term).step(Step::Abdicate))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id};
    use super::*;
    use crate::local::Phase;

    #[test]
    fn somebody_available_leads_and_nobody_else() {
        let stand = "election: no leader\n  10.0.0.1@-@1 leads\n  begin a term";
        let abdicate = "election: not available any more\n  abdicate";
        let rows = vec![
            // Also true without items to run: an empty job must still have a leader.
            ("nobody leads", Scene::job(1).member(1), stand),
            ("not registered", Scene::job(1).server(1, ""), "nothing"),
            ("server disabled", Scene::job(1).member(1).server(1, "DISABLED"), "nothing"),
            ("somebody else leads", Scene::job(1).member(1).member(2).led_by(2), "nothing"),
            ("I lead", Scene::job(1).member(1).led_by(1), "nothing"),
            ("I lead and am disabled", Scene::cluster(1, 1).server(1, "DISABLED"), abdicate),
            ("I lead and was taken out by an operator", Scene::cluster(1, 1).gone(1), abdicate),
            (
                "I lead and leave",
                Scene::cluster(1, 1)
                    .local(|local| local.phase = Phase::Draining)
                    .marked(&NodeKind::Draining(id(1))),
                abdicate,
            ),
        ];
        check(Duty::Election, rows);
    }
}
