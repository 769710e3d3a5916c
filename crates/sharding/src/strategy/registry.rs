//! Strategies by name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    AverageAllocation, MinimalMovement, OddEvenByName, Placement, RotateByName, ShardingStrategy,
    SingleShardingBalance,
};

/// Strategies by the name in a job configuration.
///
/// The default registry has the strategies of this crate under these names:
///
/// | name (ElasticJob 3.x) | class (ElasticJob 1.x and 2.1.5) | strategy |
/// |---|---|---|
/// | `AVG_ALLOCATION`, or empty | `AverageAllocationJobShardingStrategy` | [`AverageAllocation`] |
/// | `ODEVITY` | `OdevitySortByNameJobShardingStrategy` | [`OddEvenByName`] |
/// | `ROUND_ROBIN` | `RotateServerByNameJobShardingStrategy` | [`RotateByName`] |
/// | `SINGLE_SHARDING_BALANCE` | | [`SingleShardingBalance`] |
/// | `MINIMAL_MOVEMENT` (not in ElasticJob) | | [`MinimalMovement`] |
/// | `PLACEMENT` (not in ElasticJob) | | [`Placement`] |
///
/// The classes are in the package `com.dangdang.ddframe.job.lite.api.strategy.impl` (2.1.5) or
/// `com.dangdang.ddframe.job.plugin.sharding.strategy` (1.x). Configurations use their full names.
/// A name with a dot is a class name and must match exactly. Other names ignore the case of ASCII
/// letters, as in ElasticJob 3.0.5.
///
/// # Examples
///
/// ```
/// use sharding::StrategyRegistry;
///
/// let registry = StrategyRegistry::default();
/// assert_eq!(registry.get("").unwrap().name(), "AVG_ALLOCATION");
/// assert_eq!(registry.get("round_robin").unwrap().name(), "ROUND_ROBIN");
///
/// let error = registry.get("RANDOM").unwrap_err();
/// assert!(error.to_string().starts_with(r#"unknown sharding strategy "RANDOM""#));
/// ```
#[derive(Clone, Debug)]
pub struct StrategyRegistry {
    /// Shared by all copies, because each job of a process has one.
    by_key: Arc<BTreeMap<String, Arc<dyn ShardingStrategy>>>,
}

impl StrategyRegistry {
    /// Adds a strategy under its name and its aliases.
    ///
    /// An existing name now refers to the new strategy. A program can thus replace a built-in
    /// strategy, or implement a Java class of existing configurations.
    pub fn register(&mut self, strategy: Arc<dyn ShardingStrategy>) {
        let by_key = Arc::make_mut(&mut self.by_key);
        for name in std::iter::once(strategy.name()).chain(strategy.aliases().iter().copied()) {
            by_key.insert(key(name).into_owned(), Arc::clone(&strategy));
        }
    }

