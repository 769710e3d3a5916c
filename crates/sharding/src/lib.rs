#![doc = include_str!("../README.md")]

mod assignment;
mod instance;
mod item;
mod java_string;
mod parameter_error;
mod parameters;
mod placement;
mod stable_hash;
mod strategy;

pub use assignment::{Assignment, Move};
pub use instance::{InstanceId, sort_descending};
pub use item::ShardingItem;
pub use java_string::{java_string_cmp, java_string_hash};
pub use parameter_error::{ParameterError, ParameterErrorReason};
pub use parameters::ShardingItemParameters;
pub use placement::{
    InstanceAttributes, InvalidPlacement, MAX_LABELS, MAX_PLACEMENT_BYTES, MAX_PLACEMENT_ENTRIES,
    MAX_WEIGHT, PlacementReason, PlacementRules, Selector,
};
pub use stable_hash::stable_hash;
pub use strategy::{
    AverageAllocation, MinimalMovement, OddEvenByName, Placement, RotateByName, ShardingStrategy,
    SingleShardingBalance, StrategyInput, StrategyRegistry, UnknownStrategy,
};
