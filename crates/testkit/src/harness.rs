//! The simulated cluster for the development crates of this workspace, without a promise of stability.
//!
//! [`Cluster`] is the trait that fault scenarios are written against, [`ScenarioCluster`] its simulated implementation.
//! [`Director`] plays faults on a [`ScenarioCluster`] at their times.

pub use crate::cluster::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};
pub use crate::system::{
    ClusterOptions, Director, FAULT_KINDS, Fault, Node, ScenarioCluster, Scheduled, Spawn, Strike,
    Way, Weather, draw_fault, following,
};
