//! Simulated cluster for the development crates of this workspace, without a promise of stability.
//!
//! Fault scenarios are written against the trait [`Cluster`]; [`ScenarioCluster`] is its simulated
//! implementation. [`Director`] applies scheduled faults to a [`ScenarioCluster`].

pub use crate::cluster::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};
pub use crate::system::{
    ClusterOptions, Director, FAULT_KINDS, Fault, Node, ScenarioCluster, Scheduled, Spawn, Strike,
    Way, Weather, draw_fault, following,
};
