//! Cleanup: nothing stale stays in the failover queue, shown as misfired, or registered.

use reg_center::Version;
use sharding::ShardingItem;

use super::{Context, Duty};
use crate::plan::{Plan, Step};
use crate::view::items::{ItemView, Sign};
use crate::{Ledger, LedgerState};

/// Takes items out of the queue that nobody has to take over: finished, retired, out of range; and takes away marks of
/// misfires that are not noted (any more). What Java instances queue and mark, which note nothing, is theirs, unless nobody
/// may take it over: they would.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    of_ours(cx).or_else(|| of_java(cx))
}

fn of_ours(cx: &Context<'_>) -> Option<Plan> {
    let mixed = cx.view.is_mixed();
    let stale = cx.view.items_with(Sign::Queued).filter(|(_, view)| {
        let orphan = |ledger: &Ledger| matches!(ledger.state, LedgerState::Orphan(_));
        !mixed && !view.ledger.as_ref().is_some_and(|ledger| orphan(&ledger.value))
    });
    let queued = stale.map(|(item, _)| Step::dequeue(item)).take(cx.settings.items_per_plan);
    let marked = cx.view.items_with(Sign::Misfired).filter_map(|(item, view)| {
        let ours = cx.view.java_owner(view).is_none();
        let stale = |ledger: &Ledger| view.misfire && ledger.misfire.is_none() && ours;
        let ledger = view.ledger.as_ref().filter(|ledger| stale(&ledger.value))?;
        // Its heir makes up for what a Java instance has marked.
        if cx.local.foreign.accounted(item).is_some() {
            return None;
        }
        Some([Step::ledger_unchanged(item, ledger.version), Step::unmark_misfire(item)])
    });
    let marked = marked.take(cx.settings.items_per_plan).flatten();
    Plan::as_leader(Duty::Cleanup, cx, "stale entries")?.steps(queued).steps(marked).if_any()
}

