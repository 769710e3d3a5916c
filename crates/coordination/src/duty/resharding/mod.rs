//! Resharding: the assignment fits the available instances, and no item moves during a run.
//!
//! | file | content |
//! |---|---|
//! | `target` | where the items belong, and why |
//! | `moves` | the writes that lead there, and the items that have to wait |
//! | `retire` | items that the job no longer has |

mod moves;
mod retire;
mod target;

use std::collections::BTreeMap;

use sharding::{Assignment, InstanceId};

use super::{Context, Duty};
use crate::JobConfig;
use crate::plan::{Plan, Step};
use crate::protocol::assignment::AssignmentRecord;

pub(crate) use self::moves::{MoveRules, Moves};
use self::target::{Owners, planned_owners};
pub(crate) use self::target::{PENDING, Target, is_unfinished, preview, strategy_failure, target};

/// Assigns items anew when the inputs of the assignment have changed, and moves pending items as soon as they are idle.
///
/// Busy items stay with their owner, which claims nothing for them any more, and are recorded as pending. All other items move
/// at once, so that a slow item delays its own next owner only.
pub(crate) fn plan(cx: &Context<'_>) -> Option<Plan> {
    let config = config_to_assign_by(cx)?;
    let target = target(cx, config).ok()??;
    let moves = Moves::between(cx, config, &target, &Plain);
    if target.reason == PENDING && !moves.change(&target) {
        return None;
    }
    assign(cx, target, moves, |_| {})
}

/// Returns the configuration that items are assigned by. New records are dated by the registry's clock, so that resharding waits
/// until its time is known.
pub(crate) fn config_to_assign_by<'a>(cx: &Context<'a>) -> Option<&'a JobConfig> {
    let config = cx.view.config_to_lead_by()?;
    (!cx.local.awaits_time).then_some(&**config)
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
    record.due = cx.local.due.as_ref().map(|due| due.at).or(record.due);
    adjust(&mut record);
    let expect = cx.view.assignment_version();
    let plan = Plan::as_leader(Duty::Resharding, cx, target.reason)?
        .step(Step::config_unchanged(cx.view.config_version()?))
        .step(Step::no_new_request(cx.view.request()?))
        .steps(moves.steps)
        .step(Step::set_assignment(expect, record));
    Some(plan)
}

/// Returns how many items each member shall have; nothing for a job of few items, which every instance watches whole. While
/// items are pending the counts stay, so that an owner that was changed from outside is noticed at the end.
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
        Owners::Kept => count_items(members, &planned_owners(cx.view, record.total_count)),
        Owners::Chosen(owners) => count_items(members, owners),
    }
}

/// Returns how many items each member has in an assignment.
pub(super) fn count_items(
    members: &[InstanceId],
    owners: &Assignment,
) -> BTreeMap<InstanceId, u32> {
    let mut counts: BTreeMap<_, u32> = members.iter().map(|member| (member.clone(), 0)).collect();
    for owner in owners.iter().filter_map(|(_, owner)| owner) {
        if let Some(count) = counts.get_mut(owner) {
            *count += 1;
        }
    }
    counts
}

/// The rules among instances of this project alone.
struct Plain;

impl MoveRules for Plain {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duty::MAX_ITEMS_PER_PLAN;
    use crate::duty::scene::{Scene, check, id, idle, item, running_by};

    use crate::FireTime;
    use crate::wire::NodeKind;

    /// Two items for two instances where average allocation wants them: item 0 with instance 2, item 1 with 1.
    fn settled() -> Scene {
        Scene::cluster(2, 2).owned(0, 2).owned(1, 1)
    }

