//! Election: there is one leader, and it is available.

use super::{Context, Duty};
use crate::plan::{Plan, Step};

/// Stands for election if there is no leader; abdicates if this instance leads and is not available.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    match cx.view.leader() {
        None if is_eligible(cx) => Some(stand(cx)),
        Some(leader) if leader == cx.me && !is_eligible(cx) => abdicate(cx),
        None | Some(_) => None,
    }
}

/// Returns true if this instance may lead.
pub(crate) fn is_eligible(cx: &Context<'_>) -> bool {
    cx.view.is_available(cx.me) && cx.local.is_active()
}

/// Creates the leader's node, which goes with the leader's session, and begins a term. The term's node is never deleted, so that
/// its version fences the writes of former leaders.
pub(crate) fn stand(cx: &Context<'_>) -> Plan {
    let expect = cx.view.term().map(|term| term.version);
    Plan::as_instance(Duty::Election, cx, "no leader")
        .step(Step::lead(cx.me.clone()))
        .step(Step::set_term(expect, cx.me.clone()))
}

/// The instance may be registered no longer, so that only the term fences this.
pub(crate) fn abdicate(cx: &Context<'_>) -> Option<Plan> {
    let term = Step::term_unchanged(cx.view.term_of(cx.me)?);
    let plan = Plan::as_session(Duty::Election, "not available any more");
    Some(plan.step(term).step(Step::abdicate()))
}

#[cfg(test)]
mod tests {

    use super::super::scene::{Scene, check, id};
    use super::*;

    use crate::local::Phase;
    use crate::wire::NodeKind;

    #[test]
    fn somebody_available_leads_and_nobody_else() {
        let stand = "election: no leader\n  create leader/election/instance: 10.0.0.1@-@1\n  create coordination/term: 10.0.0.1@-@1";
        let abdicate = "election: not available any more\n  delete leader/election/instance";
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
