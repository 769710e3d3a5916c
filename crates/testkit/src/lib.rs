#![doc = include_str!("../README.md")]

mod cluster;
pub mod harness;
mod system;

pub use checker::{Report, Verdict};
pub use cluster::{Action, AdminOp, ClusterError, LinkMode, RegEvent, When};
pub use system::{FencedStore, Overtaken, Seen, SimCluster, run};