    #[test]
    fn the_leader_assigns_when_the_inputs_changed_and_only_then() {
        let waits_for_nobody = || {
            let mut record = settled().plan_record();
            record.pending.insert(item(0), &id(9));
            record
        };
        let rows = vec![
            (
                "nothing is assigned yet",
                Scene::job(2).member(1).led_by(1).requested(),
                "resharding: nothing is assigned yet\n  create ledger/0: idle\n  create sharding/0/instance: 10.0.0.1@-@1\n  create ledger/1: idle\n  create sharding/1/instance: 10.0.0.1@-@1\n  create coordination/assignment: 2 items, 1 instances, 0 pending",
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
                "items come back",
                settled()
                    .configure(|c| c.sharding_total_count = 3)
                    .ledger(2, idle().retire().unwrap()),
                "resharding: the number of items changed\n  set ledger/2: idle\n  create sharding/2/instance: 10.0.0.2@-@2\n  set coordination/assignment: 3 items, 2 instances, 0 pending",
            ),
            (
                "it was asked for",
                settled().requested(),
                "resharding: it was asked for\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "a Java instance asked for it",
                settled().marked(&NodeKind::Necessary),
                "resharding: it was asked for\n  delete leader/sharding/necessary\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "an item was to wait for somebody who is away, and no longer is",
                settled().assigned(waits_for_nobody()),
                "resharding: an item belongs to nobody who is available\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "somebody has given an item to nobody",
                settled().owned(0, 9),
                "resharding: an item belongs to nobody who is available\n  set sharding/0/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "the stored configuration cannot be used, and the last good one was the last one",
                settled().gone(2).broken_config(),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "it cannot be used, and this leader has missed the last good one",
                settled().gone(2).configure(|c| c.sharding_total_count = 3).broken_config(),
                "nothing",
            ),
            (
                "nobody could take the items",
                settled().server(1, "DISABLED").server(2, "DISABLED"),
                "nothing",
            ),
            ("somebody else leads", settled().member(3).led_by(2), "nothing"),
            (
                "the strategy is unknown",
                settled().configure(|c| c.strategy = "no.such.Strategy".into()),
                "nothing",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn nothing_moves_under_a_run_and_everything_follows_after_it() {
        let pending = |i: u32, n: u32| {
            let mut record = settled().plan_record();
            record.pending.insert(item(i), &id(n));
            record
        };
        let rows = vec![
            (
                "the item that would move runs",
                settled().member(3).ledger(0, running_by(2)),
                "resharding: the available instances changed\n  set sharding/1/instance: 10.0.0.2@-@2\n  set coordination/assignment: 2 items, 3 instances, 1 pending",
            ),
            (
                "an item that stays runs",
                settled().gone(2).ledger(1, running_by(1)),
                "resharding: the available instances changed\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "it still runs",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2)),
                "nothing",
            ),
            (
                "it waits for a taker",
                settled().assigned(pending(0, 1)).ledger(0, running_by(2).orphan().unwrap()),
                "nothing",
            ),
            (
                "it is free now",
                settled().assigned(pending(0, 1)),
                "resharding: items can follow now\n  set sharding/0/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "a surplus item runs",
                settled().configure(|c| c.sharding_total_count = 1).ledger(1, running_by(1)),
                "resharding: the number of items changed\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn what_does_not_fit_one_transaction_follows_in_the_next() {
        let total = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap() + 3;
        let scene = Scene::job(total).member(1).led_by(1).requested();
        let plan = scene.plan(Duty::Resharding).unwrap();
        let owners = plan.steps.iter().filter(|step| step.sets_owner()).count();
        assert_eq!(owners, MAX_ITEMS_PER_PLAN);
        assert!(plan.to_string().ends_with("3 pending"), "{}", plan.reason);
    }

    /// The first line of each plan, and how many items it leaves to follow.
    fn reasons(plans: &[String]) -> Vec<(&str, &str)> {
        let reason = |plan: &'_ str| plan.lines().next().map(str::len).unwrap_or_default();
        let left = |plan: &str| plan.rfind(", ").map_or(0, |at| at + 2);
        plans.iter().map(|plan| (&plan[..reason(plan)], &plan[left(plan)..])).collect()
    }

    #[test]
    fn a_large_assignment_is_written_to_its_end() {
        let most = u32::try_from(MAX_ITEMS_PER_PLAN).unwrap();
        let scene = Scene::job(3 * most + 1).member(1).led_by(1).requested();
        let plans = scene.settle(Duty::Resharding);
        let follow = "resharding: items can follow now";
        let expected = [
            ("resharding: nothing is assigned yet", "1001 pending"),
            (follow, "501 pending"),
            (follow, "1 pending"),
            (follow, "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    #[test]
    fn an_owner_that_is_changed_while_items_follow_is_noticed_at_the_end() {
        let scene = Scene::cluster(64, 2);
        let mut record = scene.plan_record();
        record.counts = [(id(1), 33), (id(2), 31)].into();
        record.pending.insert(item(1), &id(1));
        let plans = scene.assigned(record).owned(3, 1).settle(Duty::Resharding);
        let expected = [
            ("resharding: items can follow now", "0 pending"),
            ("resharding: the owners are not those that were assigned", "0 pending"),
        ];
        assert_eq!(reasons(&plans), expected);
    }

    /// Item 0 is Java's and is to go to instance 1, item 1 the other way round; both have waited for a run.
    /// It was taken out of the job, and the view shows that in part.
    #[test]
    fn an_item_that_comes_back_keeps_the_owner_that_it_has() {
        let scene = Scene::cluster(2, 1).ledger(1, idle().retire().unwrap());
        let record = AssignmentRecord { total_count: 1, ..scene.plan_record() };
        let back = scene.assigned(record);
        let plan = back.plan(Duty::Resharding).unwrap();
        assert!(back.would_commit(&plan), "{plan}");
        let gone = back.without(&NodeKind::Owner(item(1)));
        assert!(!gone.would_commit(&plan), "{plan}");
    }

    /// The bound on the difference of clocks is 60 s, and it is 1 s after 1970.
    #[test]
    fn a_gap_of_a_wrong_clock_does_not_stop_an_item_that_comes_back() {
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

    /// Monitoring was on before, and the view shows its end and not yet the records.
    #[test]
    fn an_item_whose_record_was_not_seen_does_not_move_under_a_run() {
        let off = |config: &mut JobConfig| config.monitor_execution = false;
        let scene = Scene::job(2).member(1).member(2).led_by(1).requested().owned(0, 1).owned(1, 1);
        let scene = scene.configure(off);
        let plan = scene.plan(Duty::Resharding).unwrap();
        assert!(scene.would_commit(&plan), "{plan}");
        assert!(!scene.ledger(0, running_by(1)).would_commit(&plan), "{plan}");
    }
}
