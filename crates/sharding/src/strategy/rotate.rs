//! Even allocation over the list, rotated by the job's name.

use super::average::allocate_evenly;
use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, InstanceId, java_string_hash};

/// `ROUND_ROBIN`: rotates the list to the left by the absolute value of the hash of the job's name.
/// Then it allocates as [`AverageAllocation`](crate::AverageAllocation) does.
///
/// The instances are rotated, not the items: consecutive items stay together.
///
/// Java throws in two cases in which this strategy has a result:
///
/// - Without instances, no item has an owner.
/// - The hash is [`i32::MIN`], as for `polygenelubricants`. Its absolute value, 2³¹, overflows in
///   Java. With a power of two of instances both rotate by zero. With any other number Java fails,
///   and this strategy rotates by 2³¹ modulo that number.
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
        allocate_evenly(&rotated(input.instances, hash), input.total_count)
    }
}

/// Returns the instances, rotated to the left by the absolute value of `seed`.
pub(super) fn rotated(instances: &[InstanceId], seed: i32) -> Vec<&InstanceId> {
    let mut rotated: Vec<_> = instances.iter().collect();
    // The absolute value is unsigned, so that it exists for the smallest seed, too.
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
    fn the_hash_of_the_name_rotates_the_list() {
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
            ("no instances", "a", "", "---"),
        ];
        for (case, job_name, instances, expected) in cases {
            check(&RotateByName, case, (job_name, instances, 0), expected);
        }
    }
}
