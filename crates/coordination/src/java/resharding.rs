//! Resharding beside Java instances: the leader announces it before any item moves from them, and
//! waits for their runs.

use sharding::{InstanceId, ShardingItem};

use super::sweep::interrupted;
use crate::duty::Context;
use crate::duty::resharding::{
    MoveRules, Moves, PENDING, Target, assign, config_to_assign_by, target,
};
use crate::plan::{Plan, Step};
use crate::protocol::assignment::AssignmentRecord;
use crate::wire::NodeKind;
use crate::{Duty, FireTime};

/// Announces a resharding, waits for the runs of Java instances, moves the items, and ends the
/// announcement.
pub(super) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let mixed = cx.view.is_mixed();
    // The next leader may be a Java instance, which would not know the pending items.
    let leaves = !cx.view.is_available(cx.me) || !cx.local.is_active();
    if leaves && mixed {
        return None;
    }
    let config = config_to_assign_by(cx)?;
    // The coordinator reports a failure of the strategy.
    let Ok(Some(target)) = target(cx, config) else { return None };
    let mut moves = Moves::between(cx, config, &target, &Mixed(cx));
    let ends = may_end_announcement(cx, &moves);
    if target.reason == PENDING && !moves.change(&target) && !ends {
        return None;
    }
    if must_announce(cx, &target, &moves) {
        return announce(cx, target);
    }
    if target.reason != PENDING && waits_for_java(cx, &moves) {
        return None;
    }
    if is_near_fire(cx) {
        return None;
    }
    let goes_on = cx.view.is_necessary() && !ends;
    let announced = if goes_on { cx.view.term_of(cx.me).map(|term| term.0) } else { None };
    // The announcement ends before the record is written, so that a view with the record also shows
    // that end.
    moves.steps.extend(ends.then(Step::end_announcement));
    assign(cx, target, moves, |record| {
        record.announced = announced;
        // It is unknown whether a Java instance has run the due fire.
        if cx.local.java.may_have_run_fires(cx.view) {
            record.due = None;
        }
    })
}

/// Returns true if Java instances must see an announcement before anything is written: always when
/// items are assigned anew, and when pending items move away from a Java instance. Java instances
/// start no items of other instances.
fn must_announce(cx: &Context<'_>, target: &Target, moves: &Moves) -> bool {
    let moves_from_java = || moves.steps.iter().any(|step| gives_away_java_item(cx, step));
    let concerned = target.reason != PENDING || moves_from_java();
    let announced = cx.view.is_necessary();
    cx.view.is_mixed() && concerned && !announced
}

fn gives_away_java_item(cx: &Context<'_>, step: &Step) -> bool {
    step.assigned().is_some_and(|item| is_of_java(cx, item))
}

fn is_of_java(cx: &Context<'_>, item: ShardingItem) -> bool {
    cx.view.java_owner(cx.view.item(item)).is_some()
}

/// Announces the resharding. Java instances start no runs until it has ended. Those of 2.1.5
/// announce changes of their members themselves, those of 3.x leave that to the leader.
///
/// If only pending items move, the record distinguishes this announcement from a request of a Java
/// instance.
fn announce(cx: &Context<'_>, target: Target) -> Option<Plan> {
    let plan =
        Plan::as_leader(Duty::Resharding, cx, target.reason)?.step(Step::announce_resharding());
    if target.reason != PENDING {
        return Some(plan);
    }
    let announced = cx.view.term_of(cx.me).map(|term| term.0);
    let record = AssignmentRecord { announced, ..target.record };
    Some(plan.step(Step::set_assignment(cx.view.assignment_version(), record)))
}

/// Returns true if a resharding is announced, and this transaction completes its writes. Busy items
/// do not prolong the announcement, which would delay Java instances.
fn may_end_announcement(cx: &Context<'_>, moves: &Moves) -> bool {
    let rest = cx.view.is_mixed() && moves.is_partial;
    cx.view.is_necessary() && !rest
}

/// Returns true while a Java instance runs an item that has to move, for up to
/// [`ANNOUNCEMENT_PATIENCE`](super::memory::ANNOUNCEMENT_PATIENCE).
fn waits_for_java(cx: &Context<'_>, moves: &Moves) -> bool {
    let over = cx.local.java.announced.is_some_and(|announced| announced.over);
    let under_java = || moves.blocked.iter().any(|item| is_of_java(cx, *item));
    cx.view.is_mixed() && !over && under_java()
}

