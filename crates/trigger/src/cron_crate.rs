//! A schedule of the `cron` crate as a schedule here (feature `cron`).

use std::fmt;

use chrono::{DateTime, Utc};
use jiff::Timestamp;

use crate::calendar::Wall;
use crate::schedule::{Schedule, Upcoming};
use crate::zone::{OverlapPolicy, Zone};

/// The fire times of a `cron::Schedule` in a [`Zone`] (feature `cron`).
///
/// What the expression means is the `cron` crate's business: its dialect differs from that of
/// Quartz, see its documentation. What clock changes do to it is the same as for
/// [`CronSchedule`](crate::CronSchedule): the crate is only asked for readings of the wall clock.
/// (Asked for instants in a zone, version 0.17 goes back in time in overlaps.) Fire times are
/// always greater than the instant that was asked for.
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
    /// The schedule in `zone`, with the rule of Quartz for overlaps.
    pub fn new(schedule: ::cron::Schedule, zone: Zone) -> CronCrateSchedule {
        CronCrateSchedule { schedule, zone, overlap: OverlapPolicy::default() }
    }

    /// The same schedule with another rule for overlaps.
    #[must_use]
    pub fn with_overlap(self, overlap: OverlapPolicy) -> CronCrateSchedule {
        CronCrateSchedule { overlap, ..self }
    }

    /// The fire times strictly after `after`, in order.
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_, CronCrateSchedule> {
        Upcoming::new(self, after)
    }

    /// The first reading of the wall clock that is not before `from`.
    ///
    /// Readings are passed off as UTC, which has neither gaps nor overlaps.
    fn next_reading(&self, from: Wall) -> Option<Wall> {
        let from = from.max(Wall::FIRST);
        let before = DateTime::<Utc>::from_timestamp(from.0 - 1, 0)?;
        let found = Wall(self.schedule.after(&before).next()?.timestamp());
        // Rather no fire than one in the past.
        (found >= from).then_some(found)
    }
}

impl Schedule for CronCrateSchedule {
    fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.zone.next_match(after, self.overlap, |from| self.next_reading(from))
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
