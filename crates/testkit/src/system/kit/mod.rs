//! Test kit for users' jobs: a cluster of simulated processes that run the job, and the faults that
//! can hit them.

mod cluster;
mod store;

pub use cluster::{Seen, SimCluster};
pub use store::{FencedStore, Overtaken};
