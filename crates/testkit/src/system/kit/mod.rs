//! Test kit for users' jobs: a cluster of simulated processes that run the job, and the faults that
//! can hit them.

mod cluster;
mod store;

pub use cluster::{Seen, SimCluster};
pub use store::{FencedStore, Overtaken};

/// Runs the programs of the user's page as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/testing-your-job.md")]
struct TestingYourJob;
