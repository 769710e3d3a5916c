//! Election: there is one leader, and it is available.

use super::{Context, Duty};
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Step};

/// Stands if nobody leads; abdicates if the leader should not lead.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let available = cx.view.is_available(cx.me) && cx.local.is_active();
    match cx.view.leader() {
        None if available || mutant::is(Mutant::UnavailableStand) => Some(stand(cx)),
        Some(leader) if leader == cx.me && !available => {
            abdicate(cx).filter(|_| !mutant::is(Mutant::NoAbdication))
        }
        None | Some(_) => None,
    }
}

/// The leader node says who leads as long as the leader lives; the term, which is never deleted, fences everything
/// that earlier leaders may still try. A Java instance that takes over replaces the node and leaves the term alone: where
/// there are any, the node gets a version that a new one has not, and leaders check it.
fn stand(cx: &Context<'_>) -> Plan {
    let expect = cx.view.term().map(|term| term.version);
    let seals = cx.view.is_mixed() && !mutant::is(Mutant::LeadershipUnsealed);
    Plan::as_instance(Duty::Election, cx, "no leader")
        .step(Step::Lead(cx.me.clone()))
        .step_if(seals, || Step::SealLeader(cx.me.clone()))
        .step(Step::SetTerm { expect, leader: cx.me.clone() })
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
    use crate::layout::NodeKind;
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
