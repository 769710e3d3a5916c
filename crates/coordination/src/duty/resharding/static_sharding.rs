//! Static sharding: items stay with their owners when instances join or leave.
//!
//! Only a change of the number of items or of the strategy, or the node `necessary`, assigns all
//! items anew. A lost instance with a stable name keeps its items until an instance with the same
//! name returns. An instance without a name cannot return, so its items go to the available
//! instances.

use std::collections::{BTreeMap, BTreeSet};

use sharding::{Assignment, InstanceId, ShardingItem};

use crate::JobConfig;
use crate::view::JobView;

/// Returns the owners with lost instances replaced; `None` if no owner has to be replaced.
pub(super) fn replace_lost(
    view: &JobView,
    config: &JobConfig,
    members: &[InstanceId],
    owners: impl FnOnce() -> Assignment,
) -> Option<Assignment> {
    if !config.static_sharding || !is_any_lost(view, members) {
        return None;
    }
    // Computing all owners is expensive, so that it comes after the cheap checks.
    let owners = owners();
    let mut loads = count_items(members, &owners);
    let mut any_lost = false;
    let next_owners = owners.iter().map(|(item, owner)| {
        let lost = owner.and_then(|owner| replacement(view, members, item, owner));
        let Some(replacement) = lost else { return owner.cloned() };
        any_lost = true;
        let next = match replacement {
            Replacement::Namesake(id) => Some(id),
            Replacement::AnyInstance => least_loaded(members, &loads),
        };
        if let Some(load) = next.as_ref().and_then(|next| loads.get_mut(next)) {
            *load += 1;
        }
        next
    });
    let assignment = Assignment::from_owners(next_owners);
    any_lost.then_some(assignment)
}

/// Returns true if an owner or next owner may have to be replaced.
fn is_any_lost(view: &JobView, members: &[InstanceId]) -> bool {
    let members_by_id: BTreeSet<&InstanceId> = members.iter().collect();
    let mut pending = view.assignment().into_iter().flat_map(|a| a.value.pending.next_owners());
    pending.any(|next| !members_by_id.contains(next))
        || view.owners().any(|owner| {
            !members_by_id.contains(owner) && successor(view, members, owner).is_some()
        })
}

enum Replacement {
    /// The instance that has the stable name now.
    Namesake(InstanceId),
    /// Any available instance: the lost one had no name.
    AnyInstance,
}

/// Returns the replacement of an item's owner; `None` if the owner is available or can return. An
/// unavailable next owner of a pending item is replaced at once, because it has never run the item.
fn replacement(
    view: &JobView,
    members: &[InstanceId],
    item: ShardingItem,
    owner: &InstanceId,
) -> Option<Replacement> {
    if members.contains(owner) {
        return None;
    }
    if view.next_owner(item).is_some() {
        return Some(Replacement::AnyInstance);
    }
    successor(view, members, owner)
}

/// Returns the replacement of an owner that is not available; `None` if it can return.
fn successor(view: &JobView, members: &[InstanceId], owner: &InstanceId) -> Option<Replacement> {
    if view.is_registered(owner) {
        return None;
    }
    let record = view.assignment().map(|assignment| &assignment.value);
    let Some(name) = record.and_then(|record| record.names.get(owner)) else {
        return Some(Replacement::AnyInstance);
    };
    let namesake = members.iter().find(|id| view.name_of(id) == Some(name));
    namesake.cloned().map(Replacement::Namesake)
}

fn least_loaded(members: &[InstanceId], loads: &BTreeMap<InstanceId, u32>) -> Option<InstanceId> {
    members.iter().min_by_key(|id| loads.get(*id)).cloned()
}

/// Returns the stable names of the available instances, and of owners that are away.
pub(super) fn names(
    view: &JobView,
    members: &[InstanceId],
    owners: &Assignment,
) -> BTreeMap<InstanceId, String> {
    let before = view.assignment().map(|assignment| &assignment.value.names);
    let name_of = |id: &InstanceId| {
        let kept = || before.and_then(|names| names.get(id)).cloned();
        view.name_of(id).map(str::to_owned).or_else(kept)
    };
    let ids = members.iter().chain(owners.iter().filter_map(|(_, owner)| owner));
    ids.filter_map(|id| Some((id.clone(), name_of(id)?))).collect()
}

/// Returns the number of items that each member has in an assignment.
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

#[cfg(test)]
mod tests {
    use crate::Duty;
    use crate::duty::scene::{Scene, check, id, item};

    /// Item 0 of instance 1, which has the name `a`, and item 1 of instance 2, which has the name
    /// `b`.
    fn fixed() -> Scene {
        let scene = Scene::cluster(2, 2).configure(|config| config.static_sharding = true);
        let mut record = scene.plan_record();
        record.names = [(id(1), "a".to_owned()), (id(2), "b".to_owned())].into();
        scene.assigned(record).named(1, "a").named(2, "b")
    }

    /// Item `i` is pending for instance `n`.
    fn pending(scene: Scene, i: u32, n: u32) -> Scene {
        let mut record = scene.plan_record();
        record.pending.insert(item(i), &id(n));
        scene.assigned(record)
    }

    fn nameless() -> Scene {
        Scene::cluster(2, 2).configure(|config| config.static_sharding = true)
    }

    #[test]
    fn items_stay_until_an_instance_with_the_same_name_returns() {
        let rows = vec![
            ("nothing changed", fixed(), "nothing"),
            ("an instance joins", fixed().member(3).named(3, "c"), "nothing"),
            ("an instance joins and requests resharding", fixed().member(3).requested(), "nothing"),
            ("a named instance leaves", fixed().gone(2), "nothing"),
            ("a server is disabled", fixed().server(2, "DISABLED"), "nothing"),
            (
                "next owner of a pending item is disabled",
                pending(fixed().owned(1, 1), 1, 2).server(2, "DISABLED"),
                "resharding: items of lost instances get new owners\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "an instance with the same name joins",
                fixed().gone(2).member(3).named(3, "b"),
                "resharding: items of lost instances get new owners\n  set sharding/1/instance: 10.0.0.3@-@3\n  set coordination/assignment: 2 items, 2 instances, 0 pending",
            ),
            (
                "an instance without a name leaves",
                nameless().gone(2),
                "resharding: items of lost instances get new owners\n  set sharding/1/instance: 10.0.0.1@-@1\n  set coordination/assignment: 2 items, 1 instances, 0 pending",
            ),
            (
                "the number of items changes",
                fixed().owned(0, 2).owned(1, 1).configure(|config| config.sharding_total_count = 1),
                "resharding: the number of items changed\n  set ledger/1: retired\n  delete sharding/1/instance\n  set coordination/assignment: 1 items, 2 instances, 0 pending",
            ),
        ];
        check(Duty::Resharding, rows);
    }

    #[test]
    fn names_of_absent_owners_are_kept() {
        let scene = fixed().gone(2).configure(|config| config.sharding_total_count = 3);
        let plan = scene.plan(Duty::Resharding).expect("there are more items");
        assert!(
            plan.to_string().contains("set sharding/1/instance: 10.0.0.1@-@1"),
            "all items are assigned anew: {plan}"
        );
        let back = fixed().gone(2).member(3).named(3, "b");
        let names = back.planned_names();
        assert_eq!(names, ["10.0.0.1@-@1 a", "10.0.0.3@-@3 b"]);
    }
}
