//! Expectations of a job: conditions that must hold, and the receivers of a violation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Condition that a job must meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Condition {
    /// The namespace has the job.
    Exists,
    /// Each item begins at most this long after its scheduled fire.
    LateAfter(Duration),
    /// Each item succeeds at least once in any period of this length.
    MustSucceedWithin(Duration),
    /// No run takes longer.
    AtMost(Duration),
    /// Fewer runs than this fail: in a row for one item, and fewer items at once.
    Failures(u32),
    /// At least this many instances are alive.
    InstancesAtLeast(u32),
}

/// Kind of a condition. A job has at most one expectation of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConditionKind {
    /// See [`Condition::Exists`].
    Exists,
    /// See [`Condition::LateAfter`].
    LateAfter,
    /// See [`Condition::MustSucceedWithin`].
    MustSucceedWithin,
    /// See [`Condition::AtMost`].
    AtMost,
    /// See [`Condition::Failures`].
    Failures,
    /// See [`Condition::InstancesAtLeast`].
    InstancesAtLeast,
}

impl ConditionKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Exists,
        Self::LateAfter,
        Self::MustSucceedWithin,
        Self::AtMost,
        Self::Failures,
        Self::InstancesAtLeast,
    ];

    /// Returns the name, which is the key in the file of expectations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::LateAfter => "late_after",
            Self::MustSucceedWithin => "must_succeed_within",
            Self::AtMost => "at_most",
            Self::Failures => "failures",
            Self::InstancesAtLeast => "instances_at_least",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for ConditionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Condition {
    /// Returns the kind of the condition.
    #[must_use]
    pub fn kind(self) -> ConditionKind {
        match self {
            Self::Exists => ConditionKind::Exists,
            Self::LateAfter(_) => ConditionKind::LateAfter,
            Self::MustSucceedWithin(_) => ConditionKind::MustSucceedWithin,
            Self::AtMost(_) => ConditionKind::AtMost,
            Self::Failures(_) => ConditionKind::Failures,
            Self::InstancesAtLeast(_) => ConditionKind::InstancesAtLeast,
        }
    }
}

/// Severity of a violation, for the receivers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// No action is needed now.
    Info,
    /// An action is needed, but not at once.
    #[default]
    Warning,
    /// An action is needed at once.
    Critical,
}

impl Severity {
    /// Returns `info`, `warning` or `critical`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// One expectation of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expectation {
    /// Condition that must hold.
    pub condition: Condition,
    /// Time that the condition must be violated before it counts as violated.
    pub tolerated: Duration,
    /// Severity of a violation.
    pub severity: Severity,
    /// Channels that get the messages.
    pub channels: BTreeSet<String>,
    /// Labels of the messages.
    pub labels: BTreeMap<String, String>,
}
