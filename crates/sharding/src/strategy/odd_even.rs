//! Even allocation over the list or its reverse, by the job's name.

use super::average::allocate_evenly;
use super::{ShardingStrategy, StrategyInput};
use crate::{Assignment, java_string_hash};

/// `ODEVITY`: allocates as [`AverageAllocation`](crate::AverageAllocation) does, over the given
/// list if the hash of the job's name is odd, or over its reverse if it is even.
///
/// This spreads jobs with fewer items than instances over both ends of the list. The input is not
/// changed, whereas the strategy in Java reverses the caller's list in place.
///
/// Depends on the order of the instances. Without instances, no item has an owner.
///
/// # Examples
///
/// ```
/// use sharding::{OddEvenByName, ShardingItem, ShardingStrategy, StrategyInput};
///
/// let instances = ["h2".into(), "h1".into()];
/// let owner_of_first = |job_name: &str| {
///     let assignment = OddEvenByName.assign(&StrategyInput::new(job_name, &instances, 1));
///     assignment.owner(ShardingItem::new(0)).cloned()
/// };
/// assert_eq!(owner_of_first("a"), Some("h2".into()), "97 is odd");
/// assert_eq!(owner_of_first("b"), Some("h1".into()), "98 is even");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OddEvenByName;

impl ShardingStrategy for OddEvenByName {
    fn name(&self) -> &str {
        "ODEVITY"
    }

    fn aliases(&self) -> &[&str] {
        &[
            "com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy",
            "com.dangdang.ddframe.job.plugin.sharding.strategy.OdevitySortByNameJobShardingStrategy",
        ]
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let mut instances: Vec<_> = input.instances.iter().collect();
        if java_string_hash(input.job_name) % 2 == 0 {
            instances.reverse();
        }
        allocate_evenly(&instances, input.total_count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;

    #[test]
    fn an_even_hash_reverses_the_list() {
        let cases = [
            ("odd", "a", "cba", "cb"),
            ("even", "b", "cba", "ab"),
            ("negative and odd", "simpleJob", "cba", "cba"),
            ("negative and even", "test_job", "cba", "abcab"),
            ("zero is even", "", "cba", "abca"),
            ("the smallest hash is even", "polygenelubricants", "cba", "abca"),
            ("no instances", "b", "", "---"),
        ];
        for (case, job_name, instances, expected) in cases {
            check(&OddEvenByName, case, (job_name, instances, 0), expected);
        }
    }
}
