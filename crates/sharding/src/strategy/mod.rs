//! The trait of sharding strategies, and the built-in strategies.

mod average;
mod minimal_movement;
mod odd_even;
mod placement;
mod registry;
mod rotate;
mod single_balance;

use std::collections::BTreeMap;
use std::fmt;

pub use average::AverageAllocation;
pub use minimal_movement::MinimalMovement;
pub use odd_even::OddEvenByName;
pub use placement::Placement;
pub use registry::{StrategyRegistry, UnknownStrategy};
pub use rotate::RotateByName;
pub use single_balance::SingleShardingBalance;

use crate::placement::reason::by_former_owners;
use crate::{Assignment, InstanceAttributes, InstanceId, PlacementReason, PlacementRules};

/// A function that chooses the owner of each item.
///
/// An implementation is a pure function of its input: no clock, no randomness, no I/O, and it
/// cannot fail. The result has [`StrategyInput::total_count`] items, owned only by instances of the
/// input. Without instances, no item has an owner.
///
/// # Examples
///
/// ```
/// use sharding::{Assignment, ShardingStrategy, StrategyInput};
///
/// /// Assigns all items to the first instance; the other instances are standbys.
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
    /// Returns the name of the strategy in a job configuration, such as `AVG_ALLOCATION`.
    fn name(&self) -> &str;

    /// Returns further names of the strategy, such as the name of its Java class; none by default.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// Returns the owner of every item.
    fn assign(&self, input: &StrategyInput<'_>) -> Assignment;

    /// Returns true if the strategy applies the [rules](StrategyInput::rules) of jobs. A job with
    /// preferences, pins or shares of zones is invalid with any other strategy.
    fn applies_rules(&self) -> bool {
        false
    }

    /// Returns the reason for the owner of each item of an assignment that [`assign`](Self::assign)
    /// returned for this input.
    ///
    /// The default compares the owners with the former ones.
    fn explain(&self, input: &StrategyInput<'_>, assignment: &Assignment) -> Vec<PlacementReason> {
        by_former_owners(input, assignment)
    }
}

/// Input of a strategy.
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
#[non_exhaustive]
pub struct StrategyInput<'a> {
    /// The name of the job. The strategies "by name" hash it.
    pub job_name: &'a str,
    /// The instances that may own items, each once, in the order in which the leader lists them;
    /// see [`sort_descending`](crate::sort_descending).
    ///
    /// An instance that is listed twice gets two shares from the strategies of ElasticJob, and one
    /// from [`MinimalMovement`].
    pub instances: &'a [InstanceId],
    /// The number of items to assign; 0 gives an assignment without items.
    pub total_count: u32,
    /// The assignment until now, if there is one. [`MinimalMovement`] and [`Placement`] read it.
    pub previous: Option<&'a Assignment>,
    /// The wall-clock time in milliseconds since 1970 UTC. Default: 0. Only
    /// [`SingleShardingBalance`] reads it.
    pub now_ms: i64,
    /// The attributes of instances; an instance that is missing has the defaults. It can have
    /// instances that own nothing, such as those that a required condition excludes.
    attributes: &'a BTreeMap<InstanceId, InstanceAttributes>,
    /// The rules of the job.
    rules: &'a PlacementRules,
}

static NO_ATTRIBUTES: BTreeMap<InstanceId, InstanceAttributes> = BTreeMap::new();
static DEFAULT_ATTRIBUTES: InstanceAttributes = InstanceAttributes::DEFAULT;
static NO_RULES: PlacementRules = PlacementRules::NONE;

impl<'a> StrategyInput<'a> {
    /// Returns an input without a previous assignment, attributes and rules, and with time 0.
    #[must_use]
    pub const fn new(job_name: &'a str, instances: &'a [InstanceId], total_count: u32) -> Self {
        Self {
            job_name,
            instances,
            total_count,
            previous: None,
            now_ms: 0,
            attributes: &NO_ATTRIBUTES,
            rules: &NO_RULES,
        }
    }

    /// Sets the attributes of instances.
    #[must_use]
    pub const fn with_attributes(
        self,
        attributes: &'a BTreeMap<InstanceId, InstanceAttributes>,
    ) -> Self {
        Self { attributes, ..self }
    }

    /// Sets the rules of the job.
    #[must_use]
    pub const fn with_rules(self, rules: &'a PlacementRules) -> Self {
        Self { rules, ..self }
    }

    /// Returns the attributes of an instance. Only [`Placement`] reads them.
    #[must_use]
    pub fn attributes_of(&self, instance: &InstanceId) -> &'a InstanceAttributes {
        self.attributes.get(instance).unwrap_or(&DEFAULT_ATTRIBUTES)
    }

    /// Returns the rules of the job. Only [`Placement`] reads them.
    #[must_use]
    pub const fn rules(&self) -> &'a PlacementRules {
        self.rules
    }

    /// Sets the assignment until now.
    #[must_use]
    pub const fn with_previous(self, previous: &'a Assignment) -> Self {
        Self { previous: Some(previous), ..self }
    }

    /// Sets the wall-clock time in milliseconds since 1970 UTC.
    #[must_use]
    pub const fn with_now_ms(self, now_ms: i64) -> Self {
        Self { now_ms, ..self }
    }
}

/// Helpers for the tests of the strategies.
#[cfg(test)]
mod testing {
    use super::{ShardingStrategy, StrategyInput};
    use crate::{Assignment, InstanceId};

    /// Returns instances from a text, one letter each.
    pub(super) fn instances(letters: &str) -> Vec<InstanceId> {
        letters.chars().map(|letter| InstanceId::new(letter.to_string())).collect()
    }

    /// Returns an assignment from one letter per item; `-` is an item without owner.
    pub(super) fn assignment(owners: &str) -> Assignment {
        Assignment::from_owners(
            owners.chars().map(|c| (c != '-').then(|| InstanceId::new(c.to_string()))),
        )
    }

    /// Asserts that `strategy` assigns `expected` (one letter per item) to the instances.
    pub(super) fn check(
        strategy: &dyn ShardingStrategy,
        case: &str,
        (job_name, letters, now_ms): (&str, &str, i64),
        expected: &str,
    ) {
        let instances = instances(letters);
        let total = u32::try_from(expected.len()).unwrap();
        let input = StrategyInput::new(job_name, &instances, total).with_now_ms(now_ms);
        assert_eq!(strategy.assign(&input), assignment(expected), "{case}");
    }
}
