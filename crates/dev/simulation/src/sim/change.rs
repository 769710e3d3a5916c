//! Changes of the configuration that operators make.

use serde::{Deserialize, Serialize};

/// A change of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Another number of items.
    Total(u32),
    /// Failover on or off.
    Failover(bool),
    /// Misfires are made up for, or not.
    Misfire(bool),
    /// Runs are claimed, or not.
    Monitor(bool),
    /// Another strategy, by its name.
    Strategy(String),
    /// Another period, in seconds.
    Period(u32),
    /// Instances come up with their server disabled, or not.
    Disabled(bool),
    /// Missed fires are each run afterwards, or not.
    CatchUp(bool),
    /// Items stay with their instances, or not.
    Static(bool),
    /// Fires begin later by less than so many milliseconds; 0 is in time.
    Jitter(u32),
    /// Other days without fires; empty is none.
    ExcludedDays(String),
    /// None: the document is written again, which repairs a poisoned one.
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
