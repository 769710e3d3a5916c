//! Result of a misfire decision.

use std::fmt;

use jiff::Timestamp;

use super::fire_range::FireRange;

/// Verdict on the fires of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FireVerdict {
    /// Each fire runs now, in order: they are on time or late by less than the threshold.
    Run,
    /// One run now stands for all fires and has the scheduled fire time of the last one.
    RunOnce,
    /// Each fire runs now, in order, although it misfired.
    CatchUp,
    /// The fires wait for the end of the running item. Pass the range as
    /// [`pending`](crate::Situation::pending) to the next decision.
    Wait,
    /// The fires never run.
    Skip(SkipReason),
}

/// Reason why fires never run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// The item was still running ([`MisfirePolicy::Skip`](crate::MisfirePolicy::Skip)).
    ItemRunning,
    /// The fires were late by the threshold or more
    /// ([`MisfirePolicy::Skip`](crate::MisfirePolicy::Skip)).
    Late,
    /// The fires are older than the window of
    /// [`MisfirePolicy::CatchUp`](crate::MisfirePolicy::CatchUp).
    OutOfWindow,
    /// The fires are the oldest ones beyond the maximum of
    /// [`MisfirePolicy::CatchUp`](crate::MisfirePolicy::CatchUp).
    OverMax,
}

impl fmt::Display for FireVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FireVerdict::Run => f.write_str("run"),
            FireVerdict::RunOnce => f.write_str("run once for"),
            FireVerdict::CatchUp => f.write_str("catch up"),
            FireVerdict::Wait => f.write_str("wait"),
            FireVerdict::Skip(reason) => write!(f, "skip ({reason})"),
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::ItemRunning => "item running",
            SkipReason::Late => "late",
            SkipReason::OutOfWindow => "out of window",
            SkipReason::OverMax => "over maximum",
        })
    }
}

/// Verdicts on all pending and due fires: ranges in order, each with its verdict.
///
/// Every fire is in exactly one range, so that no fire is lost silently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct MisfireDecision {
    verdicts: Vec<(FireRange, FireVerdict)>,
    last_handled: Timestamp,
}

impl MisfireDecision {
    pub(super) fn new(
        verdicts: Vec<(FireRange, FireVerdict)>,
        last_handled: Timestamp,
    ) -> MisfireDecision {
        MisfireDecision { verdicts, last_handled }
    }

    /// Returns the ranges with their verdicts, oldest first; empty if nothing is due or pending.
    pub fn verdicts(&self) -> &[(FireRange, FireVerdict)] {
        &self.verdicts
    }

    /// Returns the fires that wait for the end of the running item.
    pub fn pending(&self) -> Option<FireRange> {
        self.verdicts
            .iter()
            .find(|(_, verdict)| *verdict == FireVerdict::Wait)
            .map(|(fires, _)| *fires)
    }

    /// Returns the fires that never run, each range with its reason.
    pub fn skipped(&self) -> impl Iterator<Item = (FireRange, SkipReason)> {
        self.verdicts.iter().filter_map(|(fires, verdict)| match verdict {
            FireVerdict::Skip(reason) => Some((*fires, *reason)),
            FireVerdict::Run | FireVerdict::RunOnce | FireVerdict::CatchUp | FireVerdict::Wait => {
                None
            }
        })
    }

    /// Returns the last fire that this decision covers: the
    /// [`last_handled`](crate::Situation::last_handled) of the next decision.
    pub fn last_handled(&self) -> Timestamp {
        self.last_handled
    }
}

/// Writes text such as `run once for 2026-01-01T00:00:10Z..=2026-01-01T00:00:30Z (3 fires)`, or
/// `nothing is due`.
impl fmt::Display for MisfireDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verdicts.is_empty() {
            return f.write_str("nothing is due");
        }
        for (place, (fires, verdict)) in self.verdicts.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{verdict} {fires}")?;
        }
        Ok(())
    }
}
