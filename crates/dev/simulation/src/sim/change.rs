//! Configuration changes of operators.

use serde::{Deserialize, Serialize};

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
            Self::Nothing => "repair",
        }
    }
}
