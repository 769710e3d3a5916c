//! Cleanup: the leader removes stale entries of the failover queue, stale misfire marks and expired
//! servers.

use sharding::ShardingItem;

use super::{Context, expiry};
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};
use crate::{Duty, LedgerState};

/// Removes queue entries of items without an orphaned run, and misfire marks of items without noted
/// fires; if there are none, expired servers.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    stale_entries(cx, |_| true, |_, _| true).or_else(|| expiry::plan(cx))
}

/// Removes the stale queue entries and misfire marks that the filters let through.
pub(crate) fn stale_entries(
    cx: &Context<'_>,
    may_dequeue: impl Fn(ShardingItem) -> bool,
    may_unmark: impl Fn(ShardingItem, &ItemView) -> bool,
) -> Option<Plan> {
    let most = cx.settings.items_per_plan;
    let queued = cx.view.slots_with(Attention::Queued);
    let stale = queued.filter(|(item, view)| may_dequeue(*item) && !is_orphan(view));
    // No record check: takeovers go by the record, so an entry that was queued after this view may
    // go too.
    let dequeued = stale.map(|(item, _)| Step::dequeue(item)).take(most);
    let unmarked = cx.view.items_with(Attention::Misfired).filter_map(|(item, view)| {
        let ledger = view.ledger.as_ref()?;
        let stale = view.misfire && ledger.value.misfire.is_none() && may_unmark(item, view);
        // The record check keeps a mark whose misfire was noted after this view.
        stale.then(|| [Step::ledger_unchanged(item, ledger.version), Step::unmark_misfire(item)])
    });
    Plan::as_leader(Duty::Cleanup, cx, "stale queue entries or misfire marks")?
        .steps(dequeued)
        .steps(unmarked.take(most).flatten())
        .if_any()
}

fn is_orphan(view: &ItemView) -> bool {
    let state = view.ledger.as_ref().map(|ledger| &ledger.value.state);
    matches!(state, Some(LedgerState::Orphan(_)))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, item, running_by};
    use super::*;
    use crate::Ledger;
    use crate::wire::NodeKind;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn queue_keeps_only_orphaned_runs() {
        let queued = |scene: Scene, i| scene.marked(&NodeKind::QueuedItem(item(i)));
        let rows = vec![
            ("orphaned run", queued(Scene::cluster(2, 1).ledger(0, orphan()), 0), "nothing"),
            (
                "idle item",
                queued(Scene::cluster(2, 1), 0),
                "cleanup: stale queue entries or misfire marks\n  delete leader/failover/items/0",
            ),
            (
                "item beyond the number of items",
                queued(Scene::cluster(2, 1), 7),
                "cleanup: stale queue entries or misfire marks\n  delete leader/failover/items/7",
            ),
            (
                "misfire mark without noted fires",
                Scene::cluster(2, 1).marked(&NodeKind::Misfire(item(0))),
                "cleanup: stale queue entries or misfire marks\n  delete sharding/0/misfire",
            ),
            (
                "another instance leads",
                queued(Scene::cluster(2, 1), 7).member(2).led_by(2),
                "nothing",
            ),
        ];
        check(Duty::Cleanup, rows);
    }

    /// A Java instance may have queued the item after the job got more items.
    #[test]
    fn dequeue_conflicts_when_number_of_items_changed() {
        let scene = Scene::cluster(2, 1).java(5).marked(&NodeKind::QueuedItem(item(7)));
        let plan = scene.plan(Duty::Cleanup).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        let grown = scene.configure(|config| config.sharding_total_count = 8);
        assert!(!grown.would_commit(&plan), "{plan}");
    }
}
