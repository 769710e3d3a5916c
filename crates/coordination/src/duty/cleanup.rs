//! Cleanup: nothing stale stays in the failover queue.

use super::{Context, Duty, MAX_ITEMS_PER_PLAN};
use crate::LedgerState;
use crate::plan::{Plan, Step};

/// Takes items out of the queue that nobody has to take over: finished, retired, out of range.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let stale = cx.view.items().filter(|(_, view)| {
        let orphan = |ledger: &crate::Ledger| matches!(ledger.state, LedgerState::Orphan(_));
        view.queued && !view.ledger.as_ref().is_some_and(|ledger| orphan(&ledger.value))
    });
    let steps = stale.map(|(item, _)| Step::DequeueItem(item)).take(MAX_ITEMS_PER_PLAN);
    Plan::as_leader(Duty::Cleanup, cx, "stale entries in the failover queue")?.steps(steps).if_any()
}
