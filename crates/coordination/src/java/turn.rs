//! Position of an instance at a latch.

use crate::duty::Context;
use crate::plan::{Plan, Step};
use crate::wire::latch::name_of;
use crate::{Duty, Latch};

/// Position of this instance at a latch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// No Java instance takes turns; the guards of the writes suffice.
    Free,
    /// It is this instance's turn, which ends with this step.
    Mine(Step),
    /// The instance has yet to join, by this step.
    Join(Step),
    /// Earlier Java instances wait for this instance. It has to join again at the end, by these
    /// steps.
    Rejoin(Vec<Step>),
    /// Other instances come first.
    Wait,
    /// The instance has waited for [`LATCH_PATIENCE`](super::memory::LATCH_PATIENCE), and leaves by
    /// this step.
    Impatient(Step),
}

/// Returns this instance's position at a latch.
pub(super) fn turn(cx: &Context<'_>, latch: Latch) -> Turn {
    let number = cx.view.next_latch_number(latch);
    let takes_turns = cx.view.takes_turns();
    let join = || Step::join_latch(latch, name_of(cx.me, number));
    let Some(name) = cx.view.latch_node_of(latch, cx.me) else {
        return if takes_turns { Turn::Join(join()) } else { Turn::Free };
    };
    let leave = Step::leave_latch(latch, name.to_owned());
    let is_first = cx.view.is_first_at(latch, cx.me);
    // Without Java instances there is no turn to wait for, but the latch node must go.
    if !takes_turns || is_first {
        return Turn::Mine(leave);
    }
    let waited = cx.local.java.latch_waits.get(&latch).is_some_and(|wait| wait.over);
    if waited {
        return Turn::Impatient(leave);
    }
    let out_of_order = cx.view.is_out_of_order_at(latch, cx.me);
    if out_of_order { Turn::Rejoin(vec![leave, join()]) } else { Turn::Wait }
}

/// Removes this instance's node from a latch if it no longer needs a turn.
pub(super) fn leave(cx: &Context<'_>, duty: Duty, latch: Latch) -> Option<Plan> {
    let name = cx.view.latch_node_of(latch, cx.me)?.to_owned();
    let plan = Plan::as_session(duty, "this instance no longer needs its turn");
    Some(plan.step(Step::leave_latch(latch, name)))
}