/// Takes away what Java leaves behind: entries of the failover queue that are out of range, or of a job without failover
/// (its instances run both), and the nodes of instances of 2.1.5 that were triggered when they were gone. What Java would
/// take away as well: the nodes of items that the job has no more, because Java's statistics show an item for each.
///
/// Such a node may be replaced by one of a living instance at any moment. So it first gets a version that a new one has not,
/// and is then taken away by it.
fn of_java(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let most = cx.settings.items_per_plan;
    let in_force = |item: ShardingItem| item.index() < config.sharding_total_count;
    let to_nobody = |item: ShardingItem| !config.fails_over() || !in_force(item);
    let java = cx.view.is_mixed();
    let busy = |view: &ItemView| view.ledger.as_ref().is_some_and(|l| l.value.is_busy());
    let stale =
        cx.view.items_with(Sign::Queued).filter(|(item, v)| java && to_nobody(*item) && !busy(v));
    let ghosts = cx.view.ghosts().map(|(id, version)| match version {
        Version(0) => Step::seal_leftover_instance(id.clone()),
        version => Step::remove_leftover_instance(id.clone(), version),
    });
    let is_shown = cx.view.is_mixed() && !cx.view.has_foreign_leader();
    let goes = is_shown && cx.view.has_usable_config();
    let surplus = ShardingItem::new(config.sharding_total_count);
    let emptied = cx.view.empty_items(surplus).filter(|_| goes);
    Plan::as_keeper(Duty::Cleanup, cx, "what Java instances have left behind")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .steps(stale.map(|(item, _)| Step::dequeue(item)).take(most))
        .steps(ghosts.take(most))
        .steps(emptied.map(Step::remove_item_node).take(most))
        .if_any()
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Scene, check, item, running_by};
    use super::*;
    use crate::JobConfig;
    use crate::wire::NodeKind;

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn only_orphans_stay_in_the_queue() {
        let queued = |scene: Scene, i| scene.marked(&NodeKind::QueuedItem(item(i)));
        let rows = vec![
            ("an orphan", queued(Scene::cluster(2, 1).ledger(0, orphan()), 0), "nothing"),
            (
                "an idle item",
                queued(Scene::cluster(2, 1), 0),
                "cleanup: stale entries\n  delete leader/failover/items/0",
            ),
            (
                "out of range",
                queued(Scene::cluster(2, 1), 7),
                "cleanup: stale entries\n  delete leader/failover/items/7",
            ),
            (
                "shown as misfired without being",
                Scene::cluster(2, 1).marked(&NodeKind::Misfire(item(0))),
                "cleanup: stale entries\n  delete sharding/0/misfire",
            ),
            ("somebody else leads", queued(Scene::cluster(2, 1), 7).member(2).led_by(2), "nothing"),
        ];
        check(Duty::Cleanup, rows);
    }

    #[test]
    fn what_java_has_queued_stays_unless_nobody_may_take_it_over() {
        let queued = |scene: Scene, i| scene.java(5).marked(&NodeKind::QueuedItem(item(i)));
        let off = |config: &mut JobConfig| config.failover = false;
        let left = |i| {
            format!(
                "cleanup: what Java instances have left behind\n  delete leader/failover/items/{i}"
            )
        };
        let led_by_java = || Scene::job(2).member(1).java(4).led_by_java(4);
        let rows = [
            ("in range", queued(Scene::cluster(2, 1), 0), "nothing".to_owned()),
            ("A22: out of range", queued(Scene::cluster(2, 1), 7), left(7)),
            ("A22: without failover", queued(Scene::cluster(2, 1).configure(off), 0), left(0)),
            ("A22: a Java instance leads", queued(led_by_java(), 7), left(7)),
            (
                "an orphan of ours, which a sweep gives up",
                queued(Scene::cluster(2, 1).configure(off).ledger(0, orphan()), 0),
                "nothing".to_owned(),
            ),
            (
                "somebody else of ours leads",
                queued(Scene::cluster(2, 1).member(2).led_by(2), 7),
                "nothing".to_owned(),
            ),
        ];
        for (case, scene, expected) in rows {
            check(Duty::Cleanup, vec![(case, scene, &*expected)]);
        }
    }

    #[test]
    fn among_java_instances_an_item_that_the_job_has_no_more_has_no_node() {
        let fewer = |scene: Scene| scene.configure(|config| config.sharding_total_count = 1);
        let emptied = || {
            let scene = fewer(Scene::cluster(2, 1).java(5));
            scene.without(&NodeKind::Owner(item(1)))
        };
        let removed = "cleanup: what Java instances have left behind\n  delete sharding/1";
        let strange = NodeKind::OfItem(item(1), "completed".into());
        let rows = vec![
            ("nothing is below it", emptied(), removed),
            ("it has an owner", fewer(Scene::cluster(2, 1).java(5)), "nothing"),
            (
                "an operator has disabled it",
                emptied().marked(&NodeKind::ItemDisabled(item(1))),
                "nothing",
            ),
            ("it has a node that nobody here knows", emptied().marked(&strange), "nothing"),
            (
                "the job has it",
                Scene::cluster(2, 1).java(5).without(&NodeKind::Owner(item(1))),
                "nothing",
            ),
            (
                "ours are alone",
                fewer(Scene::cluster(2, 1)).without(&NodeKind::Owner(item(1))),
                "nothing",
            ),
        ];
        check(Duty::Cleanup, rows);
    }

    /// The job has more items again, and a Java instance may have queued the one that was out of range.
    #[test]
    fn what_is_in_range_again_stays_in_the_queue() {
        let scene = Scene::cluster(2, 1).java(5).marked(&NodeKind::QueuedItem(item(7)));
        let plan = scene.plan(Duty::Cleanup).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        let grown = scene.configure(|config| config.sharding_total_count = 8);
        assert!(!grown.would_commit(&plan), "{plan}");
    }

    /// A18: a request that came too late has left it.
    #[test]
    fn the_node_of_an_instance_that_is_gone_is_sealed_and_then_taken_away() {
        let reason = "cleanup: what Java instances have left behind";
        let sealed = format!("{reason}\n  set instances/10.0.0.9@-@9");
        let removed = format!("{reason}\n  delete instances/10.0.0.9@-@9");
        let scenes = [
            ("ours lead", Scene::cluster(2, 1).ghost(9)),
            ("a Java instance leads", Scene::job(2).member(1).java(4).led_by_java(4).ghost(9)),
        ];
        for (case, scene) in scenes {
            assert_eq!(scene.settle(Duty::Cleanup), [&*sealed, &*removed], "{case}");
        }
    }

    #[test]
    fn under_a_java_leader_the_first_of_ours_mends() {
        let second = Scene::job(2).member(0).member(1).java(4).led_by_java(4).ghost(9);
        assert_eq!(second.wants(Duty::Cleanup), "nothing");
    }

    /// The instance is back under its id before its former node is sealed.
    #[test]
    fn a_request_to_an_instance_that_has_come_back_stays() {
        let ghost = Scene::cluster(2, 1).ghost(9);
        let seal = ghost.plan(Duty::Cleanup).unwrap();
        let back = ghost.gone(9).java(9).triggered(9);
        assert!(!back.would_commit(&seal), "{seal}");
    }

    /// The instance was away and comes back under its id while its former node is being taken away.
    #[test]
    fn an_instance_that_comes_back_keeps_its_new_node() {
        let plan = Scene::cluster(2, 1).ghost(9).commit_once(Duty::Cleanup);
        let removal = plan.plan(Duty::Cleanup).unwrap();
        let back = plan.gone(9).java(9);
        assert!(!back.would_commit(&removal), "it has taken a living node away");
        assert_eq!(back.wants(Duty::Cleanup), "nothing");
    }
}
