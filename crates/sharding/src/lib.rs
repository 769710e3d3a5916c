#![doc = include_str!("../README.md")]

mod assignment;
mod instance;
mod item;
mod java_string;
mod parameter_error;
mod parameters;
mod strategy;

pub use assignment::{Assignment, Move};
pub use instance::{InstanceId, sort_descending};
pub use item::ShardingItem;
pub use java_string::{java_string_cmp, java_string_hash};
pub use parameter_error::{ParameterError, ParameterErrorReason};
pub use parameters::ShardingItemParameters;
pub use strategy::{
    AverageAllocation, MinimalMovement, OddEvenByName, RotateByName, ShardingStrategy,
    SingleShardingBalance, StrategyInput, StrategyRegistry, UnknownStrategy,
};
