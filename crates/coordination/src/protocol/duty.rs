//! The duties of an instance by name.

use std::fmt;

/// A responsibility of an instance. At most one plan per duty is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Duty {
    /// Registers the instance, and removes it in order when it leaves.
    Membership,
    /// Elects one leader.
    Election,
    /// Assigns the items to the available instances.
    Resharding,
    /// Finds runs of lost instances.
    Sweep,
    /// Takes orphaned runs over.
    Takeover,
    /// Claims due items of this instance before they run.
    Claim,
    /// Notes fires that met a busy item, and runs them afterwards.
    Misfire,
    /// Records ended runs.
    Release,
    /// Records which items operators have disabled.
    Disabling,
    /// Passes manual requests on to the items.
    Trigger,
    /// Calls the once-per-cluster callbacks.
    Once,
    /// Removes stale entries of the failover queue and stale marks.
    Cleanup,
}

impl Duty {
    /// All duties, in the order in which they plan.
    pub(crate) const ALL: [Self; 12] = [
        Self::Release,
        Self::Membership,
        Self::Election,
        Self::Disabling,
        Self::Claim,
        Self::Misfire,
        Self::Sweep,
        Self::Takeover,
        Self::Resharding,
        Self::Trigger,
        Self::Once,
        Self::Cleanup,
    ];

    /// Returns true if a plan of this duty decides about all items of an instance, so that the view
    /// must show them all.
    pub(crate) fn needs_all_own_items(self) -> bool {
        matches!(self, Self::Trigger | Self::Cleanup)
    }

    /// Returns its name, in lower case: `claim`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Membership => "membership",
            Self::Election => "election",
            Self::Resharding => "resharding",
            Self::Sweep => "sweep",
            Self::Takeover => "takeover",
            Self::Claim => "claim",
            Self::Misfire => "misfire",
            Self::Release => "release",
            Self::Disabling => "disabling",
            Self::Trigger => "trigger",
            Self::Once => "once",
            Self::Cleanup => "cleanup",
        }
    }
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
