//! Cleanup: nothing stale stays in the failover queue, or shown as misfired.

use super::{Context, Duty};
use crate::mutant::{self, Mutant};
use crate::plan::{Plan, Step};
use crate::{Ledger, LedgerState};

/// Takes items out of the queue that nobody has to take over: finished, retired, out of range; and takes away marks of
/// misfires that are not noted (any more). What Java instances queue and mark, which note nothing, is theirs.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let mixed = cx.view.is_mixed() && !mutant::is(Mutant::JavaQueueCleaned);
    let stale = cx.view.items().filter(|(_, view)| {
        let orphan = |ledger: &Ledger| matches!(ledger.state, LedgerState::Orphan(_));
        view.queued && !mixed && !view.ledger.as_ref().is_some_and(|ledger| orphan(&ledger.value))
    });
    let queued = stale.map(|(item, _)| Step::DequeueItem(item)).take(cx.settings.items_per_plan);
    let marked = cx.view.items().filter_map(|(item, view)| {
        let all_ours = mutant::is(Mutant::JavaMisfiresCleaned);
        let ours = all_ours || cx.view.java_owner(view).is_none();
        let stale = |ledger: &Ledger| view.misfire && ledger.misfire.is_none() && ours;
        let ledger = view.ledger.as_ref().filter(|ledger| stale(&ledger.value))?;
        // Its heir makes up for what a Java instance has marked.
        if cx.local.foreign.accounted(item).is_some() && !all_ours {
            return None;
        }
        Some([Step::LedgerIs(item, ledger.version), Step::UnmarkMisfire(item)])
    });
    let marked = marked.take(cx.settings.items_per_plan).flatten();
    Plan::as_leader(Duty::Cleanup, cx, "stale entries")?
        .steps(queued)
        .steps(marked)
        .if_any()
        .filter(|_| !mutant::is(Mutant::NoCleanup))
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, item, running_by};
    use super::*;
    use crate::layout::NodeKind;

    #[test]
    fn only_orphans_stay_in_the_queue() {
        let queued = |scene: Scene, i| scene.marked(&NodeKind::QueuedItem(item(i)));
        let orphan = || Scene::cluster(2, 1).ledger(0, running_by(3).orphan().unwrap());
        let rows = vec![
            ("an orphan", queued(orphan(), 0), "nothing"),
            (
                "an idle item",
                queued(Scene::cluster(2, 1), 0),
                "cleanup: stale entries\n  dequeue 0",
            ),
            (
                "out of range",
                queued(Scene::cluster(2, 1), 7),
                "cleanup: stale entries\n  dequeue 7",
            ),
            (
                "shown as misfired without being",
                Scene::cluster(2, 1).marked(&NodeKind::Misfire(item(0))),
                "cleanup: stale entries\n  show 0 not misfired",
            ),
            ("somebody else leads", queued(Scene::cluster(2, 1), 7).member(2).led_by(2), "nothing"),
        ];
        check(Duty::Cleanup, rows);
    }
}
