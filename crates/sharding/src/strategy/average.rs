//! Even allocation in the order of the list.

use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, InstanceId};

/// `AVG_ALLOCATION`, the default: equal blocks of consecutive items in the order of the list. The
/// remaining items go, one each, to the first instances.
///
/// # Examples
///
/// ```
/// use sharding::{AverageAllocation, ShardingItem, ShardingStrategy, StrategyInput};
///
/// let instances = ["h2".into(), "h1".into()];
/// let assignment = AverageAllocation.assign(&StrategyInput::new("report", &instances, 3));
/// assert_eq!(assignment.items_of(&instances[0]), [0, 2].map(ShardingItem::new));
/// assert_eq!(assignment.items_of(&instances[1]), [1].map(ShardingItem::new));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AverageAllocation;

impl ShardingStrategy for AverageAllocation {
    fn name(&self) -> &str {
        "AVG_ALLOCATION"
    }

    fn aliases(&self) -> &[&str] {
        &[
            "com.dangdang.ddframe.job.lite.api.strategy.impl.AverageAllocationJobShardingStrategy",
            "com.dangdang.ddframe.job.plugin.sharding.strategy.AverageAllocationJobShardingStrategy",
        ]
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        allocate_evenly(&input.instances.iter().collect::<Vec<_>>(), input.total_count)
    }
}

/// Allocates `total` items to the instances in this order: equal blocks, then the remaining items
/// one by one.
pub(super) fn allocate_evenly(instances: &[&InstanceId], total: u32) -> Assignment {
    let count = u32::try_from(instances.len()).expect("instances fit in memory, so in 32 bits");
    let Some(share) = total.checked_div(count) else { return Assignment::unassigned(total) };
    let blocks = (0..count).flat_map(|position| std::iter::repeat_n(position, share as usize));
    let rest = 0..total % count;
    Assignment::from_positions(instances, blocks.chain(rest).map(Some))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;

    #[test]
    fn blocks_are_equal_and_remaining_items_go_to_the_first_instances() {
        let cases = [
            ("no items", "cba", ""),
            ("fewer items than instances", "cba", "cb"),
            ("one item each", "cba", "cba"),
            ("one remaining item", "cba", "cbac"),
            ("two remaining items", "cba", "cccbbbaaacb"),
            ("no remaining item", "cba", "cccbbbaaa"),
            ("one instance", "a", "aaaaa"),
            ("another order of the list", "abc", "abca"),
            ("no instances", "", "---"),
            ("no instances and no items", "", ""),
        ];
        for (case, instances, expected) in cases {
            check(&AverageAllocation, case, ("any", instances, 0), expected);
        }
    }
}
