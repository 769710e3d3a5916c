//! Laws of all strategies, and a plain transcription of those of ElasticJob.

use crate::cluster;

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::{Cluster, clusters};
use proptest::prelude::*;
use sharding::{
    Assignment, InstanceId, MinimalMovement, ShardingItem, ShardingStrategy, SingleShardingBalance,
    StrategyInput, StrategyRegistry, java_string_hash, sort_descending,
};

fn strategies() -> Vec<Arc<dyn ShardingStrategy>> {
    let registry = StrategyRegistry::default();
    let strategies: Vec<_> =
        registry.names().into_iter().filter_map(|name| registry.get(name).ok()).collect();
    assert_eq!(strategies.len(), 6, "all strategies are tested");
    strategies
}

/// Returns the owners that Java chooses, computed in 128 bits so that nothing overflows; `None` for
/// a strategy that ElasticJob does not have.
fn transcribed(strategy: &str, cluster: &Cluster) -> Option<Vec<Option<InstanceId>>> {
    let hash = i128::from(java_string_hash(&cluster.job_name));
    let instances = &cluster.instances;
    let rotated_by = |seed: i128| -> Vec<usize> {
        let turns = seed.abs() % instances.len().max(1) as i128;
        let mut order: Vec<_> = (0..instances.len()).collect();
        (0..turns).for_each(|_| order.rotate_left(1));
        order
    };
    let order = match strategy {
        "AVG_ALLOCATION" => rotated_by(0),
        "ODEVITY" if hash.rem_euclid(2) == 1 => rotated_by(0),
        "ODEVITY" => (0..instances.len()).rev().collect(),
        "ROUND_ROBIN" => rotated_by(hash),
        "SINGLE_SHARDING_BALANCE" => {
            let low = (hash + i128::from(cluster.now_ms)).rem_euclid(1 << 32);
            rotated_by(if low < 1 << 31 { low } else { low - (1 << 32) })
        }
        _ => return None,
    };
    let share = cluster.total as usize / instances.len().max(1);
    let in_blocks = share * instances.len();
    let owner_of = |item: usize| {
        let position = if item < in_blocks { item / share } else { item - in_blocks };
        order.get(position).map(|&index| instances[index].clone())
    };
    Some((0..cluster.total as usize).map(owner_of).collect())
}

