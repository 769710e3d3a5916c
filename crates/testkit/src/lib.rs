#![doc = include_str!("../README.md")]

mod cluster;
// Hidden, because it has no promise of stability: `cargo xtask semver` does not compare it.
#[doc(hidden)]
pub mod harness;
mod system;

pub use checker::{Report, Verdict};
pub use cluster::{Action, AdminOp, ClusterError, LinkMode, RegEvent, When};
pub use system::{FencedStore, Overtaken, Seen, SimCluster, run};
