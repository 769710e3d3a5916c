//! Equal blocks in the order of the list.

use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, InstanceId};

/// `AVG_ALLOCATION`, the default: equal blocks of consecutive items in the order of the list; what
/// does not divide goes, one item each, to the first instances.
///
/// ```text
/// 3 instances, 11 items:   1st 0 1 2  9     2nd 3 4 5  10     3rd 6 7 8
/// ```
///
/// Depends on the order of the instances. No instances: nobody owns anything.
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
        deal_evenly(&input.instances.iter().collect::<Vec<_>>(), input.total_count)
    }
}

/// Deals `total` items to the instances in this order: equal blocks, then the rest one by one.
pub(super) fn deal_evenly(instances: &[&InstanceId], total: u32) -> Assignment {
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
    fn items_are_dealt_in_blocks_and_the_rest_to_the_first() {
        let cases = [
            ("no items", "cba", ""),
            ("fewer items than instances", "cba", "cb"),
            ("one each", "cba", "cba"),
            ("one left over", "cba", "cbac"),
            ("two left over", "cba", "cccbbbaaacb"),
            ("nothing left over", "cba", "cccbbbaaa"),
            ("one instance", "a", "aaaaa"),
            ("the order of the list counts", "abc", "abca"),
            ("nobody there", "", "---"),
            ("nobody there and nothing to do", "", ""),
        ];
        for (case, instances, expected) in cases {
            check(&AverageAllocation, case, ("any", instances, 0), expected);
        }
    }
}
