#![doc = include_str!("../README.md")]

pub use lite::*;
pub use registry::{Address, AddressError, OpenError, Registry};

#[cfg(feature = "cli")]
pub use cli;
#[cfg(feature = "alerts")]
pub use job_alerts as alerts;
#[cfg(feature = "console")]
pub use job_console as console;
#[cfg(feature = "history")]
pub use job_history as history;
#[cfg(feature = "metrics")]
pub use job_metrics as metrics;
#[cfg(feature = "job-types")]
pub use job_types;
#[cfg(feature = "operations")]
pub use operations;
pub use reg_center;
#[cfg(feature = "zookeeper")]
pub use reg_center_zookeeper;
pub use sharding;
#[cfg(feature = "testkit")]
pub use testkit;
pub use trigger;

/// The names that most programs with jobs use.
///
/// # Examples
/// ```
/// use elastic_job::prelude::*;
///
/// let config = JobBuilder::new("report", 2).cron("0 0/5 * * * ?").build()?;
/// assert_eq!(config.sharding_total_count, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod prelude {
    pub use lite::{
        CatchUp, ErrorHandler, FireTime, Job, JobBuilder, JobConfig, JobError, JobEvent, JobHandle,
        JobListener, JobName, MemoryRegistry, Outcome, Reaction, RegistryCenter, RetryPolicy,
        RunFailure, Scheduler, SchedulerBuilder, ShardingContext, ShardingItem, ShutdownReport,
        Timestamp, Zone, async_trait, blocking_fn, job_fn,
    };
    pub use registry::Registry;
}
