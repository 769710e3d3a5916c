//! Fault scenarios: written once, against any [`Cluster`].

mod cluster;

pub use cluster::{
    Action, AdminOp, Cluster, ClusterError, InstOpts, LinkMode, Point, RegEvent, When, Work,
};