/// Returns true near a fire. A Java instance might run it from a stale view, or have started it and
/// not created its mark yet. Fires after the announcement are postponed.
fn is_near_fire(cx: &Context<'_>) -> bool {
    cx.view.is_mixed() && cx.local.java.near_fire.is_some()
}

/// Rules by which items move beside Java instances.
struct Mixed<'a>(&'a Context<'a>);

impl MoveRules for Mixed<'_> {
    /// Leaves two fires to the next owner: the one that Java instances postpone because of the
    /// announcement, and the last one of an item that a lost Java instance left unfinished.
    fn initial_last_fire(&self, item: ShardingItem, last: Option<FireTime>) -> Option<FireTime> {
        if interrupted(self.0, item).is_some() {
            return None;
        }
        let (shown, memory) = (self.0.view.item(item), &self.0.local.java.inference);
        let accounted = memory.accounted(item);
        let was_java = accounted.is_some() || is_of_java(self.0, item);
        let postponed = last.is_some() && memory.postponed() == last && shown.ledger.is_none();
        if postponed && was_java { accounted } else { last }
    }

    fn constrain(
        &self,
        item: ShardingItem,
        owner: &InstanceId,
        steps: Option<Vec<Step>>,
    ) -> Option<Vec<Step>> {
        let mut steps = steps?;
        let shown = self.0.view.item(item);
        let leaves_java = is_of_java(self.0, item) && !shown.is_of(owner) && !shown.unreadable;
        if leaves_java && shown.marks.shows_run() {
            return None;
        }
        if has_run_postponed_fire(self.0, item, owner) {
            return None;
        }
        if leaves_java {
            // A Java instance writes no records: its mark alone shows that it has started the item
            // meanwhile.
            steps.push(Step::absent(NodeKind::Running(item)));
        }
        Some(steps)
    }

    /// Examines all items, because the announcement depends on every item of a Java instance and on
    /// every unwritten move.
    fn look_at_all(&self) -> bool {
        self.0.view.is_mixed()
    }
}

