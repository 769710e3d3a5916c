//! Election: one available instance leads.

use super::Context;
use crate::Duty;
use crate::plan::{Plan, Step};

/// Elects this instance if no leader exists. Abdicates if this instance leads and is not eligible.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    match cx.view.leader() {
        None if is_eligible(cx) => Some(stand(cx)),
        Some(leader) if leader == cx.me && !is_eligible(cx) => abdicate(cx),
        None | Some(_) => None,
    }
}

/// Returns true if this instance may lead. An instance that cannot read the term or the assignment
/// must not overwrite it.
pub(crate) fn is_eligible(cx: &Context<'_>) -> bool {
    cx.view.is_available(cx.me) && cx.local.is_active() && !cx.view.is_newer()
}

/// Creates the leader's ephemeral node and begins a term. The node of the term is never deleted, so
/// that its version fences the writes of former leaders.
pub(crate) fn stand(cx: &Context<'_>) -> Plan {
    // The version of the former term makes the later of two elections conflict.
    let expect = cx.view.term().map(|term| term.version);
    Plan::as_instance(Duty::Election, cx, "no leader")
        .step(Step::lead(cx.me.clone()))
        .step(Step::set_term(expect, cx.me.clone()))
}

/// Removes the leader's node. The instance may not be registered any more, so that only the term
/// guards this write.
pub(crate) fn abdicate(cx: &Context<'_>) -> Option<Plan> {
    let term = Step::term_unchanged(cx.view.term_of(cx.me)?);
    let plan = Plan::as_session(Duty::Election, "the leader is no longer available");
    Some(plan.step(term).step(Step::abdicate()))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, id};
    use super::*;

    use crate::local::Phase;
    use crate::wire::NodeKind;

    #[test]
    fn available_instance_leads_and_unavailable_leader_abdicates() {
        let stand = "election: no leader\n  create leader/election/instance: 10.0.0.1@-@1\n  create coordination/term: 10.0.0.1@-@1";
        let abdicate =
            "election: the leader is no longer available\n  delete leader/election/instance";
        let rows = vec![
            // Also true without items to run: an empty job must still have a leader.
            ("no leader exists", Scene::job(1).member(1), stand),
            ("instance is not registered", Scene::job(1).server(1, ""), "nothing"),
            ("server is disabled", Scene::job(1).member(1).server(1, "DISABLED"), "nothing"),
            ("another instance leads", Scene::job(1).member(1).member(2).led_by(2), "nothing"),
            ("this instance leads", Scene::job(1).member(1).led_by(1), "nothing"),
            ("leader is disabled", Scene::cluster(1, 1).server(1, "DISABLED"), abdicate),
            ("an operator removed the leader's instance", Scene::cluster(1, 1).gone(1), abdicate),
            (
                "leader drains",
                Scene::cluster(1, 1)
                    .local(|local| local.phase = Phase::Draining)
                    .marked(&NodeKind::Draining(id(1))),
                abdicate,
            ),
        ];
        check(Duty::Election, rows);
    }
}
