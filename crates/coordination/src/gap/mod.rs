//! Gaps: scheduled fires that no instance ran, noted or skipped.
//!
//! The record of an item proves its gap as soon as the next fire is accounted for.
//!
//! | file | content |
//! |---|---|
//! | `lookup` | fires in the schedule of a configuration |
//! | `schedules` | schedules that a process has seen in force |
//! | `judgement` | gaps between two fires that a record accounts for |

mod judgement;
mod lookup;
mod schedules;

use std::fmt;

use reg_center::Version;

use crate::FireTime;

pub use self::lookup::ScheduleLookup;

pub(crate) use self::judgement::Judgement;
pub(crate) use self::lookup::Lookup;
pub(crate) use self::schedules::{Schedules, Seen};

/// Maximum number of gaps in a ledger record. Beyond it the two oldest are merged.
pub(crate) const MAX_GAPS: usize = 4;

/// Scheduled fires of an item that no instance ran, noted or skipped.
///
/// An earlier [`JobEvent::Missed`](crate::JobEvent::Missed) may have reported such a fire with its
/// reason. A record with more than 4 unreported gaps merges the two oldest. Fires between merged
/// gaps may have been run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// First fire of the gap.
    pub first: FireTime,
    /// Exclusive end: the fire that was claimed, noted or skipped next, the retirement of the item,
    /// or the date on which monitoring was switched off.
    pub until: FireTime,
    /// Number of fires, 1 to 10 000. `None` if there are more, if the schedule may have changed in
    /// between, or if fires between merged gaps may have been run.
    pub count: Option<u32>,
    /// Registry version of the configuration whose schedule has the first fire. `None` if the
    /// record does not contain it.
    pub config: Option<Version>,
    /// Registry version of the configuration in force at the end, if its schedule may differ from
    /// that of `config`. The fires up to the change follow the former schedule; the record does not
    /// contain the time of the change.
    pub changed_to: Option<Version>,
}

impl Gap {
    /// Returns true if this is one of `gaps`, or several of them merged: both of its ends are ends
    /// of gaps.
    pub(crate) fn is_among(&self, gaps: &[Self]) -> bool {
        let has_first = gaps.iter().any(|gap| gap.first == self.first);
        has_first && gaps.iter().any(|gap| gap.until == self.until)
    }

    /// Merges this gap with a later one. The result spans the time between them, too.
    pub(crate) fn merged_with(self, later: Self) -> Self {
        let newer = later.config.filter(|config| Some(*config) != self.config);
        let changed_to = later.changed_to.or(newer).or(self.changed_to);
        // Fires between gaps that do not touch may have been run, and a count needs one schedule.
        let is_countable = self.until == later.first && changed_to.is_none();
        let count = match (self.count, later.count) {
            (Some(one), Some(other)) if is_countable => one.checked_add(other),
            _ => None,
        };
        Self { until: later.until, count, changed_to, ..self }
    }

    /// Cuts the gap after `present`, the last scheduled fire until now. `None` if it begins later.
    pub(crate) fn ended_by(&self, present: FireTime) -> Option<Self> {
        if self.until <= present {
            return Some(*self);
        }
        let until = FireTime(present.0.saturating_add(1));
        let count = if self.until == until { self.count } else { None };
        (self.first <= present).then_some(Self { until, count, ..*self })
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, until, .. } = self;
        match self.count {
            Some(1) => write!(f, "1 scheduled fire was not run: {first}")?,
            Some(count) => {
                write!(f, "{count} scheduled fires were not run: {first} to before {until}")?;
            }
            None => write!(f, "scheduled fires were not run: {first} to before {until}")?,
        }
        match (self.config, self.changed_to) {
            (Some(config), Some(now)) => write!(
                f,
                " (by the schedule of configuration {config}; \
                 configuration {now} has replaced it meanwhile)"
            ),
            (None, Some(now)) => write!(f, " (configuration {now} came into force meanwhile)"),
            (_, None) => Ok(()),
        }
    }
}
