//! Even allocation over the list, rotated by the job's name and the time.

use super::average::allocate_evenly;
use super::rotate::rotated;
use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, java_string_hash};

/// `SINGLE_SHARDING_BALANCE`: rotates the list by the hash of the job's name plus the time. Then it
/// allocates as [`AverageAllocation`](crate::AverageAllocation) does.
///
/// It suits jobs of one item, so that not all of them run on the same instance. The time in
/// milliseconds and its sum with the hash are both truncated to 32 bits, as in ElasticJob 3.0.5.
/// The list is rotated by the absolute value of that sum.
///
/// Java throws in two cases in which this strategy has a result. Without instances, no item has an
/// owner. For a sum of [`i32::MIN`] see [`RotateByName`](crate::RotateByName).
///
/// Depends on the order of the instances and on [`StrategyInput::now_ms`].
///
/// # Examples
///
/// ```
/// use sharding::{ShardingItem, ShardingStrategy, SingleShardingBalance, StrategyInput};
///
/// let instances = ["h3".into(), "h2".into(), "h1".into()];
/// let owner_at = |now_ms: i64| {
///     let input = StrategyInput::new("a", &instances, 1).with_now_ms(now_ms);
///     SingleShardingBalance.assign(&input).owner(ShardingItem::new(0)).cloned()
/// };
/// assert_eq!(owner_at(1_700_000_000_000), Some("h3".into()));
/// assert_eq!(owner_at(1_700_000_000_001), Some("h1".into()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SingleShardingBalance;

impl ShardingStrategy for SingleShardingBalance {
    fn name(&self) -> &str {
        "SINGLE_SHARDING_BALANCE"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let seed = java_string_hash(input.job_name).wrapping_add(java_int(input.now_ms));
        allocate_evenly(&rotated(input.instances, seed), input.total_count)
    }
}

/// Returns Java's `(int) value`: the low 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "Java truncates here, and the results must be equal"
)]
const fn java_int(value: i64) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;

    #[test]
    fn name_and_time_rotate_the_list() {
        let cases = [
            ("sum divisible by three", "a", 1_700_000_000_000, "cba", "c"),
            ("a millisecond later", "a", 1_700_000_000_001, "cba", "a"),
            ("two milliseconds later", "a", 1_700_000_000_002, "cba", "b"),
            ("another name", "b", 1_700_000_000_000, "cba", "a"),
            ("the sum wraps", "polygenelubricants", 1_700_000_000_000, "cba", "b"),
            ("several items", "a", 1_700_000_000_001, "cba", "acba"),
            ("the sum is the smallest, four", "", -2_147_483_648, "dcba", "d"),
            ("the sum is the smallest, three: 2^31 mod 3 is 2", "", -2_147_483_648, "cba", "a"),
            ("no instances", "a", 1_700_000_000_000, "", "-"),
        ];
        for (case, job_name, now_ms, instances, expected) in cases {
            check(&SingleShardingBalance, case, (job_name, instances, now_ms), expected);
        }
    }
}
