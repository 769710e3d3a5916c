//! One module for each measurement. A measurement returns one or more tables.

pub(crate) mod console;
pub(crate) mod failover;
pub(crate) mod feed_latency;
pub(crate) mod fire;
pub(crate) mod idle_jobs;
pub(crate) mod java;
pub(crate) mod lateness;
pub(crate) mod rates;
pub(crate) mod resharding;
pub(crate) mod scale;
pub(crate) mod server;
pub(crate) mod watch_load;
