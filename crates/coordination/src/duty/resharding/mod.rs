//! Resharding: the assignment fits the available instances, and no item moves during a run.
//!
//! | file | content |
//! |---|---|
//! | `target` | owners that the items get, and the reason |
//! | `moves` | writes that lead to the target, and items that stay pending |
//! | `retire` | items beyond the number of items |
//! | `static_sharding` | items that stay with their owners |

mod moves;
mod retire;
mod static_sharding;
mod target;

use std::collections::BTreeMap;

use sharding::InstanceId;

use super::Context;
use crate::Duty;
use crate::JobConfig;
use crate::plan::{Plan, Step};
use crate::protocol::assignment::AssignmentRecord;

pub(crate) use self::moves::{MoveRules, Moves};
use self::static_sharding::count_items;
use self::target::Owners;
pub use self::target::PlannedAssignment;
pub(crate) use self::target::{PENDING, Target, strategy_failure, target};

/// Assigns items anew when the inputs of the assignment have changed, and moves pending items as
/// soon as they are idle.
///
/// Busy items become pending: they keep their owner, which does not claim them any more. All other
/// items move at once, so that a slow item delays only its own next owner.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = config_to_assign_by(cx)?;
    // The coordinator reports a failure of the strategy.
    let Ok(Some(target)) = target(cx, config) else { return None };
    let moves = Moves::between(cx, config, &target, &Plain);
    // Busy pending items alone are no reason for a write.
    if target.reason == PENDING && !moves.change(&target) {
        return None;
    }
    assign(cx, target, moves, |_| {})
}

/// Returns the configuration that items are assigned by. New records take their time from the
/// registry's clock, so that resharding waits until that time is known.
pub(crate) fn config_to_assign_by<'a>(cx: &Context<'a>) -> Option<&'a JobConfig> {
    if cx.local.session.awaits_time {
        return None;
    }
    cx.view.config_to_lead_by().map(|config| &**config)
}

/// Writes the moves and the assignment record, which `adjust` may change.
pub(crate) fn assign(
    cx: &Context<'_>,
    target: Target,
    moves: Moves,
    adjust: impl FnOnce(&mut AssignmentRecord),
) -> Option<Plan> {
    let mut record = target.record;
    record.counts = counts(cx, &record, &target.owners);
    record.pending = moves.pending;
    record.due = cx.local.fires.due.as_ref().map(|due| due.at).or(record.due);
    adjust(&mut record);
    let expect = cx.view.assignment_version();
    let plan = Plan::as_leader(Duty::Resharding, cx, target.reason)?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::no_new_resharding_request(cx.view.resharding_requests()?))
        .steps(moves.steps)
        .step(Step::set_assignment(expect, record));
    Some(plan)
}

/// Returns the number of items for each member; empty for a job of few items, which every instance
/// watches whole. While items are pending the numbers stay, so that an owner that an operator
/// changed is noticed at the end.
fn counts(
    cx: &Context<'_>,
    record: &AssignmentRecord,
    owners: &Owners,
) -> BTreeMap<InstanceId, u32> {
    if record.total_count < cx.settings.following.own_from {
        return BTreeMap::new();
    }
    let members = &record.members;
    match owners {
        Owners::Kept if record.counts.len() == members.len() => record.counts.clone(),
        Owners::Kept => count_items(members, &cx.view.planned_owners(record.total_count)),
        Owners::Chosen(owners) => count_items(members, owners),
    }
}

/// Rules without Java instances.
struct Plain;

impl MoveRules for Plain {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::scene::{Scene, check, id, idle, item, running_by};
    use crate::duty::settings::MAX_ITEMS_PER_PLAN;

    use crate::FireTime;
    use crate::wire::NodeKind;

    /// Two items with the owners of average allocation: item 0 of instance 2, item 1 of instance 1.
    fn settled() -> Scene {
        Scene::cluster(2, 2).owned(0, 2).owned(1, 1)
    }

