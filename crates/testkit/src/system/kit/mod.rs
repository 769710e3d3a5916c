//! The kit for testing one's own job: a cluster of simulated processes that run it, and everything that can go wrong.

mod cluster;
mod store;

pub use cluster::{Seen, SimCluster};
pub use store::{FencedStore, Overtaken};

/// The programs on the page for users, so that they run.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/testing-your-job.md")]
struct TestingYourJob;
