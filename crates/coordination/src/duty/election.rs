//! Election: there is one leader, and it is available.

use super::{Context, Duty};
use crate::plan::{Plan, Step};

/// Stands if nobody leads; abdicates if the leader should not lead.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let available = cx.view.is_available(cx.me) && cx.local.is_active();
    match cx.view.leader() {
        None if available => Some(stand(cx)),
        Some(leader) if leader == cx.me && !available => {
            let plan = Plan::as_leader(Duty::Election, cx, "not available any more")?;
            Some(plan.step(Step::Abdicate))
        }
        None | Some(_) => None,
    }
}

/// The leader node says who leads as long as the leader lives; the term, which is never deleted, fences everything
/// that earlier leaders may still try.
fn stand(cx: &Context<'_>) -> Plan {
    let expect = cx.view.term().map(|term| term.version);
    Plan::as_instance(Duty::Election, cx, "no leader")
        .step(Step::Lead(cx.me.clone()))
        .step(Step::SetTerm { expect, leader: cx.me.clone() })
}
