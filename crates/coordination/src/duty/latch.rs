//! Whose turn it is, where Java instances take turns.

use super::{Context, Duty};
use crate::java::latch::{Latch, name_of};
use crate::plan::{Plan, Step};

/// How an instance stands to a latch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody takes turns: all instances are ours, and guards do.
    Free,
    /// It is this instance's turn; it ends with this step.
    Mine(Step),
    /// It has yet to stand in line, by this step.
    Join(Step),
    /// Others came before it and wait for it: it has to stand at the end of the line, by these steps.
    Rejoin(Vec<Step>),
    /// Others come before it.
    Wait,
    /// It has waited long enough, and can leave by this step.
    Impatient(Step),
}

/// Returns how this instance stands to a latch.
pub(crate) fn turn(cx: &Context<'_>, latch: Latch) -> Turn {
    let number = cx.view.next_latch_number(latch);
    let takes_turns = cx.view.takes_turns();
    let join = || Step::join_latch(latch, name_of(cx.me, number));
    let Some(name) = cx.view.latch_node_of(latch, cx.me) else {
        return if takes_turns { Turn::Join(join()) } else { Turn::Free };
    };
    let leave = Step::leave_latch(latch, name.to_owned());
    let is_first = cx.view.is_first_at(latch, cx.me);
    let waited = cx.local.latch_waits.get(&latch).is_some_and(|wait| wait.over);
    let out_of_order = cx.view.is_out_of_order_at(latch, cx.me);
    match () {
        () if !takes_turns || is_first => Turn::Mine(leave),
        () if waited => Turn::Impatient(leave),
        () if out_of_order => Turn::Rejoin(vec![leave, join()]),
        () => Turn::Wait,
    }
}

/// Ends a turn together with what it was for.
pub(crate) fn ending(plan: Plan, leave: Step) -> Plan {
    plan.step(leave)
}

/// Takes this instance's node away if it still stands in line for what it does not want any more.
pub(crate) fn leave(cx: &Context<'_>, duty: Duty, latch: Latch) -> Option<Plan> {
    let name = cx.view.latch_node_of(latch, cx.me)?.to_owned();
    let plan = Plan::as_session(duty, "no turn is wanted any more");
    Some(plan.step(Step::leave_latch(latch, name)))
}
