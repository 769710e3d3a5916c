//! Numbers of successes and failures.

use super::ledger::Outcome;

/// Numbers of successes and failures over all runs of an item or slot: of the runs, or of the
/// records that their code has processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutcomeCounts {
    /// Number of successes.
    pub succeeded: u64,
    /// Number of failures.
    pub failed: u64,
}

impl OutcomeCounts {
    /// Returns the sums, which saturate at `u64::MAX`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            succeeded: self.succeeded.saturating_add(other.succeeded),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// Returns the counts after a run with this outcome. A run that was interrupted or cancelled is
    /// neither a success nor a failure.
    pub(crate) fn with_run(self, outcome: Outcome) -> Self {
        self.plus(match outcome {
            Outcome::Succeeded => Self { succeeded: 1, failed: 0 },
            Outcome::Failed | Outcome::Panicked | Outcome::TimedOut => {
                Self { succeeded: 0, failed: 1 }
            }
            Outcome::Interrupted | Outcome::Cancelled | Outcome::Disabled => Self::default(),
        })
    }

    /// Returns true if nothing was counted.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}
