//! A custom strategy: instances on larger machines get more items.
//!
//! Prints:
//!
//! ```text
//! {0: Some("large@-@1"), 1: Some("large@-@1"), 2: Some("large@-@1"), 3: Some("small@-@2")}
//! ```
#![expect(clippy::print_stdout, reason = "the result of the program")]

use std::collections::BTreeMap;
use std::sync::Arc;

use sharding::{Assignment, InstanceId, ShardingStrategy, StrategyInput, StrategyRegistry};

/// Allocates items in proportion to the number of cores of each server; an unlisted server has 1.
#[derive(Debug)]
struct ByCores {
    cores: BTreeMap<String, u32>,
}

impl ByCores {
    fn cores_of(&self, instance: &InstanceId) -> u32 {
        let server = instance.as_str().split("@-@").next().unwrap_or_default();
        self.cores.get(server).copied().unwrap_or(1)
    }
}

impl ShardingStrategy for ByCores {
    fn name(&self) -> &str {
        "BY_CORES"
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let one_round = input.instances.iter().flat_map(|instance| {
            std::iter::repeat_n(Some(instance.clone()), self.cores_of(instance) as usize)
        });
        // Without instances the rounds are empty, and the items have no owner.
        let owners = one_round.cycle().chain(std::iter::repeat(None));
        Assignment::from_owners(owners.take(input.total_count as usize))
    }
}

fn main() -> Result<(), sharding::UnknownStrategy> {
    let mut registry = StrategyRegistry::default();
    registry.register(Arc::new(ByCores { cores: BTreeMap::from([("large".to_owned(), 3)]) }));

    let instances = ["large@-@1".into(), "small@-@2".into()];
    let strategy = registry.get("BY_CORES")?;
    println!("{:?}", strategy.assign(&StrategyInput::new("report", &instances, 4)));
    Ok(())
}