/// Returns true if an instance of this project has run a fire of the item that Java instances
/// postpone: a Java owner would run it again.
fn has_run_postponed_fire(cx: &Context<'_>, item: ShardingItem, owner: &InstanceId) -> bool {
    let Some(postponed) = cx.local.java.inference.may_still_begin() else { return false };
    let shown = cx.view.item(item);
    let last = shown.ledger.as_ref().and_then(|ledger| ledger.value.last_fire);
    last >= Some(postponed) && !shown.is_of(owner) && cx.view.is_java(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, id, item};
    use crate::duty::settings::MAX_ITEMS_PER_PLAN;
    use crate::local::wait::Wait;
    use crate::protocol::pending::Pending;
    use std::time::Duration;

    #[test]
    fn leader_announces_resharding_and_waits_for_runs_of_java_instances() {
        let runs = || {
            let mark = NodeKind::Running(item(0));
            Scene::cluster(2, 1).java(2).owned(0, 2).java(3).marked_in_session(&mark)
        };
        let announced = |scene: Scene, over| {
            let wait = Wait { since: Duration::ZERO, over };
            let scene = scene.marked(&NodeKind::Necessary);
            scene.local(|local| local.java.announced = Some(wait))
        };
        let changed = "resharding: the available instances changed";
        let rows = [
            (
                "a Java instance joined",
                Scene::cluster(2, 1).java(2),
                format!("{changed}\n  create leader/sharding/necessary"),
            ),
            (
                "resharding is announced",
                announced(Scene::cluster(2, 1).java(2), false),
                format!(
                    "{changed}\n  set sharding/0/instance: 10.0.0.2@-@2\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
            (
                "a Java instance runs an item that has to move",
                announced(runs(), false),
                "nothing".into(),
            ),
            (
                "leader is disabled, so the next one reshards",
                announced(Scene::cluster(2, 1).java(2).server(1, "DISABLED"), false),
                "nothing".into(),
            ),
            (
                "a Java instance runs the item for long",
                announced(runs(), true),
                format!(
                    "{changed}\n  set sharding/1/instance: 10.0.0.2@-@2\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 3 instances, 1 pending"
                ),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Resharding), expected, "{case}");
        }
    }

    /// Item 0 of Java instance 2 is pending for instance 1.
    fn pending_from_java() -> Scene {
        let scene = Scene::cluster(2, 1).java(2).owned(0, 2).owned(1, 1);
        let mut record = scene.plan_record();
        record.members = vec![id(2), id(1)];
        record.pending.insert(item(0), &id(1));
        scene.assigned(record)
    }

    /// Marks the resharding as announced by the leader of this term.
    fn announced_in(scene: Scene, term: u32) -> Scene {
        let mut record = scene.plan_record();
        record.announced = Some(term);
        scene.assigned(record).marked(&NodeKind::Necessary)
    }

    #[test]
    fn leader_announces_pending_moves_from_java_instances_only() {
        let pending = "resharding: pending items can move";
        let moved = "set sharding/0/instance: 10.0.0.1@-@1\n  delete leader/sharding/necessary";
        let runs = NodeKind::Running(item(0));
        let to_java = || {
            let scene = Scene::cluster(2, 1).java(2).owned(1, 2);
            let mut record = scene.plan_record();
            record.members = vec![id(2), id(1)];
            record.pending.insert(item(0), &id(2));
            scene.assigned(record)
        };
        let rows = [
            (
                "item of a Java instance is pending",
                pending_from_java(),
                format!(
                    "{pending}\n  create leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 1 pending"
                ),
            ),
            (
                "pending item still runs",
                pending_from_java().marked_in_session(&runs),
                "nothing".into(),
            ),
            (
                "resharding is announced",
                announced_in(pending_from_java(), 0),
                format!(
                    "{pending}\n  {moved}\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
            (
                "resharding is announced, and the item still runs",
                announced_in(pending_from_java(), 0).marked_in_session(&runs),
                format!(
                    "{pending}\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 1 pending"
                ),
            ),
            (
                "item of a Rust instance is pending",
                to_java(),
                format!(
                    "{pending}\n  set sharding/0/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending"
                ),
            ),
        ];
        for (case, scene, expected) in rows {
            assert_eq!(scene.wants(Duty::Resharding), expected, "{case}");
        }
    }

    /// The pending item got its next owner in another way.
    #[test]
    fn announcement_ends_when_no_move_is_left() {
        let scene = pending_from_java().owned(0, 1);
        let mut record = scene.plan_record();
        record.pending = Pending::default();
        let plans = announced_in(scene.assigned(record), 0).settle(Duty::Resharding);
        let [assigned] = &*plans else { panic!("{plans:?}") };
        assert!(assigned.contains("delete leader/sharding/necessary"), "{assigned}");
    }

    /// The assignment that a former leader meant to write is unknown.
    #[test]
    fn announcement_of_former_leader_causes_resharding() {
        let wants = announced_in(pending_from_java(), 7).wants(Duty::Resharding);
        assert!(wants.starts_with("resharding: resharding was requested"), "{wants}");
    }

    #[test]
    fn announcement_lasts_until_all_moves_are_written() {
        let total = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap() + 3;
        let plans = Scene::job(total).member(1).java(2).led_by(1).requested();
        let plans = plans.settle(Duty::Resharding);
        let [announced, first, second] = &*plans else { panic!("{} plans", plans.len()) };
        assert_eq!(
            announced,
            "resharding: no items are assigned yet\n  create leader/sharding/necessary"
        );
        let cleared = |plan: &String| plan.contains("delete leader/sharding/necessary");
        assert!(!cleared(first) && first.ends_with("3 pending"), "{first}");
        assert!(second.starts_with("resharding: pending items can move"), "{second}");
        assert!(cleared(second) && second.ends_with("0 pending"), "{second}");
    }

    /// A lost Java leader created no record for the item.
    #[test]
    fn item_without_record_does_not_move_during_run_of_java_instance() {
        let wait = Wait { since: Duration::ZERO, over: true };
        let scene = Scene::job(2).member(1).java(2).led_by(1).requested().owned(0, 2).owned(1, 2);
        let scene =
            scene.marked(&NodeKind::Necessary).local(|local| local.java.announced = Some(wait));
        let free = scene.wants(Duty::Resharding);
        let moved = "set sharding/1/instance: 10.0.0.1@-@1";
        assert!(free.contains(moved), "{free}");
        let begun = scene.marked_in_session(&NodeKind::Running(item(1))).wants(Duty::Resharding);
        assert!(!begun.contains(moved) && begun.contains("1 pending"), "{begun}");
    }

    /// The Java instance began the item after the leader had planned.
    #[test]
    fn move_conflicts_when_java_instance_began_the_item() {
        let scene = Scene::cluster(2, 1).java(2).owned(0, 2).gone(2).java(2).java(3);
        let scene = scene.marked(&NodeKind::Necessary);
        let plan = scene.plan(Duty::Resharding).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        let begun = scene.marked_in_session(&NodeKind::Running(item(0)));
        assert!(!begun.would_commit(&plan), "{plan}");
    }
}
