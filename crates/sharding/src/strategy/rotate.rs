//! The list, rotated by the job's name.

use super::average::deal_evenly;
use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, InstanceId, java_string_hash};

/// `ROUND_ROBIN`: rotates the list to the left by the absolute value of the job name's hash, then
/// deals as [`AverageAllocation`](crate::AverageAllocation) does.
///
/// Instances are rotated, not items: consecutive items stay together.
///
/// Java throws where this does not. No instances: nobody owns anything. A hash of [`i32::MIN`], as
/// `polygenelubricants` has: the absolute value is 2³¹, where Java's overflows; with a power of two
/// of instances both rotate by zero, with any other number Java fails and this rotates by 2³¹
/// modulo the number.
///
/// Depends on the order of the instances.
///
/// # Examples
///
/// ```
/// use sharding::{RotateByName, ShardingItem, ShardingStrategy, StrategyInput};
///
/// let instances = ["h3".into(), "h2".into(), "h1".into()];
/// let owner_of_first = |job_name: &str| {
///     let assignment = RotateByName.assign(&StrategyInput::new(job_name, &instances, 3));
///     assignment.owner(ShardingItem::new(0)).cloned()
/// };
/// assert_eq!(owner_of_first("a"), Some("h2".into()), "97 modulo 3 is 1");
/// assert_eq!(owner_of_first("b"), Some("h1".into()), "98 modulo 3 is 2");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RotateByName;

impl ShardingStrategy for RotateByName {
    fn name(&self) -> &str {
        "ROUND_ROBIN"
    }

    fn aliases(&self) -> &[&str] {
        &[
            "com.dangdang.ddframe.job.lite.api.strategy.impl.RotateServerByNameJobShardingStrategy",
            "com.dangdang.ddframe.job.plugin.sharding.strategy.RotateServerByNameJobShardingStrategy",
        ]
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let hash = java_string_hash(input.job_name);
        deal_evenly(&rotated(input.instances, hash), input.total_count)
    }
}

/// The instances, rotated to the left by the absolute value of `seed`.
pub(super) fn rotated(instances: &[InstanceId], seed: i32) -> Vec<&InstanceId> {
    let mut rotated: Vec<_> = instances.iter().collect();
    // The absolute value is taken as unsigned, so that the smallest seed has one.
    if let Some(offset) = (seed.unsigned_abs() as usize).checked_rem(instances.len()) {
        rotated.rotate_left(offset);
    }
    rotated
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;

    #[test]
    fn the_name_says_who_is_first() {
        let cases = [
            ("by one", "a", "cba", "bbbaaaccc"),
            ("by two", "b", "cba", "aaacccbbb"),
            ("negative hash", "simpleJob", "cba", "bbaaccba"),
            ("divisible hash", "test_job", "cba", "ccbbaacb"),
            ("zero", "", "cba", "cbac"),
            ("one instance", "a", "a", "aaa"),
            ("the smallest hash, one instance", "polygenelubricants", "a", "aaa"),
            ("the smallest hash, two instances", "polygenelubricants", "ba", "bab"),
            ("the smallest hash, four instances", "polygenelubricants", "dcba", "ddccbbaa"),
            ("the smallest hash, three: 2^31 mod 3 is 2", "polygenelubricants", "cba", "acb"),
            ("the smallest hash, five: 2^31 mod 5 is 3", "polygenelubricants", "edcba", "bae"),
            ("nobody there", "a", "", "---"),
        ];
        for (case, job_name, instances, expected) in cases {
            check(&RotateByName, case, (job_name, instances, 0), expected);
        }
    }
}
