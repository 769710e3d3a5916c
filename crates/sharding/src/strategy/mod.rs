//! What a sharding strategy is, and the ones that come with the crate.

mod average;
mod minimal_movement;
mod odd_even;
mod registry;
mod rotate;
mod single_balance;

use std::fmt;

pub use average::AverageAllocation;
pub use minimal_movement::MinimalMovement;
pub use odd_even::OddEvenByName;
pub use registry::{StrategyRegistry, UnknownStrategy};
pub use rotate::RotateByName;
pub use single_balance::SingleShardingBalance;

use crate::{Assignment, InstanceId};

/// Decides who owns which item.
///
/// An implementation is a pure function of its input: no clock, no randomness, no IO, and it cannot
/// fail. The answer has [`StrategyInput::total_count`] items, owned by instances of the input only;
/// if there are no instances, nobody owns anything.
///
/// # Examples
///
/// ```
/// use sharding::{Assignment, ShardingStrategy, StrategyInput};
///
/// /// Everything on the first instance; the others stand by.
/// #[derive(Debug)]
/// struct OneWorker;
///
/// impl ShardingStrategy for OneWorker {
///     fn name(&self) -> &str {
///         "ONE_WORKER"
///     }
///
///     fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
///         let worker = input.instances.first();
///         Assignment::from_owners((0..input.total_count).map(|_| worker.cloned()))
///     }
/// }
///
/// let instances = ["b".into(), "a".into()];
/// let assignment = OneWorker.assign(&StrategyInput::new("report", &instances, 3));
/// assert_eq!(assignment.items_of(&instances[0]).len(), 3);
/// ```
pub trait ShardingStrategy: Send + Sync + fmt::Debug {
    /// Returns the name a job configuration calls the strategy by, such as `AVG_ALLOCATION`.
    fn name(&self) -> &str;

    /// Returns further names for the same strategy, such as the class it had in Java; none by
    /// default.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// Returns the owner of every item.
    fn assign(&self, input: &StrategyInput<'_>) -> Assignment;
}

/// Everything a strategy may look at.
///
/// # Examples
///
/// ```
/// use sharding::{Assignment, StrategyInput};
///
/// let instances = ["b".into(), "a".into()];
/// let previous = Assignment::unassigned(4);
/// let input = StrategyInput::new("report", &instances, 4)
///     .with_previous(&previous)
///     .with_now_ms(1_700_000_000_000);
/// assert_eq!(input.previous, Some(&previous));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StrategyInput<'a> {
    /// The name of the job; the strategies "by name" hash it.
    pub job_name: &'a str,
    /// The instances that may own items, each once, in the order the leader lists them; see
    /// [`sort_descending`](crate::sort_descending).
    ///
    /// An instance listed twice gets two shares from the strategies of ElasticJob and one from
    /// [`MinimalMovement`].
    pub instances: &'a [InstanceId],
    /// The number of items to assign; zero is allowed and gives an assignment without items.
    pub total_count: u32,
    /// The assignment in force until now, if there is one; only [`MinimalMovement`] looks at it.
    pub previous: Option<&'a Assignment>,
    /// The wall-clock time in milliseconds since 1970 UTC, 0 unless given; only
    /// [`SingleShardingBalance`] looks at it.
    pub now_ms: i64,
}

impl<'a> StrategyInput<'a> {
    /// Makes an input without a previous assignment and with time 0.
    #[must_use]
    pub const fn new(job_name: &'a str, instances: &'a [InstanceId], total_count: u32) -> Self {
        Self { job_name, instances, total_count, previous: None, now_ms: 0 }
    }

    /// Adds the assignment in force until now.
    #[must_use]
    pub const fn with_previous(self, previous: &'a Assignment) -> Self {
        Self { previous: Some(previous), ..self }
    }

    /// Adds the wall-clock time in milliseconds since 1970 UTC.
    #[must_use]
    pub const fn with_now_ms(self, now_ms: i64) -> Self {
        Self { now_ms, ..self }
    }
}

/// What the tests of the strategies share.
#[cfg(test)]
mod testing {
    use super::{ShardingStrategy, StrategyInput};
    use crate::{Assignment, InstanceId};

    /// The instances named by a text, one letter each.
    pub(super) fn instances(letters: &str) -> Vec<InstanceId> {
        letters.chars().map(|letter| InstanceId::new(letter.to_string())).collect()
    }

    /// One letter per item; `-` is nobody.
    pub(super) fn drawn(owners: &str) -> Assignment {
        Assignment::from_owners(
            owners.chars().map(|c| (c != '-').then(|| InstanceId::new(c.to_string()))),
        )
    }

    /// Fails unless `strategy` deals `expected` (one letter per item) to the instances.
    pub(super) fn check(
        strategy: &dyn ShardingStrategy,
        case: &str,
        (job_name, letters, now_ms): (&str, &str, i64),
        expected: &str,
    ) {
        let instances = instances(letters);
        let total = u32::try_from(expected.len()).unwrap();
        let input = StrategyInput::new(job_name, &instances, total).with_now_ms(now_ms);
        assert_eq!(strategy.assign(&input), drawn(expected), "{case}");
    }
}