    #[test]
    fn leader_reshards_only_when_inputs_changed() {
        let waits_for_absent = || {
            let mut record = settled().plan_record();
            record.pending.insert(item(0), &id(9));
            record
        };
        let rows = vec![
            (
                "no items are assigned yet",
                Scene::job(2).member(1).led_by(1).requested(),
                "resharding: no items are assigned yet\n  create ledger/0: idle\n  create sharding/0/instance: 10.0.0.1@-@1\n  create ledger/1: idle\n  create sharding/1/instance: 10.0.0.1@-@1\n  create coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            ("nothing changed", settled(), "nothing"),
            (
                "an instance joined",
                settled().member(3),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.3@-@3\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 3 instances, 0 pending",
            ),
            (
                "an instance is gone",
                settled().gone(2),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "a server was disabled",
                settled().server(2, "DISABLED"),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "more items",
                settled().configure(|c| c.sharding_total_count = 3).due(300),
                "resharding: the number of items changed\n  create ledger/2: idle\n  create sharding/2/instance: 10.0.0.2@-@2\n  set coordination/assignment: 3 items, 2 instances, 0 pending",
            ),
            (
                "fewer items",
                settled().configure(|c| c.sharding_total_count = 1),
                "resharding: the number of items changed\n  set ledger/1: retired\n  delete sharding/1/instance\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
            (
                "retired item comes back",
                settled()
                    .configure(|c| c.sharding_total_count = 3)
                    .ledger(2, idle().retire().unwrap()),
                "resharding: the number of items changed\n  set ledger/2: idle\n  create sharding/2/instance: 10.0.0.2@-@2\n  set coordination/assignment: 3 items, 2 instances, 0 pending",
            ),
            (
                "an instance requested it",
                settled().requested(),
                "resharding: resharding was requested\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "a Java instance requested it",
                settled().marked(&NodeKind::Necessary),
                "resharding: resharding was requested\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "next owner of a pending item is away",
                settled().assigned(waits_for_absent()),
                "resharding: an item has no available owner\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "an operator gave an item to an unknown instance",
                settled().owned(0, 9),
                "resharding: an item has no available owner\n  set sharding/0/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "stored configuration is unusable, and the assignment is by the one in force",
                settled().gone(2).broken_config(),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "stored configuration is unusable, and the one in force was never assigned by",
                settled().gone(2).configure(|c| c.sharding_total_count = 3).broken_config(),
                "nothing",
            ),
            (
                "no instance is available",
                settled().server(1, "DISABLED").server(2, "DISABLED"),
                "nothing",
            ),
            ("another instance leads", settled().member(3).led_by(2), "nothing"),
            (
                "strategy is unknown",
                settled().configure(|c| c.strategy = "no.such.Strategy".into()),
                "nothing",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn busy_item_stays_pending_until_its_run_ends() {
        let pending = |i: u32, n: u32| {
            let mut record = settled().plan_record();
            record.pending.insert(item(i), &id(n));
            record
        };
        let rows = vec![
            (
                "item that would move runs",
                settled().member(3).ledger(0, running_by(2)),
                "resharding: the available instances changed\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 3 instances, 1 pending",
            ),
            (
                "item that stays runs",
                settled().gone(2).ledger(1, running_by(1)),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "pending item still runs",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2)),
                "nothing",
            ),
            (
                "run of the pending item is orphaned",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2).orphan().unwrap()),
                "nothing",
            ),
            (
                "pending item is idle",
                settled().assigned(pending(0, 1)),
                "resharding: pending items can move\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "item beyond the number of items runs",
                settled().configure(|c| c.sharding_total_count = 1).ledger(1, running_by(1)),
                "resharding: the number of items changed\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn items_beyond_transaction_limit_stay_pending() {
        let total = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap() + 3;
        let scene = Scene::job(total).member(1).led_by(1).requested();
        let plan = scene.plan(Duty::Resharding).unwrap();
        let owners = plan.steps.iter().filter_map(Step::assigned).count();
        assert_eq!(owners, MAX_ITEMS_PER_PLAN);
        assert!(plan.to_string().ends_with("3 pending"), "{}", plan.reason);
    }

    /// Two items under rules: item 0 of instance 2 with an SSD, item 1 of instance 1.
    fn placed(rules: &str) -> Scene {
        let rules = sharding::PlacementRules::parse(rules).unwrap();
        let scene = Scene::cluster(2, 2).member_with(2, "disk=ssd").configure(|config| {
            (config.strategy, config.placement) = ("PLACEMENT".to_owned(), rules);
        });
        scene.owned(0, 2).owned(1, 1)
    }

    /// The same after an assignment by the rules and the attributes of this time.
    fn assigned_by(rules: &str) -> Scene {
        let scene = placed(rules);
        let record = AssignmentRecord {
            placement: scene.placement_hash(),
            members: scene.available(),
            strategy: "PLACEMENT".to_owned(),
            ..scene.plan_record()
        };
        scene.assigned(record)
    }

    #[test]
    fn items_follow_placement_rules_and_attributes() {
        let rows = vec![
            ("nothing changed", assigned_by("pin 0 disk=ssd"), "nothing"),
            (
                "the rules changed",
                assigned_by("").configure(|config| {
                    config.placement =
                        sharding::PlacementRules::parse("pin 0..1 disk=ssd").unwrap();
                }),
                "resharding: the placement rules or attributes changed\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "the former assignment knew no attributes",
                placed("").assigned(AssignmentRecord {
                    members: vec![id(2), id(1)],
                    strategy: "PLACEMENT".to_owned(),
                    ..placed("").plan_record()
                }),
                "resharding: the placement rules or attributes changed\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "an instance joins that does not meet a required condition",
                assigned_by("require disk=ssd").owned(1, 2).member(3),
                "nothing",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn instance_that_does_not_meet_a_condition_is_not_available() {
        let scene = placed("require disk=ssd");
        assert_eq!(scene.available(), [id(2)]);
        assert_eq!(placed("require disk!=ssd").available(), [id(1)]);
        assert_eq!(placed("require server=10.0.0.1").available(), [id(1)]);
        assert_eq!(placed("prefer disk=ssd").available(), [id(2), id(1)]);
    }

    /// Returns the first line of each plan, and its number of pending items.
    fn reasons(plans: &[String]) -> Vec<(&str, &str)> {
        let reason = |plan: &'_ str| plan.lines().next().map(str::len).unwrap_or_default();
        let left = |plan: &str| plan.rfind(", ").map_or(0, |at| at + 2);
        plans.iter().map(|plan| (&plan[..reason(plan)], &plan[left(plan)..])).collect()
    }

    #[test]
    fn large_assignment_takes_several_transactions() {
        let most = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap();
        let scene = Scene::job(3 * most + 1).member(1).led_by(1).requested();
        let plans = scene.settle(Duty::Resharding);
        let pending = "resharding: pending items can move";
        let expected = [
            ("resharding: no items are assigned yet", "1001 pending"),
            (pending, "501 pending"),
            (pending, "1 pending"),
            (pending, "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    #[test]
    fn owner_changed_during_pending_moves_is_repaired() {
        let scene = Scene::cluster(64, 2);
        let mut record = scene.plan_record();
        record.counts = [(id(1), 33), (id(2), 31)].into();
        record.pending.insert(item(1), &id(1));
        let plans = scene.assigned(record).owned(3, 1).settle(Duty::Resharding);
        let expected = [
            ("resharding: pending items can move", "0 pending"),
            ("resharding: owners differ from the assignment", "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    /// A stale view shows the owner of the retired item, which was removed together with its former
    /// record.
    #[test]
    fn revived_item_keeps_its_owner() {
        let scene = Scene::cluster(2, 1).ledger(1, idle().retire().unwrap());
        let record = AssignmentRecord { total_count: 1, ..scene.plan_record() };
        let back = scene.assigned(record);
        let plan = back.plan(Duty::Resharding).unwrap();
        assert!(back.would_commit(&plan), "{plan}");
        let gone = back.without(&NodeKind::Owner(item(1)));
        assert!(!gone.would_commit(&plan), "{plan}");
    }

    /// The maximum time difference is 60 s, and the present is 1 s after 1970.
    #[test]
    fn gap_in_the_future_does_not_block_revived_item() {
        for (until, last) in [(30_001, Some(30_000)), (1_000_000_001, Some(100))] {
            let (first, until) = (FireTime(2_000), FireTime(until));
            let gap = crate::Gap { first, until, count: None, config: None, changed_to: None };
            let retired = idle().retire().unwrap().with_gaps([gap], &[]);
            let scene = Scene::cluster(2, 1).ledger(1, retired);
            let record = AssignmentRecord { total_count: 1, ..scene.plan_record() };
            let plan = scene.assigned(record).plan(Duty::Resharding).unwrap();
            let revived = plan.steps.iter().find_map(|step| {
                let (_, ledger) = step.ledger()?;
                Some(ledger.last_fire)
            });
            assert_eq!(revived, Some(last.map(FireTime)), "{until}: {plan}");
        }
    }

    /// Monitoring was turned off. A stale view shows the new configuration but lacks the records.
    #[test]
    fn item_with_unseen_record_does_not_move_during_run() {
        let off = |config: &mut JobConfig| config.monitor_execution = false;
        let scene = Scene::job(2).member(1).member(2).led_by(1).requested().owned(0, 1).owned(1, 1);
        let scene = scene.configure(off);
        let plan = scene.plan(Duty::Resharding).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        assert!(!scene.ledger(0, running_by(1)).would_commit(&plan), "{plan}");
    }
}