fn renamed(
    owner: Option<&InstanceId>,
    names: &BTreeMap<InstanceId, InstanceId>,
) -> Option<InstanceId> {
    owner.map(|owner| names.get(owner).unwrap_or(owner).clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn every_item_has_one_owner_from_the_list(cluster in clusters()) {
        for strategy in strategies() {
            let assignment = strategy.assign(&cluster.input());
            prop_assert_eq!(assignment.total_count(), cluster.total);
            let items: Vec<_> = assignment.iter().map(|(item, _)| item.index()).collect();
            prop_assert_eq!(items, (0..cluster.total).collect::<Vec<_>>(), "{:?}", strategy);
            for (_, owner) in assignment.iter() {
                let is_valid = match owner {
                    Some(owner) => cluster.instances.contains(owner),
                    None => cluster.instances.is_empty(),
                };
                prop_assert!(is_valid, "{:?}: {:?}", strategy, owner);
            }
        }
    }

    #[test]
    fn loads_differ_by_one_at_most(cluster in clusters()) {
        for strategy in strategies() {
            let assignment = strategy.assign(&cluster.input());
            let mut loads: BTreeMap<_, u32> = cluster.instances.iter().map(|id| (id, 0)).collect();
            for owner in assignment.iter().filter_map(|(_, owner)| owner) {
                *loads.entry(owner).or_default() += 1;
            }
            let least = loads.values().min().unwrap_or(&0);
            let most = loads.values().max().unwrap_or(&0);
            prop_assert!(most - least <= 1, "{:?}: {:?}", strategy, loads);
        }
    }

    #[test]
    fn strategies_of_elasticjob_equal_their_transcription(cluster in clusters()) {
        let mut compared = 0;
        for strategy in strategies() {
            if let Some(owners) = transcribed(strategy.name(), &cluster) {
                let expected = Assignment::from_owners(owners);
                prop_assert_eq!(strategy.assign(&cluster.input()), expected, "{:?}", strategy);
                compared += 1;
            }
        }
        prop_assert_eq!(compared, 4);
    }

    #[test]
    fn sorted_instances_give_the_same_assignment_in_any_original_order(
        (cluster, found) in clusters().prop_flat_map(|cluster| {
            let found = Just(cluster.instances.clone()).prop_shuffle();
            (Just(cluster), found)
        })
    ) {
        let mut sorted = found.clone();
        sort_descending(&mut sorted);
        let input = cluster.input();
        for strategy in strategies() {
            let mut again = input;
            again.instances = &sorted;
            let again = strategy.assign(&again);
            prop_assert_eq!(again, strategy.assign(&input), "{:?}", strategy);
        }
        let mut unsorted = input;
        unsorted.instances = &found;
        let unsorted = MinimalMovement.assign(&unsorted);
        prop_assert_eq!(unsorted, MinimalMovement.assign(&input), "the list is unsorted");
    }

    #[test]
    fn order_preserving_renames_of_instances_rename_the_owners(cluster in clusters()) {
        let ranks = (0..cluster.instances.len()).rev();
        let new_names = ranks.map(|rank| InstanceId::new(format!("{rank:05}")));
        let names: BTreeMap<_, _> = cluster.instances.iter().cloned().zip(new_names).collect();
        let rename = |assignment: &Assignment| {
            Assignment::from_owners(assignment.iter().map(|(_, owner)| renamed(owner, &names)))
        };
        let renamed_cluster = Cluster {
            instances: cluster.instances.iter().map(|id| names[id].clone()).collect(),
            previous: cluster.previous.as_ref().map(rename),
            ..cluster.clone()
        };
        // `PLACEMENT` hashes the names.
        for strategy in strategies().into_iter().filter(|it| it.name() != "PLACEMENT") {
            let expected = rename(&strategy.assign(&cluster.input()));
            prop_assert_eq!(strategy.assign(&renamed_cluster.input()), expected, "{:?}", strategy);
        }
    }

    #[test]
    fn name_previous_and_time_matter_only_to_the_documented_strategies(
        cluster in clusters(),
        other in clusters(),
    ) {
        for strategy in strategies() {
            let input = cluster.input();
            let mut changed = input;
            let (changes_name, changes_previous, changes_time) = match strategy.name() {
                "AVG_ALLOCATION" => (true, true, true),
                "ODEVITY" | "ROUND_ROBIN" => (false, true, true),
                "SINGLE_SHARDING_BALANCE" => (false, true, false),
                "MINIMAL_MOVEMENT" => (true, false, true),
                "PLACEMENT" => (false, false, true),
                other => panic!("list the inputs of {other} in this test"),
            };
            if changes_name {
                changed.job_name = &other.job_name;
            }
            if changes_previous {
                changed.previous = other.previous.as_ref();
            }
            if changes_time {
                changed.now_ms = other.now_ms;
            }
            prop_assert_eq!(strategy.assign(&changed), strategy.assign(&input), "{:?}", strategy);
        }
    }

    /// As long as the seed is positive, the first instance advances by one each millisecond.
    #[test]
    fn a_single_item_runs_on_every_instance_in_turn(cluster in clusters(), seed in 0..1_000_000_i64) {
        let hash = i64::from(java_string_hash(&cluster.job_name));
        let owner_at = |now_ms: i64| {
            let input = StrategyInput::new(&cluster.job_name, &cluster.instances, 1);
            let assignment = SingleShardingBalance.assign(&input.with_now_ms(now_ms));
            assignment.owner(ShardingItem::new(0)).cloned()
        };
        let mut visited: Vec<_> =
            (0..).zip(&cluster.instances).filter_map(|(n, _)| owner_at(seed - hash + n)).collect();
        sort_descending(&mut visited);
        prop_assert_eq!(visited, cluster.instances);
    }
}
