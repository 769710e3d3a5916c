//! As few changes as a balanced assignment allows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{ShardingStrategy, StrategyInput};
use crate::instance::descending;
use crate::{Assignment, InstanceId};

/// `MINIMAL_MOVEMENT`, not known to ElasticJob: balanced to ±1, and changes the owners of as few
/// items as any balanced assignment can.
///
/// 1. Every instance gets a quota: total / instances, rounded down, and one more for as many as the
///    division leaves over. Those are the instances that hold the most now; among equals, the first
///    in [descending order](crate::sort_descending).
/// 2. An instance keeps the lowest items it has, up to its quota.
/// 3. The other items (of instances that left, beyond a quota, new) go in ascending order to the
///    instances with room left, in descending order of the instances.
///
/// ```text
/// before   c 0 1 2    b 3 4 5        a 6 7 8
/// c left              b 0 1 3 4 5    a 2 6 7 8     three moves; AVG_ALLOCATION makes six
/// ```
///
/// Does not depend on the order of the instances, only on who they are, on the total count and on
/// the previous assignment. Without a previous assignment all items are new. No instances: nobody
/// owns anything.
///
/// The strategy is not known to Java instances: a job that shares its registry with them should use
/// one they know.
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
/// assert_eq!(MinimalMovement.assign(&input).moves_from(&previous).len(), 3, "those of c");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinimalMovement;

impl ShardingStrategy for MinimalMovement {
    fn name(&self) -> &str {
        "MINIMAL_MOVEMENT"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let members = members(input.instances);
        let mut owner_of = surviving_owners(input, &members);
        let mut room = quotas(input.total_count, &held(&owner_of, members.len()));
        keep_up_to(&mut room, &mut owner_of);
        hand_out(&room, &mut owner_of);
        Assignment::from_positions(&members, owner_of.into_iter())
    }
}

/// Every instance once, descending.
fn members(instances: &[InstanceId]) -> Vec<&InstanceId> {
    let mut members: Vec<_> = instances.iter().collect();
    members.sort_unstable_by(|left, right| descending(left, right));
    members.dedup();
    members
}

/// Per item, the position among the members of its previous owner, if that is still a member.
fn surviving_owners(input: &StrategyInput<'_>, members: &[&InstanceId]) -> Vec<Option<u32>> {
    let mut owner_of = vec![None; input.total_count as usize];
    let Some(previous) = input.previous else { return owner_of };
    let position_of: BTreeMap<_, _> = members.iter().copied().zip(0_u32..).collect();
    let survivors: Vec<_> =
        previous.owners().iter().map(|owner| position_of.get(owner).copied()).collect();
    for (owner, before) in owner_of.iter_mut().zip(previous.owner_positions()) {
        *owner = before.and_then(|before| survivors[before]);
    }
    owner_of
}

/// How many items each member holds.
fn held(owner_of: &[Option<u32>], members: usize) -> Vec<u32> {
    let mut held = vec![0; members];
    for &member in owner_of.iter().flatten() {
        held[member as usize] += 1;
    }
    held
}

/// How many items each member is to have; the odd ones go where most are held, so that they stay.
fn quotas(total: u32, held: &[u32]) -> Vec<u32> {
    let count = u32::try_from(held.len()).expect("instances fit in memory, so in 32 bits");
    let Some(share) = total.checked_div(count) else { return Vec::new() };
    let mut quotas = vec![share; held.len()];
    let mut by_load: Vec<usize> = (0..held.len()).collect();
    // The sort is stable, so that equals stay in the order of the members.
    by_load.sort_by_key(|&member| Reverse(held[member]));
    for &member in by_load.iter().take((total % count) as usize) {
        quotas[member] += 1;
    }
    quotas
}

/// Takes away what a member holds beyond its quota, and leaves in `room` what it can still take.
fn keep_up_to(room: &mut [u32], owner_of: &mut [Option<u32>]) {
    for owner in owner_of {
        let Some(member) = *owner else { continue };
        match &mut room[member as usize] {
            0 => *owner = None,
            left => *left -= 1,
        }
    }
}

/// Gives the items nobody owns to the members with room. There is room for all of them, because the
/// quotas sum to the total count, unless there are no members.
fn hand_out(room: &[u32], owner_of: &mut [Option<u32>]) {
    let mut takers =
        (0_u32..).zip(room).flat_map(|(member, &left)| std::iter::repeat_n(member, left as usize));
    for owner in owner_of.iter_mut().filter(|owner| owner.is_none()) {
        *owner = takers.next();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{drawn, instances};
    use super::*;

    #[test]
    fn items_stay_unless_they_cannot() {
        let cases = [
            ("first assignment", "", "cba", 8, "cccbbbaa"),
            ("nothing changed", "aabbcc", "cba", 6, "aabbcc"),
            ("a scattered one stays", "abcacb", "cba", 6, "abcacb"),
            ("an uneven one stays", "abcab", "cba", 5, "abcab"),
            ("one joins", "aaabbb", "cba", 6, "aacbbc"),
            ("one leaves", "aabbcc", "ba", 6, "aabbba"),
            ("one leaves, the odd item stays where it is", "aaabbcc", "ba", 7, "aaabbba"),
            ("all leave", "aabb", "dc", 4, "ddcc"),
            ("all change", "ab", "", 2, "--"),
            ("more items", "ab", "ba", 5, "abbba"),
            ("fewer items", "aabb", "ba", 2, "ab"),
            ("fewer items than instances", "ab", "dcba", 2, "ab"),
            ("an unbalanced one is balanced", "aaaaaa", "ba", 6, "aaabbb"),
            ("items without owner", "a-b-", "ba", 4, "abba"),
            ("a duplicate counts once", "aabb", "aab", 4, "aabb"),
            ("no items", "aabb", "ba", 0, ""),
            ("nobody before and after", "--", "", 2, "--"),
        ];
        for (case, before, members, total, expected) in cases {
            let (previous, instances) = (drawn(before), instances(members));
            let input = StrategyInput::new("any", &instances, total);
            let after = MinimalMovement.assign(&input.with_previous(&previous));
            assert_eq!(after, drawn(expected), "{case}");
        }
    }

    #[test]
    fn no_previous_assignment_is_the_same_as_an_empty_one() {
        let instances = instances("bca");
        let input = StrategyInput::new("any", &instances, 7);
        assert_eq!(MinimalMovement.assign(&input), drawn("cccbbaa"));
        let empty = Assignment::unassigned(0);
        assert_eq!(MinimalMovement.assign(&input.with_previous(&empty)), drawn("cccbbaa"));
    }
}
