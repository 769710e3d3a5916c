//! Cleanup beside Java instances: removes the nodes that they leave behind.

use reg_center::Version;
use sharding::ShardingItem;

use crate::Duty;
use crate::duty::{Context, cleanup};
use crate::plan::{Plan, Step};
use crate::view::item::{Attention, ItemView};

/// Cleans up as the plain duty does, but keeps the queue entries and marks of Java instances, which
/// write no records.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let mixed = cx.view.is_mixed();
    // The next owner replays the misfire that a Java instance has marked.
    let may_unmark = |item: ShardingItem, view: &ItemView| {
        cx.view.java_owner(view).is_none() && cx.local.java.inference.accounted(item).is_none()
    };
    cleanup::stale_entries(cx, |_| !mixed, may_unmark).or_else(|| leftovers(cx))
}

/// Begins a cleanup plan as the leader. A Java leader cleans up nothing, so that under it the first
/// Rust instance does.
fn as_cleaner(cx: &Context<'_>, reason: &str) -> Option<Plan> {
    if !cx.view.has_java_leader() {
        return Plan::as_leader(Duty::Cleanup, cx, reason);
    }
    let is_first = cx.view.first_rust_instance() == Some(cx.me);
    is_first.then(|| Plan::as_instance(Duty::Cleanup, cx, reason))
}

