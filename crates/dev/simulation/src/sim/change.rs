//! Configuration changes of operators.

use serde::{Deserialize, Serialize};

/// Period of the start rates of runs, in seconds.
pub(crate) const START_PERIOD_SECONDS: u32 = 5;

/// A configuration change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Number of items.
    Total(u32),
    /// Failover on or off.
    Failover(bool),
    /// Misfires on or off.
    Misfire(bool),
    /// Monitoring on or off.
    Monitor(bool),
    /// Strategy, by its name.
    Strategy(String),
    /// Period, in seconds.
    Period(u32),
    /// Start of instances with their server disabled, on or off.
    Disabled(bool),
    /// Catch-up on or off.
    CatchUp(bool),
    /// Static sharding on or off.
    Static(bool),
    /// Exclusive upper bound of the start delay (jitter), in milliseconds; 0 is none.
    Jitter(u32),
    /// Excluded days or times; empty is none.
    ExcludedDays(String),
    /// Maximum number of runs at the same time; 0 is no limit.
    Limit(u32),
    /// Maximum number of runs that begin in `START_PERIOD_SECONDS`; 0 is no limit.
    Rate(u32),
    /// Maximum number of runs of the job's group at the same time; 0 takes the job out of its
    /// group.
    Group(u32),
    /// Cancellation of the runs that fires meet, on or off.
    CancelOverlaps(bool),
    /// Maximum number of fires that queue behind a run; 0 is no queue.
    Queue(u32),
    /// Maximum number of runs of an item at the same time; 0 is one.
    Parallel(u32),
    /// Placement rules; empty is none.
    Placement(String),
    /// No change: the configuration is written again, which repairs an invalid one.
    Nothing,
}

impl Change {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Total(_) => "config_total",
            Self::Failover(_) => "config_failover",
            Self::Misfire(_) => "config_misfire",
            Self::Monitor(_) => "config_monitor",
            Self::Strategy(_) => "config_strategy",
            Self::Period(_) => "config_period",
            Self::Disabled(_) => "config_disabled",
            Self::CatchUp(_) => "config_catch_up",
            Self::Static(_) => "config_static",
            Self::Jitter(_) => "config_jitter",
            Self::ExcludedDays(_) => "config_excluded_days",
            Self::Limit(_) => "config_limit",
            Self::Rate(_) => "config_rate",
            Self::Group(_) => "config_group",
            Self::CancelOverlaps(_) => "config_overlap",
            Self::Queue(_) => "config_queue",
            Self::Parallel(_) => "config_parallel",
            Self::Placement(_) => "config_placement",
            Self::Nothing => "repair",
        }
    }
}
