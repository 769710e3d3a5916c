//! Adapter for schedules of the `cron` crate (feature `cron`).

use std::fmt;

use chrono::{DateTime, Utc};
use jiff::Timestamp;

use crate::calendar::Wall;
use crate::schedule::{Schedule, Upcoming};
use crate::zone::{OverlapPolicy, Zone};

/// The fire times of a `cron::Schedule` in a [`Zone`] (feature `cron`).
///
/// The `cron` crate defines the meaning of the expression: its dialect differs from that of Quartz,
/// see its documentation. Clock changes have the same effect as in
/// [`CronSchedule`](crate::CronSchedule), because the crate only computes readings of the wall
/// clock. Version 0.17 of the crate can go back in time in overlaps when it computes instants in a
/// zone. Fire times of this type are always greater than the given instant.
///
/// # Examples
///
/// ```
/// use std::str::FromStr;
/// use trigger::{CronCrateSchedule, Schedule, Zone};
///
/// let weekdays = cron::Schedule::from_str("0 30 9 * * Mon-Fri")?;
/// let schedule = CronCrateSchedule::new(weekdays, Zone::parse("Europe/London")?);
/// let friday = "2026-03-27T12:00:00Z".parse()?;
/// assert_eq!(schedule.next_after(friday), Some("2026-03-30T08:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CronCrateSchedule {
    schedule: ::cron::Schedule,
    zone: Zone,
    overlap: OverlapPolicy,
}

impl CronCrateSchedule {
    /// Returns the schedule in `zone`, with Quartz's rule for overlaps.
    pub fn new(schedule: ::cron::Schedule, zone: Zone) -> CronCrateSchedule {
        CronCrateSchedule { schedule, zone, overlap: OverlapPolicy::default() }
    }

    /// Sets the rule for overlaps.
    #[must_use]
    pub fn with_overlap(self, overlap: OverlapPolicy) -> CronCrateSchedule {
        CronCrateSchedule { overlap, ..self }
    }

    /// Returns the fire times strictly after `after`, in order.
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_, CronCrateSchedule> {
        Upcoming::new(self, after)
    }

    /// Returns the first firing reading of the wall clock that is not before `from`.
    ///
    /// The readings are passed to the crate as UTC, which has neither gaps nor overlaps.
    fn next_reading(&self, from: Wall) -> Option<Wall> {
        let from = from.max(Wall::FIRST);
        let before = DateTime::<Utc>::from_timestamp(from.0 - 1, 0)?;
        let found = Wall(self.schedule.after(&before).next()?.timestamp());
        // A missing fire is safer than a fire in the past.
        (found >= from).then_some(found)
    }
}

impl Schedule for CronCrateSchedule {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.zone.next_match(after, self.overlap.of_remaining(), |from| self.next_reading(from))
    }

    fn describe(&self) -> String {
        format!("cron (of the cron crate) {} in {}", self.schedule.source(), self.zone)
    }
}

impl fmt::Debug for CronCrateSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CronCrateSchedule")
            .field("schedule", &self.schedule.source())
            .field("zone", &self.zone)
            .field("overlap", &self.overlap)
            .finish()
    }
}