/// Removes four kinds of nodes that Java instances leave behind:
/// - the name of the server that runs next, so that Java instances go by the owner again;
/// - queue entries that no instance may take over, but Java instances would run;
/// - nodes of lost instances of 2.1.5 that an operator triggered;
/// - nodes of items beyond the number of items, which Java's statistics count.
///
/// An instance may return and create its node anew at any moment. So the leftover node is first
/// sealed, which raises its version, and then removed at that version.
fn leftovers(cx: &Context<'_>) -> Option<Plan> {
    let config = cx.view.config_to_lead_by()?;
    let most = cx.settings.items_per_plan;
    let to_no_instance = |item: ShardingItem| !config.fails_over() || !config.has_item(item);
    let mixed = cx.view.is_mixed();
    let busy = |view: &ItemView| view.ledger.as_ref().is_some_and(|l| l.value.is_busy());
    let queued = cx.view.items_with(Attention::Queued);
    let stale = queued.filter(|(item, view)| mixed && to_no_instance(*item) && !busy(view));
    let instances = cx.view.leftover_instances().map(|(id, version)| match version {
        Version(0) => Step::seal_leftover_instance(id.clone()),
        version => Step::remove_leftover_instance(id.clone(), version),
    });
    let mut plan = as_cleaner(cx, "nodes left behind by Java instances")?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .steps(cx.view.names_next_server().then(Step::forget_next_server))
        .steps(stale.map(|(item, _)| Step::dequeue(item)).take(most))
        .steps(instances.take(most));
    let is_shown = mixed && !cx.view.has_java_leader();
    let may_remove = is_shown && cx.view.has_usable_config();
    if may_remove {
        let beyond = cx.view.empty_items(ShardingItem::new(config.sharding_total_count));
        plan = plan.steps(beyond.map(Step::remove_item_node).take(most));
    }
    plan.if_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, check, item, running_by};
    use crate::wire::NodeKind;
    use crate::{Dialect, JobConfig, Ledger};

    fn orphan() -> Ledger {
        running_by(3).orphan().unwrap()
    }

    #[test]
    fn queue_entry_of_java_instance_stays_unless_no_instance_may_take_it() {
        let queued = |scene: Scene, i| scene.java(5).marked(&NodeKind::QueuedItem(item(i)));
        let off = |config: &mut JobConfig| config.failover = false;
        let left = |i| {
            format!(
                "cleanup: nodes left behind by Java instances\n  delete leader/failover/items/{i}"
            )
        };
        let led_by_java = || Scene::job(2).member(1).java(4).led_by_java(4);
        let rows = [
            ("item is in range", queued(Scene::cluster(2, 1), 0), "nothing".to_owned()),
            ("A22: item is out of range", queued(Scene::cluster(2, 1), 7), left(7)),
            ("A22: without failover", queued(Scene::cluster(2, 1).configure(off), 0), left(0)),
            ("A22: a Java instance leads", queued(led_by_java(), 7), left(7)),
            (
                "orphaned run of a Rust instance, which a sweep ends",
                queued(Scene::cluster(2, 1).configure(off).ledger(0, orphan()), 0),
                "nothing".to_owned(),
            ),
            (
                "another Rust instance leads",
                queued(Scene::cluster(2, 1).member(2).led_by(2), 7),
                "nothing".to_owned(),
            ),
        ];
        for (case, scene, expected) in rows {
            check(Duty::Cleanup, vec![(case, scene, &*expected)]);
        }
    }

    #[test]
    fn empty_node_of_retired_item_is_removed_beside_java_instances() {
        let fewer = |scene: Scene| scene.configure(|config| config.sharding_total_count = 1);
        let emptied = || {
            let scene = fewer(Scene::cluster(2, 1).java(5));
            scene.without(&NodeKind::Owner(item(1)))
        };
        let removed = "cleanup: nodes left behind by Java instances\n  delete sharding/1";
        let strange = NodeKind::OfItem(item(1), "completed".into());
        let rows = vec![
            ("node has no children", emptied(), removed),
            ("item has an owner", fewer(Scene::cluster(2, 1).java(5)), "nothing"),
            (
                "an operator has disabled the item",
                emptied().marked(&NodeKind::ItemDisabled(item(1))),
                "nothing",
            ),
            ("item has an unknown child node", emptied().marked(&strange), "nothing"),
            (
                "item is in range",
                Scene::cluster(2, 1).java(5).without(&NodeKind::Owner(item(1))),
                "nothing",
            ),
            (
                "no Java instance takes part",
                fewer(Scene::cluster(2, 1)).without(&NodeKind::Owner(item(1))),
                "nothing",
            ),
        ];
        check(Duty::Cleanup, rows);
    }

    /// 3.0.5 goes by the owner again once the node is gone.
    #[test]
    fn name_of_next_server_is_forgotten() {
        let forgotten =
            "cleanup: nodes left behind by Java instances\n  delete next-job-instance-ip";
        let named = |scene: Scene| scene.marked(&NodeKind::NextServer);
        let led_by_java = || Scene::job_in(Dialect::V3, 1).member(1).java(4).led_by_java(4);
        let rows = vec![
            ("this instance leads", named(Scene::cluster_in(Dialect::V3, 1, 1).java(4)), forgotten),
            ("a Java instance leads", named(led_by_java()), forgotten),
            (
                "another Rust instance leads",
                named(Scene::cluster_in(Dialect::V3, 1, 1).member(2).java(4).led_by(2)),
                "nothing",
            ),
            ("2.1.5 does not have it", named(Scene::cluster(1, 1).java(4)), "nothing"),
        ];
        check(Duty::Cleanup, rows);
    }

    /// A18: an operator triggered the instance after it was gone.
    #[test]
    fn leftover_instance_node_is_sealed_then_removed() {
        let reason = "cleanup: nodes left behind by Java instances";
        let sealed = format!("{reason}\n  set instances/10.0.0.9@-@9");
        let removed = format!("{reason}\n  delete instances/10.0.0.9@-@9");
        let scenes = [
            ("a Rust instance leads", Scene::cluster(2, 1).leftover_instance(9)),
            (
                "a Java instance leads",
                Scene::job(2).member(1).java(4).led_by_java(4).leftover_instance(9),
            ),
        ];
        for (case, scene) in scenes {
            assert_eq!(scene.settle(Duty::Cleanup), [&*sealed, &*removed], "{case}");
        }
    }

    #[test]
    fn first_rust_instance_cleans_up_under_java_leader() {
        let second = Scene::job(2).member(0).member(1).java(4).led_by_java(4).leftover_instance(9);
        assert_eq!(second.wants(Duty::Cleanup), "nothing");
    }

    /// The instance returns under its id before its former node is sealed.
    #[test]
    fn seal_conflicts_when_instance_has_returned() {
        let scene = Scene::cluster(2, 1).leftover_instance(9);
        let seal = scene.plan(Duty::Cleanup).unwrap();
        let back = scene.gone(9).java(9).triggered(9);
        assert!(!back.would_commit(&seal), "{seal}");
    }

    /// The instance returns under its id while its former node is being removed.
    #[test]
    fn removal_conflicts_when_instance_has_returned() {
        let plan = Scene::cluster(2, 1).leftover_instance(9).commit_once(Duty::Cleanup);
        let removal = plan.plan(Duty::Cleanup).unwrap();
        let back = plan.gone(9).java(9);
        assert!(
            !back.would_commit(&removal),
            "the removal would delete the node of a registered instance"
        );
        assert_eq!(back.wants(Duty::Cleanup), "nothing");
    }
}
