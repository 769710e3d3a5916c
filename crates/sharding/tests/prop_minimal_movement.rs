//! Minimal movement: no balanced assignment changes the owners of fewer items.

use crate::cluster;

use cluster::{Cluster, clusters};
use proptest::prelude::*;
use sharding::{
    Assignment, AverageAllocation, InstanceId, MinimalMovement, ShardingItem, ShardingStrategy,
};

/// Returns the former owners of the present items.
fn owners_before(cluster: &Cluster) -> Vec<Option<InstanceId>> {
    let owner = |item| cluster.previous.as_ref()?.owner(ShardingItem::new(item)).cloned();
    (0..cluster.total).map(owner).collect()
}

/// Returns the number of present items whose owner changes.
fn moved(cluster: &Cluster, assignment: &Assignment) -> usize {
    assignment.moves_from(&Assignment::from_owners(owners_before(cluster))).len()
}

/// Returns the fewest moves of all balanced assignments, found by exhaustive search.
fn fewest_moves(cluster: &Cluster) -> usize {
    let position_of = |owner: &InstanceId| cluster.instances.iter().position(|id| id == owner);
    let before: Vec<_> =
        owners_before(cluster).iter().map(|owner| owner.as_ref().and_then(position_of)).collect();
    every_assignment(cluster.total, cluster.instances.len())
        .filter(|after| is_balanced(after, cluster.instances.len()))
        .map(|after| after.iter().zip(&before).filter(|&(to, from)| Some(*to) != *from).count())
        .min()
        .expect("some assignment is balanced")
}

/// Returns every list of `total` positions below `count`: the digits of all numbers to that base.
fn every_assignment(total: u32, count: usize) -> impl Iterator<Item = Vec<usize>> {
    let digits = move |number| {
        let rest = std::iter::successors(Some(number), move |rest| Some(rest / count));
        rest.map(move |rest| rest % count).take(total as usize).collect()
    };
    (0..count.pow(total)).map(digits)
}

fn is_balanced(owners: &[usize], count: usize) -> bool {
    let load = |instance| owners.iter().filter(|&&owner| owner == instance).count();
    let (least, most) = ((0..count).map(load).min(), (0..count).map(load).max());
    most.zip(least).is_some_and(|(most, least)| most - least <= 1)
}

prop_compose! {
    /// Up to five items, and one to four of six instances.
    fn small_clusters()(
        instances in proptest::sample::subsequence(&["f", "e", "d", "c", "b", "a"], 1..=4),
        total in 0..=5_u32,
        previous in proptest::collection::vec(0..8_usize, 0..=6),
    ) -> Cluster {
        let owner = |n: usize| ["a", "b", "c", "d", "e", "f"].get(n).map(|&id| id.into());
        Cluster {
            job_name: "any".to_owned(),
            instances: instances.into_iter().map(InstanceId::from).collect(),
            total,
            previous: Some(Assignment::from_owners(previous.into_iter().map(owner))),
            now_ms: 0,
        }
    }
}

/// Returns the number of unavoidable moves: items without a living owner, and items beyond the
/// quota of their owner. The larger quotas go to the instances with the most items.
fn unavoidable_moves(cluster: &Cluster) -> usize {
    let before = owners_before(cluster);
    let held_by = |instance| before.iter().flatten().filter(|&owner| owner == instance).count();
    let mut held: Vec<_> = cluster.instances.iter().map(held_by).collect();
    let orphans = before.len() - held.iter().sum::<usize>();
    held.sort_unstable_by(|a, b| b.cmp(a));
    let (share, rest) = (before.len() / held.len(), before.len() % held.len());
    let quota = |rank| share + usize::from(rank < rest);
    let surplus = held.iter().enumerate().map(|(rank, held)| held.saturating_sub(quota(rank)));
    orphans + surplus.sum::<usize>()
}

fn populated() -> impl Strategy<Value = Cluster> {
    clusters().prop_filter("needs an instance", |cluster| !cluster.instances.is_empty())
}

/// Returns a cluster whose previous assignment is balanced over its present instances.
fn settled(cluster: Cluster) -> Cluster {
    let previous = MinimalMovement.assign(&cluster.input());
    Cluster { previous: Some(previous), ..cluster }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_balanced_assignment_moves_fewer_items(cluster in small_clusters()) {
        let assignment = MinimalMovement.assign(&cluster.input());
        prop_assert_eq!(moved(&cluster, &assignment), fewest_moves(&cluster), "{:?}", assignment);
    }

    #[test]
    fn only_unavoidable_moves_happen(cluster in populated()) {
        let assignment = MinimalMovement.assign(&cluster.input());
        prop_assert_eq!(moved(&cluster, &assignment), unavoidable_moves(&cluster), "{:?}", assignment);
    }

    #[test]
    fn no_item_moves_without_a_change(cluster in clusters()) {
        let settled = settled(cluster);
        prop_assert_eq!(Some(&MinimalMovement.assign(&settled.input())), settled.previous.as_ref());
    }

    #[test]
    fn only_items_of_a_leaving_instance_move(
        cluster in populated(),
        leaver in any::<prop::sample::Index>(),
    ) {
        let mut cluster = settled(cluster);
        let leaver = cluster.instances.remove(leaver.index(cluster.instances.len()));
        let previous = cluster.previous.clone().unwrap();
        let moves = MinimalMovement.assign(&cluster.input()).moves_from(&previous);
        let items: Vec<_> = moves.iter().map(|moved| moved.item).collect();
        prop_assert_eq!(items, previous.items_of(&leaver));
    }

    #[test]
    fn a_joining_instance_gets_exactly_its_share(cluster in populated()) {
        let mut cluster = settled(cluster);
        let joiner = InstanceId::new("new");
        cluster.instances.push(joiner.clone());
        let previous = cluster.previous.clone().unwrap();
        let moves = MinimalMovement.assign(&cluster.input()).moves_from(&previous);
        prop_assert_eq!(moves.len(), cluster.total as usize / cluster.instances.len());
        prop_assert!(moves.iter().all(|moved| moved.to.as_ref() == Some(&joiner)), "{:?}", moves);
    }

    #[test]
    fn average_allocation_never_moves_fewer_items(cluster in clusters()) {
        let minimal = MinimalMovement.assign(&cluster.input());
        let average = AverageAllocation.assign(&cluster.input());
        prop_assert!(moved(&cluster, &minimal) <= moved(&cluster, &average));
    }
}
