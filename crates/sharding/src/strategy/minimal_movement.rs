//! Minimal movement under balance.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{ShardingStrategy, StrategyInput};
use crate::instance::descending;
use crate::{Assignment, InstanceId};

/// `MINIMAL_MOVEMENT`, not part of ElasticJob: balanced to ±1, with the fewest changes of owners
/// that any balanced assignment needs.
///
/// 1. Every instance gets a quota: total / instances, rounded down. The instances with the most
///    items get one more, as many of them as there are remaining items. Ties go to the first
///    instance in [descending order](crate::sort_descending).
/// 2. An instance keeps its lowest items, up to its quota.
/// 3. All other items (of instances that left, beyond a quota, new) go to the instances with free
///    quota. Items are taken in ascending order, instances in descending order.
///
/// ```text
/// before   c 0 1 2    b 3 4 5        a 6 7 8
/// c left              b 0 1 3 4 5    a 2 6 7 8     three moves; AVG_ALLOCATION makes six
/// ```
///
/// The result does not depend on the order of the instances, only on the set of instances, the
/// total count and the previous assignment. Without a previous assignment all items are new.
/// Without instances, no item has an owner.
///
/// Java instances do not know this strategy: a job with Java instances should use a strategy of
/// ElasticJob.
///
/// # Examples
///
/// ```
/// use sharding::{Assignment, MinimalMovement, ShardingStrategy, StrategyInput};
///
/// let owners = ["a", "a", "a", "b", "b", "b", "c", "c", "c"];
/// let previous = Assignment::from_owners(owners.map(|id| Some(id.into())));
///
/// let instances = ["b".into(), "a".into()];
/// let input = StrategyInput::new("report", &instances, 9).with_previous(&previous);
/// let moves = MinimalMovement.assign(&input).moves_from(&previous);
/// assert_eq!(moves.len(), 3, "only the items of c move");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimalMovement;

impl ShardingStrategy for MinimalMovement {
    fn name(&self) -> &str {
        "MINIMAL_MOVEMENT"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let instances = distinct_descending(input.instances);
        let mut owner_of = surviving_owners(input, &instances);
        let mut free = quotas(input.total_count, &item_counts(&owner_of, instances.len()));
        keep_up_to_quota(&mut free, &mut owner_of);
        assign_unowned(&free, &mut owner_of);
        Assignment::from_positions(&instances, owner_of.into_iter())
    }
}

/// Returns every instance once, in descending order.
pub(super) fn distinct_descending(instances: &[InstanceId]) -> Vec<&InstanceId> {
    let mut distinct: Vec<_> = instances.iter().collect();
    distinct.sort_unstable_by(|left, right| descending(left, right));
    distinct.dedup();
    distinct
}

/// Returns the position of each item's previous owner in `instances`, if that instance still
/// exists.
pub(super) fn surviving_owners(
    input: &StrategyInput<'_>,
    instances: &[&InstanceId],
) -> Vec<Option<u32>> {
    let mut owner_of = vec![None; input.total_count as usize];
    let Some(previous) = input.previous else { return owner_of };
    let position_of: BTreeMap<_, _> = instances.iter().copied().zip(0_u32..).collect();
    let survivors: Vec<_> =
        previous.owners().iter().map(|owner| position_of.get(owner).copied()).collect();
    for (owner, before) in owner_of.iter_mut().zip(previous.owner_positions()) {
        *owner = before.and_then(|before| survivors[before]);
    }
    owner_of
}

/// Returns the number of items of each instance.
fn item_counts(owner_of: &[Option<u32>], n_instances: usize) -> Vec<u32> {
    let mut counts = vec![0; n_instances];
    for &instance in owner_of.iter().flatten() {
        counts[instance as usize] += 1;
    }
    counts
}

/// Returns the quota of each instance. The remaining items go to the instances with the most items,
/// so that these stay.
fn quotas(total: u32, counts: &[u32]) -> Vec<u32> {
    let count = u32::try_from(counts.len()).expect("instances fit in memory, so in 32 bits");
    let Some(share) = total.checked_div(count) else { return Vec::new() };
    let mut quotas = vec![share; counts.len()];
    let mut by_load: Vec<usize> = (0..counts.len()).collect();
    // The sort is stable, so that ties stay in the order of the instances.
    by_load.sort_by_key(|&instance| Reverse(counts[instance]));
    for &instance in by_load.iter().take((total % count) as usize) {
        quotas[instance] += 1;
    }
    quotas
}

/// Removes the items of an instance beyond its quota, and leaves the unused quota in `free`.
fn keep_up_to_quota(free: &mut [u32], owner_of: &mut [Option<u32>]) {
    for owner in owner_of {
        let Some(instance) = *owner else { continue };
        match &mut free[instance as usize] {
            0 => *owner = None,
            left => *left -= 1,
        }
    }
}

/// Assigns the items without owner to the instances with free quota. The quotas sum to the total
/// count, so every item gets an owner unless there are no instances.
fn assign_unowned(free: &[u32], owner_of: &mut [Option<u32>]) {
    let mut new_owners = (0_u32..)
        .zip(free)
        .flat_map(|(instance, &left)| std::iter::repeat_n(instance, left as usize));
    for owner in owner_of.iter_mut().filter(|owner| owner.is_none()) {
        *owner = new_owners.next();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assignment, instances};
    use super::*;

    #[test]
    fn items_keep_their_owner_if_balance_permits() {
        let cases = [
            ("first assignment", "", "cba", 8, "cccbbbaa"),
            ("no change", "aabbcc", "cba", 6, "aabbcc"),
            ("a scattered assignment stays", "abcacb", "cba", 6, "abcacb"),
            ("an uneven assignment stays", "abcab", "cba", 5, "abcab"),
            ("one instance joins", "aaabbb", "cba", 6, "aacbbc"),
            ("one instance leaves", "aabbcc", "ba", 6, "aabbba"),
            (
                "one instance leaves, the remaining item keeps its owner",
                "aaabbcc",
                "ba",
                7,
                "aaabbba",
            ),
            ("all instances are replaced", "aabb", "dc", 4, "ddcc"),
            ("all instances leave", "ab", "", 2, "--"),
            ("more items", "ab", "ba", 5, "abbba"),
            ("fewer items", "aabb", "ba", 2, "ab"),
            ("fewer items than instances", "ab", "dcba", 2, "ab"),
            ("an unbalanced assignment is balanced", "aaaaaa", "ba", 6, "aaabbb"),
            ("items without owner", "a-b-", "ba", 4, "abba"),
            ("a duplicate counts once", "aabb", "aab", 4, "aabb"),
            ("no items", "aabb", "ba", 0, ""),
            ("no owners before and after", "--", "", 2, "--"),
        ];
        for (case, before, letters, total, expected) in cases {
            let (previous, instances) = (assignment(before), instances(letters));
            let input = StrategyInput::new("any", &instances, total);
            let after = MinimalMovement.assign(&input.with_previous(&previous));
            assert_eq!(after, assignment(expected), "{case}");
        }
    }

    #[test]
    fn no_previous_assignment_equals_an_empty_one() {
        let instances = instances("bca");
        let input = StrategyInput::new("any", &instances, 7);
        assert_eq!(MinimalMovement.assign(&input), assignment("cccbbaa"));
        let empty = Assignment::unassigned(0);
        assert_eq!(MinimalMovement.assign(&input.with_previous(&empty)), assignment("cccbbaa"));
    }
}
