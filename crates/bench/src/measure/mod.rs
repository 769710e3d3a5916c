//! The measurements, each a table.

pub(crate) mod failover;
pub(crate) mod fire;
pub(crate) mod idle_jobs;
pub(crate) mod lateness;
pub(crate) mod resharding;
pub(crate) mod watch_load;