    /// Returns the strategy of this name; the empty name stands for [`AverageAllocation`].
    ///
    /// # Errors
    ///
    /// Returns [`UnknownStrategy`], which lists the known names, if no strategy has this name.
    pub fn get(&self, name: &str) -> Result<Arc<dyn ShardingStrategy>, UnknownStrategy> {
        let wanted = if name.is_empty() { AverageAllocation.name() } else { name };
        self.by_key.get(&*key(wanted)).cloned().ok_or_else(|| UnknownStrategy {
            name: name.to_owned(),
            known: self.names().into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns the names of the strategies, without aliases, in ascending order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.by_key.values().map(|strategy| strategy.name()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Returns a registry with the strategies of this crate.
impl Default for StrategyRegistry {
    fn default() -> Self {
        let mut registry = Self { by_key: Arc::default() };
        registry.register(Arc::new(AverageAllocation));
        registry.register(Arc::new(OddEvenByName));
        registry.register(Arc::new(RotateByName));
        registry.register(Arc::new(SingleShardingBalance));
        registry.register(Arc::new(MinimalMovement));
        registry.register(Arc::new(Placement));
        registry
    }
}

/// Normalizes a name: class names stay as they are, all others become upper case.
fn key(name: &str) -> Cow<'_, str> {
    if name.contains('.') { name.into() } else { name.to_ascii_uppercase().into() }
}

/// Error for a name that no strategy has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown sharding strategy {name:?}; valid are {}, the empty name for AVG_ALLOCATION, \
     and registered class names",
    .known.join(", ")
)]
#[non_exhaustive]
pub struct UnknownStrategy {
    /// The requested name.
    pub name: String,
    /// The names of the registered strategies, without aliases, in ascending order.
    pub known: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::super::StrategyInput;
    use super::*;
    use crate::Assignment;

    #[test]
    fn every_name_of_elasticjob_is_known() {
        let cases = [
            ("", "AVG_ALLOCATION"),
            ("AVG_ALLOCATION", "AVG_ALLOCATION"),
            ("avg_allocation", "AVG_ALLOCATION"),
            ("ODEVITY", "ODEVITY"),
            ("Odevity", "ODEVITY"),
            ("ROUND_ROBIN", "ROUND_ROBIN"),
            ("SINGLE_SHARDING_BALANCE", "SINGLE_SHARDING_BALANCE"),
            ("MINIMAL_MOVEMENT", "MINIMAL_MOVEMENT"),
            ("placement", "PLACEMENT"),
            (
                "com.dangdang.ddframe.job.lite.api.strategy.impl.\
                 AverageAllocationJobShardingStrategy",
                "AVG_ALLOCATION",
            ),
            (
                "com.dangdang.ddframe.job.lite.api.strategy.impl.\
                 OdevitySortByNameJobShardingStrategy",
                "ODEVITY",
            ),
            (
                "com.dangdang.ddframe.job.lite.api.strategy.impl.\
                 RotateServerByNameJobShardingStrategy",
                "ROUND_ROBIN",
            ),
            (
                "com.dangdang.ddframe.job.plugin.sharding.strategy.\
                 AverageAllocationJobShardingStrategy",
                "AVG_ALLOCATION",
            ),
            (
                "com.dangdang.ddframe.job.plugin.sharding.strategy.\
                 OdevitySortByNameJobShardingStrategy",
                "ODEVITY",
            ),
            (
                "com.dangdang.ddframe.job.plugin.sharding.strategy.\
                 RotateServerByNameJobShardingStrategy",
                "ROUND_ROBIN",
            ),
        ];
        let registry = StrategyRegistry::default();
        for (name, expected) in cases {
            assert_eq!(registry.get(name).unwrap().name(), expected, "{name:?}");
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_names() {
        let registry = StrategyRegistry::default();
        let cases = [
            ("blank", " "),
            ("not trimmed", " ODEVITY"),
            ("no such strategy", "RANDOM"),
            ("the class without its package", "OdevitySortByNameJobShardingStrategy"),
            (
                "a class in another case",
                "com.dangdang.ddframe.job.lite.api.strategy.impl.\
                 odevitysortbynamejobshardingstrategy",
            ),
        ];
        for (case, name) in cases {
            let error = registry.get(name).unwrap_err();
            assert_eq!(error.name, name, "{case}");
            assert_eq!(error.known, registry.names(), "{case}");
            assert!(
                error.to_string().contains("ODEVITY, PLACEMENT, ROUND_ROBIN"),
                "{case}: {error}"
            );
        }
    }

    #[derive(Debug)]
    struct Idle {
        name: &'static str,
    }

    impl ShardingStrategy for Idle {
        fn name(&self) -> &str {
            self.name
        }

        fn aliases(&self) -> &[&str] {
            &["com.example.Idle"]
        }

        fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
            Assignment::unassigned(input.total_count)
        }
    }

    #[test]
    fn a_registered_strategy_is_found_by_name_and_alias() {
        let mut registry = StrategyRegistry::default();
        registry.register(Arc::new(Idle { name: "idle" }));
        for name in ["idle", "IDLE", "com.example.Idle"] {
            assert_eq!(registry.get(name).unwrap().name(), "idle", "{name}");
        }
        assert_eq!(registry.names().len(), 7);
    }

    #[test]
    fn a_later_strategy_replaces_one_of_the_same_name() {
        let mut registry = StrategyRegistry::default();
        registry.register(Arc::new(Idle { name: "AVG_ALLOCATION" }));
        let instances = ["a".into()];
        let input = StrategyInput::new("any", &instances, 2);
        for name in ["", "AVG_ALLOCATION"] {
            let assignment = registry.get(name).unwrap().assign(&input);
            assert_eq!(assignment, Assignment::unassigned(2), "{name:?}");
        }
        assert_eq!(registry.names().len(), 6);
    }
}
