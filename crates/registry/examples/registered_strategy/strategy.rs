//! The strategy.

use sharding::{Assignment, ShardingStrategy, StrategyInput};

/// Gives the items to the instances in turn, so that neighbours are apart.
#[derive(Debug)]
pub(crate) struct Alternating;

impl ShardingStrategy for Alternating {
    fn name(&self) -> &str {
        "ALTERNATING"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let in_turn = input.instances.iter().cloned().map(Some).cycle();
        // Without instances there is no turn, and the items have no owner.
        let owners = in_turn.chain(std::iter::repeat(None));
        Assignment::from_owners(owners.take(input.total_count as usize))
    }
}
