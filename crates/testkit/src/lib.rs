#![doc = include_str!("../README.md")]

pub mod scenario;
pub mod sim;
pub mod system;

pub use checker::{Report, Verdict};
pub use system::{FencedStore, SimCluster};
